"""A function graph as the kernel prints it, line by line.

    # tracer: function_graph
    #
    # CPU  DURATION                  FUNCTION CALLS
    # |     |   |                     |   |   |   |
     0)               |  do_sys_openat2() {
     0)   0.270 us    |    getname();
     0) + 12.345 us   |  }

A function that calls nothing that is traced is one line: its entry is followed by its own return on the same CPU.
Source of the layout: kernel/trace/trace_functions_graph.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from probescope.frozen import dataclass

_HEADS = (  # as Look names them: the two lines of each column
    ("abstime", "     TIME       ", "      |         "),
    ("cpu", " CPU", " |  "),
    ("proc", "  TASK/PID       ", "   |    |        "),
    ("duration", "  DURATION   ", "   |   |      "),
)
_CALLS = ("               FUNCTION CALLS\n", "               |   |   |   |\n")
MARKS = (
    (1_000_000_000, "$"),
    (100_000_000, "@"),
    (10_000_000, "*"),
    (1_000_000, "#"),
    (100_000, "!"),
    (10_000, "+"),
)
RULE = " ------------------------------------------\n"
_PROCESS_WIDTH, _COMM = 14, 7
_ERRORS = (1 << 64) - 4095
_INT_ERRORS = (1 << 32) - 4095
_COLORS = {"$": "31", "@": "31", "*": "31", "#": "31", "!": "33", "+": "36"}


class Row(NamedTuple):
    """One entry or return; or, with ``text``, another event among them. ``duration`` in ns, of returns. ``value``: what
    was returned, ``None`` if that is not known. ``args``: of an entry, as they are in registers. ``overrun``: of a
    return, calls that the tracer had no room for."""

    cpu: int
    tid: int
    func: int
    depth: int
    returns: bool
    duration: int = 0
    value: int | None = None
    time: int = 0
    caller: int = 0
    args: tuple[int, ...] = ()
    overrun: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """``tail``: the function's name after its closing brace. ``proc``, ``abstime``, ``overhead``, ``duration``,
    ``cpu``, ``overrun``: columns, as the kernel's funcgraph options name them. ``values``: what was returned, ``hex``:
    errors too in hexadecimal, ``ret``: in the words of Linux 6.13 and newer. ``irq``: first and last address of the
    code that interrupts enter by. ``threads``: what follows an entry is looked for in its thread, not on its CPU."""

    tail: bool = False
    proc: bool = False
    abstime: bool = False
    overhead: bool = True
    duration: bool = True
    cpu: bool = True
    overrun: bool = False
    values: bool = False
    hex: bool = False
    ret: bool = False
    irq: tuple[int, int] = (0, 0)
    threads: bool = False
    color: bool = False


PLAIN = Look()


class Tree:
    """``name`` of a function's address, ``comm`` of a thread, ``arguments`` of a function as text. ``feed`` gives
    lines; rows that wait for what follows them are kept for the next call, once."""

    def __init__(
        self,
        name: Callable[[int], str],
        comm: Callable[[int], str],
        cpus: int = 1,
        look: Look = PLAIN,
        arguments: Callable[[int, tuple[int, ...]], str] | None = None,
    ) -> None:
        self.name, self.comm, self.look = name, comm, look
        self._arguments = arguments
        self._cpu_width = len(str(max(cpus - 1, 0)))
        self._task: dict[int, int] = {}
        self._entered: dict[tuple[int, int], int] = {}
        self._depth: dict[int, int] = {}
        self._in_irq: dict[int, int] = {}
        self._waiting: list[Row] = []

    def header(self) -> str:
        shown = [(one, two) for name, one, two in _HEADS if getattr(self.look, name)]
        lines = ("".join(texts) + end for texts, end in zip(_both(shown), _CALLS, strict=True))
        return "# tracer: function_graph\n#\n" + "".join(f"#{line}" for line in lines)

    def _key(self, row: Row) -> int:
        return row.tid if self.look.threads else row.cpu

    def feed(self, rows: Sequence[Row], *, final: bool = False) -> Iterator[str]:
        waited = len(self._waiting)
        rows = [*self._waiting, *rows]
        follows = _followers(rows, self._key)
        end = len(rows)
        if not final:
            open_ = (i for i, (row, n) in enumerate(zip(rows, follows, strict=True)) if n < 0 and _is_entry(row))
            end = next((i for i in open_ if i >= waited), len(rows))
        self._waiting = rows[end:]
        done: set[int] = set()
        for i in range(end):
            if i in done:
                continue
            n = follows[i]
            leaf = rows[n] if n >= 0 and _is_entry(rows[i]) and _is_leaf(rows[i], rows[n]) else None
            if leaf is not None:
                done.add(n)
            yield from self._row(rows[i], leaf)
        self._waiting = [row for i, row in enumerate(rows[end:], end) if i not in done]

    def _row(self, row: Row, leaf: Row | None) -> Iterator[str]:
        if not self.look.threads:
            yield from self._switch(row)
        if row.text:
            yield self._comment(row)
        elif row.returns:
            self._depth[self._key(row)] = row.depth - 1
            yield self._closing(row)
            if self.look.overrun:
                yield f" (Overruns: {row.overrun})\n"
            yield from self._irq_end(row)
        else:
            self._depth[self._key(row)] = row.depth - (leaf is not None)
            yield from self._irq_begin(row)
            yield self._entry(row, leaf)
            if leaf is not None:
                yield from self._irq_end(leaf)

    # --- lines ---

    def _entry(self, row: Row, leaf: Row | None) -> str:
        indent = "  " * row.depth
        caller = f"<-{self.name(row.caller)}" if row.caller else ""
        args = self._arguments(row.func, row.args) if row.args and self._arguments else ""
        call = f"{self.name(row.func)}({args})"
        if leaf is not None:
            value = f"{caller} {self._value(leaf)}".strip()
            note = f" /* {value} */" if value else ""
            return f"{self._prologue(row)}{self._time(leaf.duration)}{indent}{call};{note}\n"
        self._entered[self._key(row), row.depth] = row.func
        note = f" /* {caller} */" if caller else ""
        return f"{self._prologue(row)}{self._blank()}{indent}{call} {{{note}\n"

    def _closing(self, row: Row) -> str:
        known = self._entered.pop((self._key(row), row.depth), 0) == row.func
        value = self._value(row)
        note = f" /* {f'{self.name(row.func)} {value}'.rstrip()} */" if value or self.look.tail or not known else ""
        return f"{self._prologue(row)}{self._time(row.duration)}{'  ' * row.depth}}}{note}\n"

    def _comment(self, row: Row) -> str:
        """At the depth of the call that is open, as the kernel has it: not indented where that is the outermost."""
        depth = self._depth.get(self._key(row), 0)
        indent = "  " * (depth + 1) if depth > 0 else ""
        return f"{self._prologue(row)}{self._blank()}{indent}/* {row.text} */\n"

    def _value(self, row: Row) -> str:
        """Error codes in decimal, all else in hexadecimal."""
        if row.value is None or not self.look.values:
            return ""
        sign = "ret=" if self.look.ret else "= "
        number = row.value
        if not self.look.hex:
            for errors, bits in ((_ERRORS, 64), (_INT_ERRORS, 32)):
                if errors <= number < 1 << bits:
                    return f"{sign}{number - (1 << bits)}"
        return f"{sign}{number:#x}"

    def _prologue(self, row: Row) -> str:
        out = f"{row.time // 1_000_000_000:5d}.{row.time // 1000 % 1_000_000:06d} |  " if self.look.abstime else ""
        if self.look.cpu:
            out += f" {row.cpu:{self._cpu_width}d}) "
        if self.look.proc:
            out += f"{self._process(row.tid)} | "
        return out

    def _blank(self) -> str:
        return "              |  " if self.look.duration else ""

    def _time(self, duration: int) -> str:
        if not self.look.duration:
            return ""
        mark = next((m for least, m in MARKS if duration > least), " ")
        text = f"{mark if self.look.overhead else ' '} {spent(duration)}"
        if self.look.color and mark in _COLORS:
            text = f"\x1b[{_COLORS[mark]}m{text}\x1b[0m"
        return f"{text}|  "

    # --- tasks and interrupts ---

    def _switch(self, row: Row) -> Iterator[str]:
        """Another thread runs on this CPU than in its line before."""
        before = self._task.get(row.cpu)
        self._task[row.cpu] = row.tid
        if before is not None and before != row.tid:
            cpu = f" {row.cpu:{self._cpu_width}d}) "
            line = f"{cpu}{self._process(before)} => {self._process(row.tid)}\n"
            yield f"{RULE}{line}{RULE}\n"

    def _process(self, tid: int) -> str:
        text = f"{self.comm(tid)[:_COMM]}-{tid}"
        spaces = max(0, _PROCESS_WIDTH - len(text))
        return " " * (spaces // 2) + text + " " * (spaces - spaces // 2)

    def _irq_begin(self, row: Row) -> Iterator[str]:
        first, last = self.look.irq
        if first <= row.func < last and row.cpu not in self._in_irq:
            self._in_irq[row.cpu] = row.depth
            yield f"{self._prologue(row)}  ==========> |\n"

    def _irq_end(self, row: Row) -> Iterator[str]:
        if self._in_irq.get(row.cpu) == row.depth and self.look.irq[0] <= row.func < self.look.irq[1]:
            del self._in_irq[row.cpu]
            yield f"{self._prologue(row)}  <========== |\n"


def spent(duration: int) -> str:
    """A duration in ns as microseconds, seven digits at most, in a column of eleven."""
    micro = str(duration // 1000)
    text = micro if len(micro) >= 7 else f"{micro}.{f'{duration % 1000:03d}'[: 7 - len(micro)]}"
    return f"{text} us {' ' * max(0, 8 - len(text))}"


def _is_entry(row: Row) -> bool:
    return not row.returns and not row.text


def _is_leaf(entry: Row, row: Row) -> bool:
    return row.returns and not row.text and row.tid == entry.tid and row.func == entry.func


def _followers(rows: Sequence[Row], key: Callable[[Row], int]) -> list[int]:
    """For each row the next one of its CPU or thread, -1 if there is none yet."""
    out = [-1] * len(rows)
    last: dict[int, int] = {}
    for i in range(len(rows) - 1, -1, -1):
        out[i] = last.get(key(rows[i]), -1)
        last[key(rows[i])] = i
    return out


def _both(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [one for one, _ in pairs], [two for _, two in pairs]
