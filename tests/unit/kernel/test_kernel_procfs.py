"""/proc as hostile text: odd names, vanished processes, endless files."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import PermissionDenied
from probescope.kernel import procfs
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host

MAPS = b"""\
55d0c0a00000-55d0c0a01000 r--p 00000000 fe:01 1234                       /usr/bin/a b
7f1c2e600000-7f1c2e628000 r-xp 00028000 fe:01 77                         /usr/lib/libc.so.6 (deleted)
7f1c2e700000-7f1c2e800000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
7f0000000000-7f0000001000 r-xp 00000000 00:01 9                          /tmp/new\\012line
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""


def test_maps_are_split_into_their_parts():
    """Paths keep their blanks, lose the mark of deletion, and get their newlines back."""
    with use_host(FakeHost({"/proc/5/maps": MAPS})):
        found = procfs.maps(5)
    assert [(m.path, m.deleted) for m in found] == [
        ("/usr/bin/a b", False),
        ("/usr/lib/libc.so.6", True),
        ("", False),
        ("[stack]", False),
        ("/tmp/new\nline", False),
        ("[vsyscall]", False),
    ]
    libc = found[1]
    assert (libc.start, libc.end, libc.offset, libc.inode) == (0x7F1C2E600000, 0x7F1C2E628000, 0x28000, 77)
    assert libc.device == 0xFE << 20 | 1
    assert libc.executable
    assert not found[2].executable


@given(st.binary(max_size=400))
def test_parsing_maps_never_raises(data):
    """Bytes from outside: whatever they are, the answer is a list of sane ranges."""
    assert all(m.start < m.end for m in procfs.parse_maps(data))


@given(st.integers(0, len(MAPS)), st.binary(max_size=3))
def test_damaged_maps_lose_a_line_at_most_two(at, junk):
    """Damage in one place cannot hide the rest."""
    damaged = MAPS[:at] + junk + MAPS[at + 1 :]
    assert len(list(procfs.parse_maps(damaged))) >= 4


def test_a_vanished_process_gives_empty_answers():
    """It may end between two reads: no exception may come of that."""
    with use_host(FakeHost({"/proc/1/comm": "init\n"})):
        assert procfs.maps(99) == []
        assert procfs.comm(99) == procfs.exe(99) == ""
        assert procfs.cmdline(99) == procfs.threads(99) == []
        assert procfs.status(99) == procfs.namespaces(99) == {}
        assert procfs.parent(99) == procfs.start_ticks(99) == 0
        assert procfs.root(99) == ""


def test_maps_of_a_foreign_process_say_what_to_do():
    """EACCES is not emptiness: the user must learn why."""
    host = FakeHost({"/proc/5/maps": b""})
    host.denied.add("/proc/5/maps")
    with use_host(host), pytest.raises(PermissionDenied) as e:
        procfs.maps(5)
    assert e.value.hints


def test_names_with_parentheses_do_not_shift_the_fields_of_stat():
    """A process may call itself ``) R 1 (``: the last parenthesis ends the name."""
    stat = b"7 (x) R 1 (y) S 42 " + b" ".join(str(n).encode() for n in range(5, 52))
    with use_host(FakeHost({"/proc/7/stat": stat})):
        assert procfs.parent(7) == 42
        # field 22 of proc_pid_stat(5); fields 5... hold their own numbers here
        assert procfs.start_ticks(7) == 22


def test_cmdline_and_comm_are_text_whatever_they_hold():
    """Arguments are separated by NUL; bytes that are not UTF-8 become U+FFFD; empty arguments stay."""
    with use_host(FakeHost({"/proc/7/cmdline": b"a\0\0b c\0", "/proc/7/comm": b"\xff(x)\n"})):
        assert procfs.cmdline(7) == ["a", "", "b c"]
        assert procfs.comm(7) == "�(x)"


def test_another_mount_namespace_is_reached_through_proc_root():
    """A container's /bin/x is not ours."""
    links = {
        "/proc/self/ns/mnt": "mnt:[1]",
        "/proc/5/ns/mnt": "mnt:[2]",
        "/proc/6/ns/mnt": "mnt:[1]",
        "/proc/6/root": "/",
    }
    links |= {"/proc/7/ns/mnt": "mnt:[1]", "/proc/7/root": "/srv/jail"}
    with use_host(FakeHost(links=links)):
        assert procfs.root(5) == "/proc/5/root"
        assert procfs.root(6) == ""
        assert procfs.root(7) == "/proc/7/root"


def test_pid_in_its_own_namespace():
    with use_host(FakeHost({"/proc/812/status": "Name:\tx\nNSpid:\t812\t7\n"})):
        assert procfs.pid_in_namespace(812) == 7


def test_status_values_are_the_first_of_their_name():
    """A process name may hold a newline in old kernels: what follows must not overwrite a real field."""
    with use_host(FakeHost({"/proc/7/status": "Name:\tx\nUid:\t0\nUid:\t1000\n"})):
        assert procfs.status(7)["Uid"] == "0"


def test_this_very_process():
    """The real /proc agrees with what Python knows of itself."""
    me = os.getpid()
    assert me in procfs.pids()
    assert procfs.parent(me) == os.getppid()
    assert os.path.samefile(procfs.exe(me), f"/proc/{me}/exe")
    assert any(m.executable and m.path == procfs.exe(me) for m in procfs.maps(me))
    assert procfs.namespace(me, "pid") == os.stat("/proc/self/ns/pid").st_ino
