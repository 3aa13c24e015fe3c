"""Stacks that were counted where a function is entered: who called it, and the whole ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.demangle import demangle, without_parameters
from probescope.frozen import dataclass
from probescope.views.peel.subject import Subject

if TYPE_CHECKING:
    from probescope.model.output import Frame, StackOut

UNKNOWN = "(nobody is known)"
ENTRY = 16
"""Bytes of a kernel function in which its call to ftrace is: behind the mark for indirect calls (x86 endbr64, arm64
bti) and what saves the return address."""
BEFORE = 3
"""Frames, at most, that a program at the function's entry has before the function's own."""


@dataclass(frozen=True, slots=True)
class Caller:
    """``shown``: with the functions that were inlined where the call is. ``go``: what can be looked at, if it has a
    name."""

    shown: str
    source: str
    go: Subject | None


def ways(counted: Mapping[Any, int], function: str) -> list[tuple[int, list[Frame]]]:
    """(calls, frames from ``function`` outwards), the most frequent first. A key is a stack, or a stack of the kernel
    and the one of the program below it."""
    out: list[tuple[int, list[Frame]]] = []
    for key, count in counted.items():
        stacks: Sequence[StackOut] = key if isinstance(key, tuple) else (key,)
        out.append((count, list(_from_entry([f for s in stacks for f in s.frames], function))))
    return sorted(out, key=lambda way: -way[0])


def _from_entry(frames: Sequence[Frame], function: str) -> Sequence[Frame]:
    """Without the trampoline by which fentry calls a program: it is gone when names are looked up, and the symbol
    before its address is any. The function's own frame is behind it, just where the function calls it."""
    if not frames or is_named(frames[0].symbol, function):
        return frames
    for at, f in enumerate(frames[: BEFORE + 1]):
        if f.address >> 63 and not f.inlined and f.offset <= ENTRY and f.symbol and is_named(f.symbol, function):
            return frames[at:]
    return frames


def beyond(frames: Sequence[Frame], function: str) -> Sequence[Frame]:
    """Those of who called: without the function's own, and what was inlined where it begins."""
    at = next((i for i, f in enumerate(frames) if not f.inlined), -1)
    own = frames[: at + 1]
    if not own or (own[-1].symbol and not _is(own[-1], function)):
        return frames  # a probe before the function's own frame is there: the first one is the caller's
    return frames[at + 1 :]


def _is(frame: Frame, function: str) -> bool:
    return function.startswith("0x") or is_named(frame.symbol, function)


def is_named(symbol: str, function: str) -> bool:
    """Whether ``function`` is a name of it, with or without parameters, and what a template was made for."""
    shown = demangle(symbol)
    plain = without_parameters(shown)
    return function in {symbol, shown, plain, plain.partition("<")[0]} or shown.startswith(function)


def caller(frames: Sequence[Frame]) -> Caller:
    """The innermost of these, with the one that it was inlined into."""
    if not frames:
        return Caller(UNKNOWN, "", None)
    names: list[str] = []
    source = f"{frames[0].file}:{frames[0].line}" if frames[0].line else ""
    for f in frames:
        names.append(named(f))
        if not f.inlined:
            return Caller(" in ".join(names), source, subject(f))
    return Caller(" in ".join(names), source, None)


def callers(all_ways: Iterable[tuple[int, list[Frame]]], function: str) -> list[tuple[Caller, int]]:
    """The most frequent first."""
    out: dict[tuple[str, Subject | None], tuple[Caller, int]] = {}
    for count, frames in all_ways:
        who = caller(beyond(frames, function))
        key = (who.shown, who.go)
        out[key] = (out.get(key, (who, 0))[0], out.get(key, (who, 0))[1] + count)
    return sorted(out.values(), key=lambda c: -c[1])


def named(f: Frame) -> str:
    return demangle(f.symbol) if f.symbol else f"{f.address:#x}"


def subject(f: Frame) -> Subject | None:
    """Of the file that a frame is in; the kernel's frames name a module, or nothing."""
    if not f.symbol or f.inlined:
        return None
    if f.module.startswith("/"):
        return Subject(f.symbol, f.module)
    return Subject(f.symbol.partition(".")[0]) if f.address >> 63 else None
