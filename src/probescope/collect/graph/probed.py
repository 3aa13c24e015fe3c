"""Calls of functions that are probed one by one: of programs, by uprobes; of the kernel, where it has no
function_graph, by fentry, kprobes, or the tracepoints of system calls. A program in the tracing language sends an event
for each entry and return."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from probescope.collect.graph.nesting import Nesting
from probescope.collect.graph.probed_names import ProbedNames
from probescope.errors import ScriptError, UsageError
from probescope.frozen import dataclass
from probescope.lang.bt.pointtext import part

if TYPE_CHECKING:
    from probescope.collect.actions import Sink
    from probescope.collect.graph.request import GraphRequest
    from probescope.collect.session import Session
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.output import Output
    from probescope.model.recording import Column, EventBatch, EventType

Pair = tuple[str, str]
"""Probes at a function's entry and return."""

SENT = 'printf("%d %d %d %llu {form}{more}", {kind}, cpu, tid, nsecs, {what}{value});'
LOOK_MS, MOST_LOOKS = 50, 64
EVERYTHING = (1 << 64) - 1
_WAYS = (("fentry", "fexit"), ("kprobe", "kretprobe"))
PROBES_OWN = ("uretprobe", "uprobe")
"""System calls of the kernel's own uprobes ("uprobe: Add uretprobe syscall to speed up return probe", 6.11;
"uprobes/x86: Add uprobe syscall to speed up uprobe", 6.18)."""
_CALL = ("tracepoint:raw_syscalls:sys_enter", "tracepoint:raw_syscalls:sys_exit")


def user_pairs(path: str, patterns: Sequence[str]) -> list[Pair]:
    """Names of C++ and Rust are those that people write."""
    path = part(path)
    names = [f'cpp:"{p}"' if "::" in p else p for p in patterns]
    return [(f"uprobe:{path}:{p}", f"uretprobe:{path}:{p}") for p in names]


def kernel_pairs(way: str, patterns: Sequence[str]) -> list[Pair]:
    """``way``: fentry, kprobe, or syscalls, which needs no patterns."""
    if way == "syscalls":
        return [_CALL]
    entry, back = next(w for w in _WAYS if w[0] == way)
    return [(f"{entry}:{p}", f"{back}:{p}") for p in patterns]


def program(pairs: Sequence[Pair], *, retval: bool) -> str:
    """The program's text: entries send the name of their thread, returns what they return, if that is wanted."""
    out: list[str] = []
    for calls in (False, True):
        some = [p for p in pairs if (p == _CALL) is calls]
        if not some:
            continue
        entries, returns = (",\n".join(side) for side in zip(*some, strict=True))
        where = f" /{_own_calls()}/" if calls else ""
        form, what, result = ("%lld", "args.id", "args.ret") if calls else ("%s", "probe", "retval")
        begun = SENT.format(kind=0, form=form, what=what, more=" %s", value=", comm")
        more, value = (" %llu", f", {result}") if retval else ("", "")
        out += [f"{entries}{where} {{ {begun} }}"]
        out += [f"{returns}{where} {{ {SENT.format(kind=1, form=form, what=what, more=more, value=value)} }}"]
    return "\n".join(out)


def _own_calls() -> str:
    """Not those that the kernel makes programs call where they are probed: they are no calls of theirs."""
    from probescope.kernel.host import host
    from probescope.model.syscalls import numbers

    known = numbers(host().machine)
    return " && ".join(f"args.id != {known[name]}" for name in PROBES_OWN if name in known) or "1"


@dataclass(frozen=True, slots=True)
class Who:
    """``command``, quoted as for a shell, or the process ``pid`` is traced, with what it forks; or ``everybody``."""

    command: str = ""
    pid: int = 0
    everybody: bool = False
    signals: bool = True

    @property
    def follow(self) -> bool:
        return bool(self.command or self.pid) and not self.everybody


MakeSession = Callable[[str, Who, "Sink"], "Session"]
"""A session of a program's text: what makes programs of texts is above this room."""


class ProbedCalls:
    """``Calls``. ``beside``: the command's process, or 0, where somebody else runs it: with ``begin``, ``poll``,
    ``taken`` and ``stop`` this is one of two streams then. Raises UsageError where there is nothing to trace."""

    ret = False

    def __init__(self, pairs: Sequence[Pair], request: GraphRequest, make: MakeSession, beside: int = -1) -> None:
        self.request = request
        self.events: tuple[EventType, ...] = ()
        self.names = ProbedNames()
        self._rows: list[tuple[Any, ...]] = []
        self._told: list[str] = []
        alone = beside < 0
        pid = max(beside, 0) or (request.pids[0] if request.pids else 0)
        who = Who(shlex.join(request.command) if alone else "", pid, request.everybody, signals=alone)
        try:
            self._session: Session = make(program(pairs, retval=request.retval), who, self._take)
        except ScriptError as e:  # of a program that nobody wrote
            raise _nothing(e, pairs) from e
        below = request.binary != "" and any(not p.startswith("uprobe") for p, _ in pairs)
        most = request.depth if below or request.kernel is None else 0  # the kernel's own tracer counts its levels
        self._nesting = Nesting(self.names.of_kernel, below=below, most=most)
        self._lost: dict[str, int] = {}
        self.exit_code = 0

    def _take(self, output: Output) -> None:
        from probescope.model.output import Batch, Lost, Warned

        match output:
            case Batch(columns=columns) if len(columns) in (5, 6):
                self._sent([column.tolist() for column in columns.values()])
            case Lost(count=count, about=about):  # of entries, of returns, and again when there are more
                about = about.partition(" (")[0]
                self._lost[about] = self._lost.get(about, 0) + count
            case Warned(diagnostic=d):
                self._told.append(f"WARNING: {d.message}")
            case _:
                pass

    def _sent(self, columns: list[list[Any]]) -> None:
        """Entries, or returns, of functions: the values of ``SENT``."""
        if not columns[0][0]:
            self.names.called(dict(zip(columns[2], columns[5], strict=True)))
        self._rows += zip(*columns, strict=True)

    def begin(self) -> None:
        self._session.start()
        self._session.columnar()  # a text for each would cost ten times as much

    def poll(self, timeout_ms: int = 0) -> bool:
        """Whether it goes on."""
        return self._session.poll(timeout_ms)

    def drain(self) -> None:
        """Takes all that has been sent by now."""
        for _ in range(MOST_LOOKS):
            before = len(self._rows)
            if not self.poll() or len(self._rows) == before:
                return

    def stop(self) -> None:
        """The end: the rest is there to be taken."""
        self._session.stop()
        self.exit_code = self._session.ending.child_code

    def batches(self) -> Iterator[tuple[CallColumns, EventBatch | None]]:
        until = time.monotonic() + self.request.seconds if self.request.seconds else float("inf")
        while self.poll(LOOK_MS) and time.monotonic() < until:
            if (columns := self.taken()) is not None:
                yield columns, None
        self.stop()
        if (columns := self.taken()) is not None:
            yield columns, None

    def taken(self, until: int = EVERYTHING) -> CallColumns | None:
        """What came, of before ``until``; what is later is kept for the next time."""
        rows = sorted(self._rows, key=lambda row: row[3])
        cut = next((i for i, row in enumerate(rows) if row[3] > until), len(rows)) if until != EVERYTHING else len(rows)
        rows, self._rows = rows[:cut], rows[cut:]
        return self._made(rows) if rows else None

    def _made(self, rows: list[tuple[Any, ...]]) -> CallColumns | None:
        import numpy as np

        from probescope.formats.tracing.calls import CallColumns

        func = [self.names.number(r[4]) for r in rows]
        depth, duration = self._nesting.nested(rows, func)
        kept = [i for i, d in enumerate(depth) if d >= 0]
        if not kept:
            return None

        def column(values: Sequence[int], kind: Any = np.int64) -> Column:
            return np.array([values[i] for i in kept], kind)

        returned = [r[5] & EVERYTHING if r[0] and len(r) == 6 else -1 for r in rows]
        known = column([value >= 0 for value in returned], np.bool_)
        value = column([max(value, 0) for value in returned], np.uint64)
        return CallColumns(
            np.arange(len(kept)),
            column([r[0] for r in rows], np.int8),
            column([r[1] for r in rows]),
            column([r[2] for r in rows]),
            column([r[3] for r in rows], np.uint64),
            column(func, np.uint64),
            column(depth),
            column(duration, np.uint64),
            value if known.any() else None,
            np.zeros(len(kept), np.uint64),
            known=known,
        )

    def told(self) -> list[str]:
        return [*self._told, *(f"LOST: {count:,} {about}" for about, count in self._lost.items())]

    def close(self) -> None:
        self._session.close()


def _nothing(e: ScriptError, pairs: Sequence[Pair]) -> UsageError:
    first = e.diagnostics[0]
    hints = [h for h in first.hints if not h.startswith("config")] or ["probescope graph --help"]
    absent = first.message.startswith(("No matches", "Probe has no valid"))
    names = ", ".join(entry.partition(":")[2] for entry, _ in pairs)
    return UsageError(
        f"there is no such function: {names}" if absent else f"nothing to trace: {first.message}", hints=hints
    )
