"""System calls as data: numbers, names and arguments of x86-64 and AArch64."""

from __future__ import annotations

import pytest

from probescope.model import syscalls
from probescope.model.syscalls import Argument, Syscall


@pytest.mark.parametrize(
    ("name", "x86", "arm"),
    # from asm/unistd_64.h and asm-generic/unistd.h
    [
        ("read", 0, 63),
        ("openat", 257, 56),
        ("execve", 59, 221),
        ("open", 2, None),
        ("fork", 57, None),
        ("clone", 56, 220),
        ("exit_group", 231, 94),
        ("epoll_pwait2", 441, 441),
        ("io_uring_enter", 426, 426),
        ("renameat", 264, 38),
        ("accept4", 288, 242),
        ("mseal", 462, 462),
        ("getrandom", 318, 278),
        ("uprobe", 336, None),
        ("nfsservctl", 180, 42),
    ],
)
def test_numbers(name: str, x86: int, arm: int | None) -> None:
    """Protects numbers, on which the dispatch of system call probes rests."""
    assert syscalls.numbers("x86_64")[name] == x86
    assert syscalls.numbers("aarch64").get(name) == arm
    assert syscalls.names("x86_64")[x86] == name


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_no_number_is_given_twice(arch: str) -> None:
    """Protects the table: two names for a number would hide one of them."""
    assert len(syscalls.names(arch)) == len(syscalls.numbers(arch))


def test_arguments() -> None:
    """Protects names and types in order, also of a row that is broken over two lines."""
    assert syscalls.find("openat", "x86_64") == Syscall(
        "openat",
        257,
        (
            Argument("dfd", "int"),
            Argument("filename", "const char *"),
            Argument("flags", "int"),
            Argument("mode", "umode_t"),
        ),
    )
    mmap = syscalls.find("mmap", "aarch64")
    assert mmap is not None
    assert [a.name for a in mmap.args] == ["addr", "len", "prot", "flags", "fd", "off"]
    assert syscalls.find("getpid", "aarch64") == Syscall("getpid", 172, ())
    assert syscalls.find("open", "aarch64") is None


def test_clone_has_another_order_on_aarch64() -> None:
    """Protects CONFIG_CLONE_BACKWARDS."""
    orders = {a: [x.name for x in syscalls.find("clone", a).args] for a in ("x86_64", "aarch64")}  # type: ignore[union-attr]
    assert orders["x86_64"][-2:] == ["child_tidptr", "tls"]
    assert orders["aarch64"][-2:] == ["tls", "child_tidptr"]


def test_names_in_tracepoints() -> None:
    """Protects the few calls whose tracepoint bears the name of the function behind them."""
    assert syscalls.number_of_event("newuname", "x86_64") == 63
    assert syscalls.number_of_event("uname", "x86_64") == -1
    assert syscalls.event_name("sendfile", "x86_64") == "sendfile64"
    assert syscalls.event_name("read", "aarch64") == "read"
    assert syscalls.number_of_event("no_such_call", "x86_64") == -1
