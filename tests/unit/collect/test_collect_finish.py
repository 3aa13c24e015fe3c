"""Opaque numbers become texts: expected values from libc, the ipaddress module, and by hand."""

from __future__ import annotations

import ipaddress
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.collect.finish import Finisher, inet_text, strftime, without_tracer
from probescope.ir.program import Program, Settings
from probescope.model.output import Frame, StackOut
from probescope.model.text import EnumValue
from probescope.model.types import Enum, Int, Opaque, String, Tuple


class Names:
    """Symbols by a table; stacks by their id."""

    def __init__(self, symbols: dict[int, str] | None = None, stacks: dict[int, tuple[int, ...]] | None = None) -> None:
        self.symbols, self.stacks = symbols or {}, stacks or {}
        self.asked: list[int] = []

    def kernel(self, address: int) -> Frame:
        self.asked.append(address)
        return Frame(address, self.symbols.get(address, ""))

    def user(self, pid: int, address: int) -> Frame:
        self.asked.append(address)
        return Frame(address, f"{self.symbols[address]}@{pid}" if address in self.symbols else "")

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        return self.stacks.get(stack_id)


def finisher(names: Names | None = None, **settings: object) -> Finisher:
    names = names or Names()
    return Finisher(Program((), settings=Settings(**settings)), names, names)  # type: ignore[arg-type]


@given(st.ip_addresses())
def test_collect_addresses_as_libc_writes_them(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """Dotted, or by RFC 5952; mapped addresses in their mixed form, as inet_ntop writes them."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    if address.version == 6 and address.packed[:12] == bytes(12):
        return  # inet_ntop writes the long deprecated IPv4-compatible ones mixed; RFC 5952 does not ask for that
    assert inet_text(address.packed) == socket.inet_ntop(family, address.packed)


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("::1", bytes(15) + b"\1"),
        ("::", bytes(16)),
        ("1:0:2::", bytes.fromhex("00010000000200000000000000000000")),
        ("2001:db8::1:0:0:1", bytes.fromhex("20010db8000000000001000000000001")),
        ("::ffff:1.2.3.4", bytes(10) + b"\xff\xff\1\2\3\4"),
        ("127.0.0.1", b"\x7f\0\0\1"),
    ],
)
def test_collect_addresses(text: str, packed: bytes) -> None:
    """Single zero groups stay, the first of two equal runs is shortened."""
    assert inet_text(packed) == text


def test_collect_texts_that_fill_their_place_were_cut() -> None:
    """The mark tells so, also inside of tuples; bytes that are no UTF-8 survive."""
    f = finisher(truncation_mark="~")
    assert f.finish(String(4), b"abcd") == "abcd~"
    assert f.finish(String(4), b"abc") == "abc"
    assert f.finish(Tuple((Int(4, True), String(2))), (5, b"xy")) == (5, "xy~")
    assert f.finish(String(8), b"\xff\xfe").encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_collect_enums_have_their_first_name() -> None:
    """Of two constants with one number the first one is shown; unknown numbers have no name."""
    t = Enum("e", 4, False)
    f = Finisher(Program((), enums=((t, (("A", 1), ("B", 1), ("C", 3))),)), Names(), Names())
    assert f.finish(t, 1) == EnumValue(1, "A")
    assert f.finish(t, 2) == EnumValue(2, "")


def test_collect_simple_opaque_values() -> None:
    """Users, errors, signals, system calls, hardware addresses, as the system names them."""
    f = finisher()
    assert f.finish(Opaque("username"), 0) == "root"
    assert f.finish(Opaque("username"), 4_000_000_000) == "4000000000"
    assert f.finish(Opaque("strerror"), 2) == os.strerror(2)
    assert f.finish(Opaque("signal_name"), 9) == "SIGKILL"
    assert f.finish(Opaque("mac"), b"\0\x1a\2\xff\4\5") == "00:1A:02:FF:04:05"
    assert f.finish(Opaque("syscall_name"), 100_000) == "[unknown: 100000]"


def test_collect_time_of_an_event() -> None:
    """Seconds and microseconds of the same moment; %f is ours."""
    os.environ["TZ"] = "UTC"
    assert strftime("%Y-%m-%d %H:%M:%S.%f", 1_000_000_000 * 10**9 + 123_456_789) == "2001-09-09 01:46:40.123456"


def test_collect_stacks_are_finished_once() -> None:
    """The same stack of the same process is symbolised once; another process's is its own."""
    names = Names({1: "f", 2: "g"}, {7: (1, 2)})
    f = finisher(names)
    first = f.finish(Opaque("ustack", "", 127), (7, 100))
    assert first == StackOut((Frame(1, "f@100"), Frame(2, "g@100")), "bpftrace", True, 100)
    assert f.finish(Opaque("ustack", "", 127), (7, 100)) is first
    assert f.finish(Opaque("ustack", "", 127), (7, 101)).frames[0].symbol == "f@101"
    assert names.asked == [1, 2, 1, 2]


def test_collect_stacks_that_were_not_kept() -> None:
    """-EEXIST and -ENOMEM are losses; -EFAULT means that there was no such stack."""
    f = finisher(Names())
    kernel = Opaque("kstack", "", 127)
    assert f.finish(kernel, -17).lost
    assert not f.finish(kernel, -14).lost
    assert f.finish(kernel, 12345).lost


def test_collect_frames_of_the_tracing_itself_are_left_out() -> None:
    """Only those at the top: a function of that name further down is part of the story."""
    names = ["bpf_prog_1234_x", "bpf_trace_run2", "__traceiter_sys_enter", "do", "bpf_prog_y"]
    frames = [Frame(i, name) for i, name in enumerate(names)]
    assert [f.symbol for f in without_tracer(frames)] == ["do", "bpf_prog_y"]


def test_collect_symbols_without_names_are_addresses() -> None:
    """ksym and usym of an address that nobody knows."""
    f = finisher()
    assert f.finish(Opaque("ksym"), 0x1234) == "0x1234"
    assert f.finish(Opaque("usym"), (0x1234, 5)) == "0x1234"
