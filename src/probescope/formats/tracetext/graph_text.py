r"""Function graphs as text: the kernel's, of braces alone, and those in lines of trace-cmd report.

     2084.021659 |   0)   bash-1234    |   0.523 us    |    mutex_unlock();
     0)               |  do_sys_openat2() {
     0) ! 123.4 us    |  } /* do_sys_openat2 */
     0)  bash-1234   =>  ls-1235
     0)               |  /* sched_switch: prev_comm=... */

Only with funcgraph-abstime do lines have times. Without it time is what calls took: what lies between calls takes none,
and it begins at 0.

Source: kernel/trace/trace_functions_graph.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from probescope.frozen import dataclass

NAMES = {"funcgraph_entry", "funcgraph_exit", "fgraph_retaddr_entry"}
MOST_DEPTH = 256
_ABSOLUTE = re.compile(r"\s{0,60}(\d{1,10})\.(\d{6}) +\|")
_CPU = re.compile(r"\s{0,60}(\d{1,5})\)")
_TASK = re.compile(r"\s{0,60}(\S.{0,15}?)-(\d{1,10}) +\|")
_SWITCH = re.compile(r"\s{0,60}(?:(\d{1,5})\) +)?(\S.{0,15}?)-(\d{1,10}) +=> +(\S.{0,15}?)-(\d{1,10})\s*$")
_FLAGS = re.compile(r"\s{0,60}([^\s|\d]\S{3,5}) +\|")
_SPENT = re.compile(r"\s{0,40}[-+!#*@$]?\s{0,20}(?:(\d{1,15}(?:\.\d{1,3})?) us)?\s{0,40}\|")
_ARROW = re.compile(r"\s{0,60}(?:[<=]=+[=>])\s{0,40}\|")
_CALL = r"( *)(?:([^\s({}/][^\s(]*(?: \[[\w-]+\])?)?(?:\((.*)\))?(;| \{)(.*)|\}(.*)|/\* (.*) \*/)\s*$"
_BODY, _BARE = re.compile("  " + _CALL), re.compile(" " + _CALL)
"""With durations, and without (nofuncgraph-duration)."""
_RETURNED = re.compile(r"ret=(-?\w+)|= (-?(?:0x)?[0-9a-f]+)\b")
_CALLER = re.compile(r"/\* <-(\S+)")
_TAIL = re.compile(r"/\* (?!=|ret=|<-)([^\s*]+(?: \[[\w-]+\])?)")


class Entry:
    """``name``: of its event, as far as the text has it. ``values``: of its fields, where they are known already:
    functions by their names. ``after``: it stands in the text before its time. ``frames``: of perf's stacks.
    ``comment``: it stands among calls, where what was printed has no function before it.
    ``padded``: the name has blanks behind it, as in trace-cmd's columns."""

    __slots__ = (
        *("after", "buffer", "comm", "comment", "cpu", "digits", "flags", "frames", "name"),
        *("padded", "period", "pid", "text", "tid", "time", "values"),
    )

    def __init__(self, time: int, cpu: int, tid: int, pid: int, comm: str, flags: str = "", digits: int = 6) -> None:
        self.time, self.cpu, self.tid, self.pid = time, cpu, tid, pid
        self.comm, self.flags, self.digits = comm, flags, digits
        self.name = self.text = self.buffer = ""
        self.values: dict[str, Any] = {}
        self.period, self.after, self.comment, self.padded = 1, 0, False, False
        self.frames: list[Any] = []

    def later(self, spent: int) -> Entry:
        """What happens on the same CPU after so many nanoseconds."""
        one = Entry(self.time + spent, self.cpu, self.tid, self.pid, self.comm, self.flags, self.digits)
        one.buffer, one.after = self.buffer, 1
        return one


@dataclass(frozen=True, slots=True)
class Missing:
    """``count`` events of a CPU that the kernel could not keep, 0: not told how many."""

    cpu: int
    count: int


class Calls:
    """Entries and exits of trace-cmd's lines: what has returned is known by depth."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], list[tuple[str, int]]] = {}

    def line(self, base: Entry, name: str, text: str) -> Iterator[Entry]:
        spent = _SPENT.match(text)
        body = _BODY.match(text, spent.end()) if spent else None
        if not spent or not body:
            base.name, base.text = f"ftrace:{name}", text
            yield base
            return
        yield from self.call(base, nanoseconds(spent[1]), body)

    def call(self, base: Entry, spent: int | None, body: re.Match[str]) -> Iterator[Entry]:
        """``spent``: None where it is not told; then a call ends when its end was printed."""
        indent, name, _, ending, note, closing, _ = body.groups()
        depth = min(len(indent) // 2, MOST_DEPTH)
        stack = self._open.setdefault((base.tid, base.cpu if base.tid <= 0 else -1), [])
        if ending is None:
            own, begun = _closed(stack[depth:], closing, base.time, spent)
            del stack[depth:]
            yield _exit(base, own, depth, begun, base.time if spent is None else begun + spent, closing)
            return
        del stack[depth:]
        stack += [("", base.time)] * (depth - len(stack))
        base.name, base.values = "ftrace:funcgraph_entry", {"func": name or "", "depth": depth}
        caller = _CALLER.search(note)
        if caller:
            base.values["retaddr"] = caller[1]
        yield base
        if ending == ";":
            end = base.later(spent or 0)
            yield _exit(end, name or "", depth, base.time, end.time, note)
        else:
            stack.append((name or "", base.time))


def _closed(opened: list[tuple[str, int]], note: str, time: int, spent: int | None) -> tuple[str, int]:
    """Name and begin of the call that ends, of those ``opened`` the first. The kernel tells the name where what was
    printed last at this depth is another call or none, since the entry was lost."""
    name = _tail(note)
    if opened and (spent is None or name in ("", opened[0][0])):
        return name or opened[0][0], opened[0][1]
    return name, max(0, time - (spent or 0))


def _exit(base: Entry, name: str, depth: int, begun: int, ended: int, note: str) -> Entry:
    base.name = "ftrace:funcgraph_exit"
    base.values = {"func": name, "depth": depth, "overrun": 0, "calltime": begun, "rettime": ended}
    returned = _RETURNED.search(note)
    if returned:
        base.values["retval"] = _number(returned[1] or returned[2])
    return base


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        try:
            return int(text, 16)
        except ValueError:
            return 0


def _tail(note: str) -> str:
    found = _TAIL.search(note)
    return found[1] if found else ""


def nanoseconds(text: str | None) -> int:
    """Of microseconds as they are printed."""
    if not text:
        return 0
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0") if part else 0)


class GraphText:
    """The kernel's own text, line by line. ``first``: of each CPU the task that it had at first, (name, number), which
    is told when it goes: who reads the text again knows it then."""

    def __init__(self, first: dict[int, tuple[str, int]] | None = None) -> None:
        self._first = {} if first is None else first
        self._now = 0
        self._tasks: dict[int, tuple[str, int]] = {}
        self._calls = Calls()

    def line(self, line: str) -> list[Entry] | None:
        """``None``: it is none of a function graph."""
        switch = _SWITCH.match(line)
        if switch:
            cpu = int(switch[1] or 0)
            if cpu not in self._tasks:
                self._first.setdefault(cpu, (switch[2], min(int(switch[3]), (1 << 31) - 1)))
            self._tasks[cpu] = (switch[4], min(int(switch[5]), (1 << 31) - 1))
            return []
        at, time, cpu, flags = 0, -1, -1, ""
        if found := _ABSOLUTE.match(line):
            at, time = found.end(), int(found[1]) * 10**9 + int(found[2]) * 1000
        if found := _CPU.match(line, at):
            at, cpu = found.end(), int(found[1])
        if found := _TASK.match(line, at):
            at = found.end()
            self._tasks[max(cpu, 0)] = (found[1], min(int(found[2]), (1 << 31) - 1))
        if found := _FLAGS.match(line, at):
            at, flags = found.end(), found[1]
        if _ARROW.match(line, at):  # an interrupt begins or ends
            return []
        spent = _SPENT.match(line, at)
        body = _BODY.match(line, spent.end()) if spent else _BARE.match(line, at) if at and time >= 0 else None
        if not body or (not at and not line.startswith(" ")):
            return None
        return self._call(time, cpu, flags, nanoseconds(spent[1]) if spent else None, body)

    def _call(self, time: int, cpu: int, flags: str, spent: int | None, body: re.Match[str]) -> list[Entry]:
        comm, tid = self._tasks.get(max(cpu, 0)) or self._first.get(max(cpu, 0), ("<...>", -1))
        if time < 0 and body[4] is None and body[7] is None:  # a call has ended: it began where it did
            time = self._now + max(0, self._spent_so_far(tid, cpu, len(body[1]) // 2, spent or 0))
        base = Entry(max(time, self._now) if time >= 0 else self._now, cpu, tid, -1, comm, flags)
        self._now = base.time + ((spent or 0) if time < 0 and body[4] == ";" else 0)
        if body[7] is not None:
            from probescope.formats.tracetext.entries import named_entry

            base.comment = True
            return [named_entry(base, body[7])]
        return list(self._calls.call(base, spent, body))

    def _spent_so_far(self, tid: int, cpu: int, depth: int, spent: int) -> int:
        """How much longer than what was seen in it a call took."""
        stack = self._calls._open.get((tid, cpu if tid <= 0 else -1), [])
        return stack[depth][1] + spent - self._now if depth < len(stack) else 0
