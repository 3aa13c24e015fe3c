"""Calls that ftrace's function_graph records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.collect.ftrace.names import Names
from probescope.collect.ftrace.run import FtraceRun, Target
from probescope.collect.ftrace.setup import EventSetup, Setup
from probescope.collect.graph import functions
from probescope.collect.graph.request import ARGS
from probescope.formats.tracing.graph import ENTRIES, EXIT
from probescope.frozen import replace
from probescope.kernel import tracefs
from probescope.kernel.host import host

if TYPE_CHECKING:
    from probescope.collect.graph.kept import Kept
    from probescope.collect.graph.request import GraphRequest
    from probescope.formats.tracing.calls import CallColumns, CallReader
    from probescope.model.recording import EventBatch, EventType


class TracedCalls:
    """``Calls``. ``roots``: patterns as the kernel takes them; empty: all functions. ``say``: what a person is to know
    at once. ``looks`` is for who merges it with another stream. Raises what ``FtraceRun`` raises."""

    def __init__(self, request: GraphRequest, roots: tuple[str, ...], say: Callable[[str], None]) -> None:
        if ARGS in request.options and not host().exists(f"{tracefs.find_root()}/options/{ARGS}"):
            say("this kernel does not record what functions are given: it has no CONFIG_FUNCTION_TRACE_ARGS (6.15)")
            request = replace(request, options=tuple(o for o in request.options if o != ARGS))
        self.request, self._say = request, say
        self.names = Names()
        self.events: tuple[EventType, ...] = ()
        self.ret = False
        self._kept: Kept | None = None
        if request.keep:
            from probescope.collect.graph.kept import Kept

            self._kept = Kept(request.keep)
        target = Target(request.command, request.pids, request.seconds, request.everybody)
        keep = self._kept.take if self._kept else None
        self.run = FtraceRun(_setup(request, roots), target, say, keep=keep)
        self._reader: CallReader | None = None

    def begin(self) -> None:
        from probescope.formats.tracing.calls import CallReader

        self.events = self.run.begin()
        self._reader = CallReader(self.events)
        fields = {f.name for e in self.events if e.name in (*ENTRIES, EXIT) for f in e.fields}
        self.ret = bool(fields & {"args", "retaddr"})
        if self.request.retval and "retval" not in fields:
            self._say("this kernel does not record what functions return: it has no CONFIG_FUNCTION_GRAPH_RETVAL")

    def looks(self) -> Iterator[tuple[int, CallColumns | None, EventBatch | None]]:
        """(time in ns before which all was given by now, what was new)."""
        assert self._reader is not None
        for until, batch in self.run.looks():
            yield until, self._reader.columns(batch) if batch is not None else None, batch
        if self._kept:
            self._kept.write(self.run.base, self.request.events)

    def batches(self) -> Iterator[tuple[CallColumns, EventBatch | None]]:
        for _, columns, batch in self.looks():
            if columns is not None:
                yield columns, batch

    @property
    def exit_code(self) -> int:
        return self.run.exit_code

    def told(self) -> list[str]:
        more = "a larger -b KB, fewer functions, or --depth"
        lost = [f"LOST: {self.run.lost:,} events that the buffers had no room for: {more}"] if self.run.lost else []
        kept = [f"wrote {self._kept.path} ({self._kept.size:,} bytes)"] if self._kept and self._kept.size else []
        return lost + [f"WARNING: {damage.about} ({damage.count}x)" for damage in self.run.damage] + kept

    def close(self) -> None:
        self.run.close()
        if self._kept:
            self._kept.close()


def _setup(r: GraphRequest, roots: tuple[str, ...]) -> Setup:
    graph, notrace = functions.named(roots), functions.named(r.notrace)
    only = functions.named(r.only)
    if r.depth == 1 and graph and not only and not notrace:
        only = tuple(name for name in graph if not name.startswith("!"))  # nothing else is seen, and it costs much less
    return Setup(
        tracer="function_graph",
        functions=only,
        graph=graph,
        graph_notrace=notrace,
        depth=r.depth,
        threshold_us=r.threshold_us,
        events=tuple(EventSetup(name) for name in r.events),
        options=r.options,
        buffer_kb=r.buffer_kb,
    )
