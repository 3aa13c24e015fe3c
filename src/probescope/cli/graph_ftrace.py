"""Calls that ftrace's function_graph records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.cli.graph import tell
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.ftrace.setup import Setup
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.recording import EventBatch
    from probescope.views.graph.others import OtherRows
    from probescope.views.graph.tree import Row


class FtraceCalls:
    """``others``: events among the calls, of the columns given last."""

    def __init__(self, args: argparse.Namespace) -> None:
        from probescope.collect.ftrace.names import Names
        from probescope.collect.ftrace.run import FtraceRun, Target

        target = Target(args.command, args.pid, args.seconds, args.all)
        self._run = FtraceRun(_setup(args), target, lambda text: tell(f"WARNING: {text}"))
        self.names = Names()
        self._others: OtherRows | None = None
        self._last: tuple[EventBatch, CallColumns] | None = None

    def begin(self) -> None:
        from probescope.formats.tracing.calls import CallReader
        from probescope.views.graph.others import OtherRows

        events = self._run.begin()
        self._reader, self._others = CallReader(events), OtherRows(events)

    def columns(self) -> Iterator[CallColumns]:
        for batch in self._run.batches():
            columns = self._reader.columns(batch)
            self._last = batch, columns
            yield columns

    def others(self) -> list[tuple[int, Row]]:
        return self._others.rows(*self._last) if self._others and self._last else []

    @property
    def exit_code(self) -> int:
        return self._run.exit_code

    def told(self) -> list[str]:
        more = "a larger -b KB, fewer functions, or --depth"
        lost = [f"LOST: {self._run.lost:,} events that the buffers had no room for: {more}"] if self._run.lost else []
        return lost + [f"WARNING: {damage.about} ({damage.count}x)" for damage in self._run.damage]

    def close(self) -> None:
        self._run.close()


def _setup(args: argparse.Namespace) -> Setup:
    from probescope.collect.ftrace.setup import EventSetup, Setup

    everything = "*" in args.roots
    if everything and not args.yes_really:
        hints = ["name functions, or add --yes-really: tracing then pauses when the machine suffers"]
        raise UsageError("tracing every function can freeze the machine", hints=hints)
    options = [
        *args.options,
        *(["funcgraph-retval"] if args.retval else []),
        *(["funcgraph-args"] if args.args else []),
    ]
    return Setup(
        tracer="function_graph",
        functions=tuple(args.only),
        graph=() if everything else tuple(args.roots),
        graph_notrace=tuple(args.notrace),
        depth=args.depth,
        events=tuple(EventSetup(name) for name in args.events),
        options=tuple(options),
        buffer_kb=args.buffer_size,
    )
