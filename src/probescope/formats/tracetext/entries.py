"""Lines of ftrace's text to entries: what goes on over several lines is put together.

bash-1234 [000] ....  12.1: <stack trace>        an entry; the lines with => belong to it
 => vfs_read
CPU:0 [LOST 12 EVENTS]                           between entries
funcgraph_entry: 0.523 us | mutex_unlock();      two entries: in order of time, the second after others perhaps
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.formats.tracetext import graph_text, heads
from probescope.formats.tracetext.graph_text import Calls, Entry, GraphText, Missing

if TYPE_CHECKING:
    from probescope.formats.perfdata.damage import Tally
    from probescope.formats.tracetext.heads import Head

MOST_FRAMES = 512
UNKNOWN = "[unknown]"
_INDENT = 13  # blanks after "function:" of a function that no traced one called
_NAMED = re.compile(r"([A-Za-z_][\w.]{0,255}(?::[\w.]{1,255})?):(?: +|\t|$)(.*)", re.DOTALL)
_FUNCTION = re.compile(r"(?:function: +)?([^\s:<(]+(?: \[[\w-]+\])?(?:\([^\n]*?\))?)\s+<--? ?(\S+(?: \[[\w-]+\])?)\s*$")
_SYSCALL = re.compile(r"sys_(\w{1,64})(?:\((.*)\)|( -> .*))\s*$", re.DOTALL)
_STACK = re.compile(r"(?:kernel_stack: +|user_stack: +)?(?:<(user )?stack trace ?>|\t=> (.*))\s*$")
_PLACED = re.compile(r"(\S{1,256}\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[[\w-]+\])?(?: <[0-9a-f]+>)?): (.*)", re.DOTALL)
_FRAME = re.compile(r"\s*=>\s+(.*?)\s*$")
_MARKED = {"tracing_mark_write", "tracing_mark_raw_write"}


def entries(
    lines: Iterable[str], tally: Tally, first: dict[int, tuple[str, int]] | None = None
) -> Iterator[Entry | Missing]:
    """In the order of the text, but for the ends of calls that it has on one line with their beginnings. Lines that
    are nothing of a trace are counted. ``first``: see ``GraphText``."""
    return _ordered(Reading(tally, first).entries(lines))


def _ordered(found: Iterable[Entry | Missing]) -> Iterator[Entry | Missing]:
    """Ends of calls wait until it is their time."""
    waiting: list[tuple[int, int, Entry]] = []
    count = 0
    for one in found:
        if isinstance(one, Missing):
            yield one
            continue
        while waiting and one.after == 0 and (waiting[0][0] <= one.time or _over(waiting, one)):
            ended = heapq.heappop(waiting)[2]
            ended.time = min(ended.time, one.time)
            yield ended
        if one.after:
            count += 1
            heapq.heappush(waiting, (one.time, count, one))
        else:
            yield one
    while waiting:
        yield heapq.heappop(waiting)[2]


def _over(waiting: list[tuple[int, int, Entry]], one: Entry) -> bool:
    """Whether a call has ended because its CPU does something else: printed times are rounded."""
    return any(e.cpu == one.cpu and e.tid == one.tid for _, _, e in waiting)


class Reading:
    def __init__(self, tally: Tally, first: dict[int, tuple[str, int]] | None = None) -> None:
        self._tally = tally
        self._graph = GraphText(first)
        self._calls = Calls()
        self._callers: dict[int, list[str]] = {}
        self._held: Entry | None = None  # a stack whose frames follow

    def entries(self, lines: Iterable[str]) -> Iterator[Entry | Missing]:
        for line in lines:
            held = self._held
            if held is not None:
                frame = _FRAME.match(line)
                if frame:
                    if len(held.values["caller"]) < MOST_FRAMES:
                        held.values["caller"].append(frame[1])
                    continue
                yield self._whole(held)
            yield from self._line(line)
        if self._held is not None:
            yield self._whole(self._held)

    def _whole(self, held: Entry) -> Entry:
        self._held = None
        held.values["size"] = len(held.values["caller"])
        return held

    def _line(self, line: str) -> Iterator[Entry | Missing]:
        found = heads.head(line)
        if found is not None:
            yield from self._entry(found)
        elif (missing := heads.lost(line)) is not None:
            yield Missing(*missing)
        elif (calls := self._graph.line(line)) is not None:
            yield from calls
        elif not heads.aside(line):
            self._tally.add("line", "lines that are no event of a trace")

    def _entry(self, h: Head) -> Iterator[Entry]:
        base = Entry(h.time, h.cpu, h.tid, h.tgid, h.comm, h.flags, h.digits)
        base.buffer = h.buffer
        rest = h.rest
        stack = _STACK.match(rest) if "=>" in rest or "stack trace" in rest else None
        if stack:
            base.name = "ftrace:user_stack" if stack[1] else "ftrace:kernel_stack"
            base.values = {"caller": [stack[2]] if stack[2] else []}
            self._held = base
            return
        function = _FUNCTION.match(rest) if "<-" in rest else None
        if function:
            base.name, base.values = "ftrace:function", {"ip": function[1], "parent_ip": function[2]}
            yield base
            return
        named = _NAMED.match(rest)
        if named and named[1] == "function":
            base.name, base.values = "ftrace:function", self._nested(base.cpu, rest.removeprefix("function:"))
            yield base
            return
        if named and named[1] in graph_text.NAMES:
            yield from self._calls.line(base, named[1], named[2])
            return
        yield named_entry(base, rest, named)

    def _nested(self, cpu: int, text: str) -> dict[str, str]:
        """trace-cmd shows callers by steps of three blanks, if at all."""
        name = text.strip()
        depth = min((len(text) - len(text.lstrip()) - _INDENT) // 3, len(callers := self._callers.setdefault(cpu, [])))
        del callers[max(depth, 0) :]
        parent = callers[-1] if callers else UNKNOWN
        if len(callers) < MOST_FRAMES:
            callers.append(name)
        return {"ip": name, "parent_ip": parent}


def named_entry(base: Entry, rest: str, named: re.Match[str] | None = None) -> Entry:
    """``name: text``, or one of the forms that have no name."""
    named = named or _NAMED.match(rest)
    if named is None:
        call = _SYSCALL.match(rest)
        if call:
            base.name = f"syscalls:sys_{'exit' if call[3] else 'enter'}_{call[1]}"
            base.text = call[3].removeprefix(" -> ") if call[3] else call[2]
        else:
            placed = _PLACED.match(rest)
            ip, buf = placed.groups() if placed else ("", rest)
            base.name, base.values = "ftrace:print", {"ip": ip, "buf": buf}
        return base
    base.name, base.text = named[1], named[2]
    base.padded = named.start(2) - named.end(1) > 2
    if base.name in _MARKED:
        base.values, base.name = {"ip": base.name, "buf": base.text}, "ftrace:print"
    elif base.name in {"print", "bprint", "bputs"}:
        ip, colon, text = base.text.partition(": ")
        base.values, base.name = {"ip": ip if colon else "", "buf": text if colon else base.text}, "ftrace:print"
    return base


def as_print(entry: Entry) -> dict[str, Any]:
    """What trace_printk() printed: the function that did stands where an event's name would."""
    if entry.comment:
        return {"ip": 0, "buf": f"{entry.name}: {entry.text}"}
    return {"ip": entry.name, "buf": entry.text}
