"""A session: one program on this machine, from its plan to its last line.

    prepare   plan it, compile it, create its maps               nothing is loaded
    load      programs go into the kernel                        nothing fires
    attach    links are made; programs look at a gate and leave  nothing is counted
    activate  the gate opens; begin has run
    poll      what came is read and acted on
    stop      the gate closes, links go, the rest is read, end runs, maps are printed, losses are told
    close     nothing of us is left

``run`` does all of it. Every step can fail; ``close`` undoes whatever there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from probescope.collect.actions import Actions, Sink
from probescope.collect.clauses import OwnClauses
from probescope.collect.ending import Ending
from probescope.collect.event import OwnEvent
from probescope.collect.finish import Finisher
from probescope.collect.kernel_side import KernelSide
from probescope.collect.names import Names
from probescope.collect.options import SessionOptions
from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.frozen import replace
from probescope.ir.program import Program
from probescope.kernel.host import host
from probescope.model.output import Attached, Ended, Lost, Output, Warned
from probescope.model.plan import RunOnce
from probescope.model.visible import unchanged, visible
from probescope.plan.request import BpfPlan

if TYPE_CHECKING:
    from probescope.collect.side import NameSource, Side
    from probescope.model.recording import Recording
    from probescope.plan.events import StreamPlan

POLL_MS = 20
"""Programs do not wake us for every record: that would cost the traced side more than it costs us to look."""
IDLE_MS = 1000
"""Where nothing can come out of a ring, only signals, children and timers are waited for: they wake us themselves."""
_BOOTTIME = 7


class Session:
    """See the module. Not thread-safe, except that ``ask_stop`` may come from anywhere."""

    def __init__(
        self,
        program: Program,
        plan: BpfPlan | StreamPlan,
        sink: Sink,
        options: SessionOptions = SessionOptions(),  # noqa: B008
        recording: Recording | None = None,
    ) -> None:
        """``recording``: what answers, where the plan is to read one; it is closed at the end."""
        self.program = program
        self.plan = plan
        self.options = options
        self._out = sink
        self._held: list[Output] | None = []  # what begin says waits until "Attached" was told
        self._stopped = False
        self._start_ns = 0
        self.ending = Ending(options if recording is None else replace(options, pid=0), plan.plan)
        self.kernel = _kernel_side(program, plan, options, self.ending.child_pid)
        self._side: Side | None = self.kernel or _stream_side(program, plan, options, recording, self.ending.child_pid)
        self._memory = None if self._side else MemoryStore(program)

    # --- phases
    # ---------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        if self._side:
            self._side.prepare()
        maps, store = self._stores()
        self.names: NameSource = self._side.names() if self._side else Names(self.program, None)
        clean = visible if self.options.terminal else unchanged
        self._finisher = Finisher(self.program, self.names, self.names, types=self.program.types, clean=clean)
        if self._side and self._side.wall_offset is not None:
            self._finisher.set_clock(self._side.wall_offset)
        self.actions = Actions(self.program, maps, self._finisher, self._say, unsafe=self.options.unsafe)
        self.actions.hurry = self.ending.asked
        machine = Machine(self.program, store, self.actions.perform, types=self.program.types)
        self._clauses = OwnClauses(
            self.plan,
            machine,
            self.actions,
            self.kernel,
            self._side.own_event if self._side else lambda site, start: OwnEvent(site, start, self.ending.child_pid),
            by_clock=self._side is None or self._side.by_clock,
        )
        if self._side and self.options.follow:
            self.ending.others_live = self._side.others_live
        if self._side:
            self._side.wire(self.actions, machine, texts=self.options.texts)

    def load(self) -> None:
        if self._side:
            self._side.load()

    def attach(self) -> None:
        """Runs ``begin`` and attaches, unless begin asked for the end already."""
        self._start_ns = time.clock_gettime_ns(_BOOTTIME)
        if not self.options.rehearsal:
            self._clauses.run("begin", self._start_ns, self._asked)
        if self._side and not self._asked():
            self.names.start(0 if self.options.follow else self.options.pid, self.options.unwind_pids)
            self._side.attach(self.ending.asked)

    def activate(self) -> None:
        """From here on probes count. Tells how many there are, and then what begin said."""
        self._start_ns = time.clock_gettime_ns(_BOOTTIME)
        if self._side and not self._asked():
            self._side.activate(self._start_ns)
        failures = self._side.failures if self._side else []
        for failure in failures:
            if failure.warning:
                self._out(Warned(failure.warning))
        again = sum(len(c.sites) - len({s.name for s in c.sites}) for c in self.program.clauses)  # places of one name
        mine = self.plan.plan.probes - self.program.own_sites - again
        if not self.options.mode:
            self._out(Attached(mine - sum(len(f.sites) for f in failures)))
        held, self._held = self._held or [], None
        for output in held:
            self._out(output)
        if not self._asked():
            self.ending.let_go(self.names.preparation(self.ending.child_pid))
        self._clauses.start()

    def poll(self, timeout_ms: int = IDLE_MS) -> bool:
        """Waits a little, acts on what came. False when the session should stop."""
        if self._over():
            return False
        busy = self._side.consume() if self._side else False
        busy = self.names.poll() or busy
        if not busy and not self._over():
            self._wait(timeout_ms)
        self._clauses.run_due(self._start_ns, self._asked)
        for name in self.ending.fired():
            self._clauses.run("signal", self._start_ns, self._asked, name)
        self._tell_losses(final=False)
        return not self._over()

    def trials(self) -> int:
        """Runs the probes of ``options.mode``; 1 if one failed."""
        from probescope.collect.trials import Trials

        if self.kernel is None:
            return 0
        steps = [s for s in self.plan.plan.steps if isinstance(s, RunOnce)]
        return Trials(steps, self.kernel, self.actions, self._capture, self._out).run()

    def stop(self) -> int:
        """Ends the program; gives the exit code that it asked for. The answer is complete then; ``close``, which may
        take longer, tidies up."""
        if self._stopped:
            return self.actions.exit.code
        self._stopped = True
        if self._side:
            self._side.stop()
        self.names.poll()
        self.actions.exit.muted = False
        self.actions.hurry = lambda: False  # what the end itself asks for is done, however long it takes
        self._clauses.run("end", self._start_ns, lambda: self.actions.exit.muted)
        if self.program.settings.print_maps_at_exit and not self.options.mode:
            self._print_maps()
        self._tell_losses(final=True)
        self._out(Ended(self.actions.exit.code, self.ending.reason))
        return self.actions.exit.code

    def close(self) -> None:
        if hasattr(self, "names"):
            self.names.close()  # first: it writes into the kernel's maps
        if self._side:
            self._side.close()
        self.ending.close()

    # --- the whole
    # ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """prepare, load, attach, activate."""
        self.prepare()
        self.load()
        self.attach()
        self.activate()

    def run(self) -> int:
        """All phases; the exit code."""
        try:
            self.start()
            while self.poll():
                pass
            return self.stop()
        finally:
            self.close()

    def columnar(self) -> bool:
        """From now on what events print comes as ``Batch``; whether there are events at all."""
        if self._side is not None:
            self._side.columnar()
        return self._side is not None

    def ask_stop(self) -> None:
        """Ends the session at its next look; from any thread, and from signal handlers."""
        self.ending.ask()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- inside
    # ---------------------------------------------------------------------------------------------------------

    def _stores(self) -> tuple[Any, Any]:
        """What printing and clearing see of the maps, and what evaluated clauses do."""
        if self._side:
            return self._side.maps, self._side.store
        from probescope.collect.memory import MemoryMaps

        assert self._memory is not None
        return MemoryMaps(self._memory), self._memory

    def _say(self, output: Output) -> None:
        if self._held is not None:
            self._held.append(output)
        else:
            self._out(output)

    def _capture(self, run: Callable[[], None]) -> list[Output]:
        """What is said meanwhile."""
        said: list[Output] = []
        self._held = said
        try:
            run()
            self.actions.flush()
        finally:
            self._held = None
        return said

    def _asked(self) -> bool:
        """Whether the program itself asked for the end."""
        return self.actions.exit.asked

    def _over(self) -> bool:
        if self.actions.exit.asked and not (self._side and self._side.walking and not self.ending.asked()):
            self.ending.reason = "exit"
            return True
        return self.ending.over(more=self._clauses.waiting or (self._side is not None and self._side.live()))

    def _wait(self, timeout_ms: int) -> None:
        looks = self.names.follows or self.ending.blind or (self._side is not None and self._side.busy)
        most = min(timeout_ms, POLL_MS if looks else IDLE_MS)
        host().poll(self.ending.filenos(), self._clauses.wait_ms(most))
        self.ending.drain()

    def _print_maps(self) -> None:
        for decl in sorted(self.program.shown_maps, key=lambda m: m.name):
            out = self.actions.map_output(decl.name, final=True)
            if out.items:
                self._out(out)

    def _tell_losses(self, *, final: bool) -> None:
        if self._side:
            for lost in self._side.losses(final=final):
                self._out(lost)
        if final and self.actions.dropped:
            about = "commands were not run: the session was asked to end before their turn came"
            self._out(Lost("commands", self.actions.dropped, about, "let system() be reached less often"))
        if final:
            for lost in (*self._clauses.losses(everything=self.options.everything), *self.names.losses()):
                self._out(lost)


def _kernel_side(program: Program, plan: BpfPlan | StreamPlan, options: SessionOptions, cpid: int) -> KernelSide | None:
    return KernelSide(program, plan, options, cpid) if isinstance(plan, BpfPlan) and plan.units else None


def _stream_side(
    program: Program, plan: BpfPlan | StreamPlan, options: SessionOptions, recording: Recording | None, cpid: int
) -> Side | None:
    if isinstance(plan, BpfPlan):
        return None
    if recording is not None:
        from probescope.collect.stream.replay import ReplaySide

        return ReplaySide(program, plan, options, recording)
    if plan.plan.collector == "ftrace":
        from probescope.collect.stream.ftrace import FtraceSide

        return FtraceSide(program, plan, options, cpid)
    from probescope.collect.stream.perf import PerfSide

    return PerfSide(program, plan, options, cpid)
