"""Graphs of functions that are probed one by one: of programs, by uprobes; of the kernel, where it has no
function_graph, by fentry or kprobes. A program in the tracing language sends an event for each entry and return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from probescope.errors import ScriptError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.session import Session
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.output import Output
    from probescope.views.graph.tree import Row

SENT = 'printf("%d %d %d %llu %s", {kind}, cpu, tid, nsecs, probe);'
LOOK_MS = 50
MOST_DEPTH = 256
_WAYS = (("uprobe", "uretprobe"), ("fentry", "fexit"), ("kprobe", "kretprobe"))


def program(pairs: Sequence[tuple[str, str]]) -> str:
    """The program's text, for (probe at the entry, probe at the return)."""
    entries, returns = (",\n".join(side) for side in zip(*pairs, strict=True))
    return f"{entries} {{ {SENT.format(kind=0)} }}\n{returns} {{ {SENT.format(kind=1)} }}"


def user_pairs(path: str, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Names of C++ and Rust are those that people write."""
    named = [f'cpp:"{p}"' if "::" in p else p for p in patterns]
    return [(f"uprobe:{path}:{p}", f"uretprobe:{path}:{p}") for p in named]


def kernel_pairs(way: str, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """``way``: fentry or kprobe."""
    entry, back = next(w for w in _WAYS if w[0] == way)
    return [(f"{entry}:{p}", f"{back}:{p}") for p in patterns]


class ProbedCalls:
    """As ``FtraceCalls``. ``command`` is quoted as for a shell."""

    def __init__(self, pairs: Sequence[tuple[str, str]], command: Sequence[str], pid: int, seconds: float) -> None:
        import shlex

        from probescope import api

        self._seconds = seconds
        request = api.Request(program(pairs), "graph", command=shlex.join(command), pid=pid, signals=True)
        try:
            built = api.build(request)
        except ScriptError as e:  # of a program that nobody wrote
            first = e.diagnostics[0]
            hints = [h for h in first.hints if not h.startswith("config")] or ["probescope graph --help"]
            absent = first.message.startswith(("No matches", "Probe has no valid"))
            what = _none(pairs) if absent else f"nothing to trace: {first.message}"
            raise UsageError(what, hints=hints) from e
        self._rows: list[tuple[Any, ...]] = []
        self._told: list[str] = []
        self._session: Session = built.session(self._take)
        self.names = ProbedNames()
        self._depth: dict[int, list[tuple[int, int]]] = {}
        self.lost = 0
        self.exit_code = 0

    def _take(self, output: Output) -> None:
        from probescope.model.output import Lost, Text, Warned

        match output:
            case Text(values=values) if len(values) == 5:
                self._rows.append(values)
            case Lost(count=count, about=about):
                self.lost += count
                self._told.append(f"LOST: {count:,} {about}")
            case Warned(diagnostic=d):
                self._told.append(f"WARNING: {d.message}")
            case _:
                pass

    def begin(self) -> None:
        self._session.start()

    def columns(self) -> Iterator[CallColumns]:
        import time

        until = time.monotonic() + self._seconds if self._seconds else float("inf")
        while self._session.poll(LOOK_MS) and time.monotonic() < until:
            yield from self._taken()
        self._session.stop()
        self.exit_code = self._session.ending.child_code
        yield from self._taken()

    def _taken(self) -> Iterator[CallColumns]:
        rows, self._rows = self._rows, []
        if rows:
            yield self._made(rows)

    def _made(self, rows: list[tuple[Any, ...]]) -> CallColumns:
        import numpy as np

        from probescope.formats.tracing.calls import CallColumns

        kind = np.array([r[0] for r in rows], np.int8)
        func = [self.names.number(r[4]) for r in rows]
        depth, duration = self._nested(rows, func)
        column = _column(np)
        none = np.zeros(len(rows), np.uint64)
        return CallColumns(
            np.arange(len(rows)),
            kind,
            column([r[1] for r in rows]),
            column([r[2] for r in rows]),
            column([r[3] for r in rows]).astype(np.uint64),
            column(func).astype(np.uint64),
            column(depth),
            column(duration).astype(np.uint64),
            None,
            none,
        )

    def _nested(self, rows: list[tuple[Any, ...]], funcs: list[int]) -> tuple[list[int], list[int]]:
        """Depth of each row, and ns of each return. A return closes the innermost call of its function; those inside
        of that never returned (longjmp, an exception)."""
        depth: list[int] = []
        duration: list[int] = []
        for (kind, _, tid, time, _), func in zip(rows, funcs, strict=True):
            open_ = self._depth.setdefault(tid, [])
            if not kind:
                depth.append(min(len(open_), MOST_DEPTH))
                duration.append(0)
                open_.append((func, time))
                continue
            at = next((i for i in range(len(open_) - 1, -1, -1) if open_[i][0] == func), -1)
            depth.append(min(max(at, 0), MOST_DEPTH))
            duration.append(time - open_[at][1] if at >= 0 else 0)
            if at >= 0:
                del open_[at:]
        return depth, duration

    def others(self) -> list[tuple[int, Row]]:
        return []

    def told(self) -> list[str]:
        return self._told

    def close(self) -> None:
        self._session.close()


def _column(numpy: Any) -> Any:
    def column(values: list[int]) -> np.ndarray[Any, Any]:
        return numpy.array(values, numpy.int64)  # type: ignore[no-any-return]

    return column


def _none(pairs: Sequence[tuple[str, str]]) -> str:
    return f"there is no such function: {', '.join(entry.partition(':')[2] for entry, _ in pairs)}"


def _short(probe: str) -> str:
    """The function's name, as people read it: without parameters."""
    from probescope.debuginfo.demangle import demangle, without_parameters

    name = probe.split(":", 2)[-1].removeprefix("cpp:").strip('"')
    return without_parameters(demangle(name))


class ProbedNames:
    """Functions by the numbers that we give them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = [""]
        self._comms: dict[int, str] = {}

    def number(self, probe: str) -> int:
        found = self._numbers.get(probe)
        if found is None:
            name = _short(probe)
            found = self._numbers.get(name, 0)
            if not found:
                found = self._numbers[name] = len(self._names)
                self._names.append(name)
            self._numbers[probe] = found
        return found

    def function(self, number: int) -> str:
        return self._names[number]

    def interrupts(self) -> tuple[int, int]:
        return 0, 0

    def learn(self, tids: set[int]) -> None:
        from probescope.kernel.procfs import comm

        for tid in tids - self._comms.keys():
            self._comms[tid] = comm(tid) or "<...>"

    def comm(self, tid: int) -> str:
        return self._comms.get(tid, "<...>")


def kernel_way(patterns: Sequence[str]) -> str:
    """What can trace functions of this kernel one by one. Raises UsageError where nothing can."""
    from probescope.collect.host import HostFeatures

    features = HostFeatures()
    for way in ("fentry", "kprobe"):
        if features.state(f"attach:{way}") == "yes":
            return way
    what = f"this kernel has no function_graph, fentry or kprobes: {', '.join(patterns)} cannot be traced"
    hints = [
        "functions of programs can be traced: probescope graph -x PROGRAM 'parse_*' -- PROGRAM",
        "probescope doctor",
    ]
    raise UsageError(what, hints=hints)
