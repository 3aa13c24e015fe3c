"""Frames with inlined functions and source lines: how they come about and how they read."""

from __future__ import annotations

import pytest

from probescope.collect.finish import Finisher
from probescope.collect.source_frames import frames_of, looked_up
from probescope.debuginfo.dwarf_inlines import SourceFrame
from probescope.ir.program import Program, Settings
from probescope.model.output import Frame
from probescope.model.text import frame_text, stack_text
from probescope.model.types import Opaque

FOUND = (SourceFrame("_Z1fv", "/src/a.cc", 7, 3, True), SourceFrame("g", "/src/b.cc", 12, 1, False))


class Names:
    """Two frames; the first has a function inlined in it."""

    def __init__(self) -> None:
        self.callers: list[bool] = []

    def kernel(self, address: int) -> Frame:
        return Frame(address, "k")

    def user(self, pid: int, address: int) -> Frame:
        return Frame(address, "g.part.0", 5, "/bin/x")

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        return (0x10, 0x20)

    def file_frame(self, pid: int, address: int) -> Frame:
        return Frame(address, offset=address + 0x1000, build_id="abcdef") if address == 0x10 else Frame(address)

    def sources(self, frame: Frame, pid: int, *, user: bool, caller: bool) -> tuple[Frame, ...]:
        self.callers.append(caller)
        return frames_of(frame, FOUND if frame.address == 0x10 else (), lambda name: name.replace("_Z1fv", "f()"))


def test_frames_as_bpftrace_prints_them() -> None:
    """bpftrace 0.26, src/usyms.cpp: `[inlined] NAME@FILE:LINE`, and with mode perf `ADDRESS NAME (inlined)`."""
    inner, outer = frames_of(Frame(0x10, "g.part.0", 5, "/bin/x"), FOUND, lambda name: name)
    assert frame_text(inner) == "[inlined] _Z1fv@/src/a.cc:7"
    assert frame_text(outer) == "g.part.0+5@/src/b.cc:12"
    assert frame_text(inner, "perf") == "10 _Z1fv (inlined)"
    assert frame_text(outer, "perf") == "10 g.part.0+5 (/bin/x)"
    assert frame_text(Frame(0x10, "g", 5)) == "g+5"


def test_a_limit_counts_addresses() -> None:
    """One address may be several functions; all of them are shown."""
    frames = Finisher(Program(()), names := Names(), names).finish(Opaque("ustack", "", 1), (1, 2)).frames
    assert [(f.symbol, f.inlined, f.line) for f in frames] == [("f()", True, 7), ("g.part.0", False, 12)]
    assert names.callers == [False]
    Finisher(Program(()), names, names).finish(Opaque("ustack", "", 9), (1, 2))
    assert names.callers[1:] == [False, True]


@pytest.mark.parametrize(("mode", "show"), [("raw", True), ("bpftrace", False)])
def test_no_lines_where_none_are_wanted(mode: str, show: bool) -> None:
    """Raw stacks are addresses; show_debug_info says no."""
    program = Program((), settings=Settings(show_debug_info=show))
    frames = Finisher(program, names := Names(), names).finish(Opaque("ustack", mode, 9), (1, 2)).frames
    assert len(frames) == 2
    assert not names.callers


def test_build_ids() -> None:
    """bpf_stack_build_id of the kernel: a build-id and the offset in the file, or the address alone where there is no
    file (include/uapi/linux/bpf.h)."""
    found = Finisher(Program(()), names := Names(), names).finish(Opaque("ustack", "build_id", 9), (1, 2))
    assert stack_text(found) == "\nabcdef 0x1010\n20\n"


def test_the_call_is_before_the_return_address() -> None:
    """A call that is the last instruction of a block would be told as the next line."""
    assert looked_up(Frame(0x10, "f", 4), True) == 0xF
    assert looked_up(Frame(0x10, "f", 4), False) == 0x10
    assert looked_up(Frame(0x10, "f", 0), True) == 0x10
