r"""Lines of ftrace's text: who, where, when, which event. The rest of a line is the event's own.

              bash-1234    (   1230) [002] d..2.  2084.021659: sched_switch: ...    trace, trace_pipe
              bash-1234    [002]  2084.021659: sched_switch:         ...            trace-cmd report, without flags
    inner:    bash-1234    [002] d..2.  2084.021659: ...                            of several buffers
              bash-1234      2d..2.  174us+: schedule <-do_idle                     latency-format
              bash  1234   2 0 d..2. 00000000 00000012 [0000beef]  174.123ms (+0.001ms): ...    and verbose

Source: kernel/trace/trace_output.c (trace_print_context, trace_print_lat_context), kernel/trace/trace.c
(print_func_help_header_irq); trace-cmd's lib/trace-cmd/trace-input.c and libtraceevent's event-parse.c.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 1 << 16  # bytes of a line
_HEAD = re.compile(
    r"\s*(?:([\w.-]{1,64}): +(?=\S))?(\S.{0,63}?)-(\d{1,10}) +(?:\( *(\d{1,10}|-+)\) +)?\[(\d{1,5})\] +"
    r"(?:(\S{4,6}) +|([^\s\d]\S{4})(?=\d{12,20}: ))?(\d{1,20}(?:\.\d{1,9})?): (.*)$",
    re.DOTALL,
)
"""Counts of twelve digits and more leave no blank behind trace-cmd's five flags."""
_RAW = re.compile(
    r"\s*(?:([\w.-]{1,64}): +(?=\S))?(\S.{0,63}?)-(\d{1,10}) +(?:\[(\d{1,5})\]|(\d{1,5}))(-0x[0-9a-f]{1,4}) +"
    r"(\d{1,20}(?:\.\d{1,9})?): (.*)$",
    re.DOTALL,
)
"""trace-cmd report -R: flags in hexadecimal, fields by their names."""
_SHORT = re.compile(
    r"\s*(\S.{0,15}?)-(\d{1,10}) +(\d{1,5})(?:([^\s\d]\S{3,5}) +|([^\s\d]\S{4})(?=\d{12,20}: ))"
    r"(\d{1,20}(?:\.\d{1,9})?): (.*)$",
    re.DOTALL,
)
"""trace-cmd report -l, and all that it prints of latency tracers' buffers."""
_LATENCY = re.compile(
    r"\s*(\S.{0,15}?)-(\d{1,10}) +(\d{1,5})([^\s\d]\S{3,5}) +(\d{1,15})us[ +!#*@$]?\s*: (.*)$", re.DOTALL
)
_VERBOSE = re.compile(
    r"\s*(\S.{0,15}?) +(\d{1,10}) +(\d{1,5}) +\d+ +(?:(\S{4,6}) +)?[0-9a-f]{8} +[0-9a-f]{8,16} +\[[0-9a-f]+\] +"
    r"(\d{1,12})\.(\d{3})ms +\([-+]?\d+\.\d{3}ms\): (.*)$",
    re.DOTALL,
)
_LOST = re.compile(
    r"(?:[\w.-]+: )?\s*CPU:(\d{1,5}) \[(?:LOST (?:(\d{1,18}) )?EVENTS|(?:(\d{1,18}) )?EVENTS DROPPED)\]\s*$"
)
#: What else trace files hold that is no event.
_ASIDE = re.compile(r"\s*(?:#.*|cpus=\d+|##### CPU .*|-+|version = .*|CPU \d+ is empty|)\s*$")
_RESCHED = "NnpPLlbBD"


class Head(NamedTuple):
    """``time`` in nanoseconds, or ticks where ``digits`` (behind the point) is 0; ``tgid`` -1 if not told; ``flags``
    as it was printed, empty if it was not. ``rest``: ``name: text``."""

    comm: str
    tid: int
    tgid: int
    cpu: int
    flags: str
    time: int
    digits: int
    rest: str
    buffer: str = ""


def head(line: str) -> Head | None:
    found = _HEAD.match(line)
    if found:
        buffer, comm, tid, tgid, cpu, flags, glued, time, rest = found.groups()
        group = int(tgid) if tgid and tgid[0] != "-" else -1
        return Head(comm, _id(tid), group, int(cpu), flags or glued or "", *_time(time), rest, buffer or "")
    return _other(line)


def _other(line: str) -> Head | None:
    if (found := _LATENCY.match(line)) is not None:
        comm, tid, cpu, flags, time, rest = found.groups()
        return Head(comm, _id(tid), -1, int(cpu), flags, int(time) * 1000, 6, rest)
    if (found := _SHORT.match(line)) is not None:
        comm, tid, cpu, flags, glued, time, rest = found.groups()
        return Head(comm, _id(tid), -1, int(cpu), flags or glued, *_time(time), rest)
    if (found := _RAW.match(line)) is not None:
        buffer, comm, tid, cpu, short, flags, time, rest = found.groups()
        return Head(comm, _id(tid), -1, int(cpu or short), flags, *_time(time), rest, buffer or "")
    if (found := _VERBOSE.match(line)) is not None:
        comm, tid, cpu, flags, ms, us, rest = found.groups()
        return Head(comm, _id(tid), -1, int(cpu), flags or "", int(ms) * 10**6 + int(us) * 1000, 6, rest)
    return None


def _time(text: str) -> tuple[int, int]:
    """Nanoseconds, or a count; and how many digits are behind the point."""
    whole, point, part = text.partition(".")
    return _u64(int(whole) * 10**9 + int(part.ljust(9, "0")) if point else int(whole)), len(part)


def _id(text: str) -> int:
    return min(int(text), (1 << 31) - 1)


def _u64(value: int) -> int:
    return min(value, (1 << 64) - 1)


def lost(line: str) -> tuple[int, int] | None:
    """(CPU, how many; 0 if not told) of a line about events that are missing."""
    found = _LOST.match(line) if "EVENTS" in line else None
    return (int(found[1]), int(found[2] or found[3] or 0)) if found else None


def aside(line: str) -> bool:
    """Headings, and other lines that are no events and never were."""
    return _ASIDE.match(line) is not None


def bits(flags: str) -> tuple[int, int]:
    """(common_flags, common_preempt_count) of the letters; the depth of disabled migration is its upper half.

    d..2.   interrupts off; reschedule needed; in an interrupt; preemption; migration
    -0x5    the flags themselves, and no depths
    """
    if not flags:
        return 0, 0
    if flags.startswith("-0x"):
        return int(flags[1:], 16) & 0xFF, 0
    irqs, resched, inside = flags[0], flags[1:2], flags[2:3]
    value = (irqs in "dD") | (irqs == "X") << 1 | (resched in _RESCHED and resched != "") << 2
    value |= (inside in "hHZz" and inside != "") << 3 | (inside in "sH" and inside != "") << 4
    value |= (inside in "Zz" and inside != "") << 6 | (irqs in "bD") << 7
    return int(value), _depth(flags[3:4]) | _depth(flags[4:5]) << 4


def _depth(letter: str) -> int:
    return int(letter, 16) if letter and letter in "0123456789abcdef" else 0
