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
from types import TracebackType
from typing import Any, Self

from probescope.collect.actions import Actions, Sink
from probescope.collect.event import OwnEvent
from probescope.collect.finish import Finisher
from probescope.collect.kernel_side import KernelSide
from probescope.collect.names import Names
from probescope.collect.options import SessionOptions
from probescope.collect.timers import Timers
from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.ir.program import Program
from probescope.kernel.child import Child
from probescope.kernel.host import host
from probescope.kernel.signals import Signals
from probescope.model.output import Attached, Ended, Output
from probescope.model.plan import UserRun
from probescope.plan.request import BpfPlan

POLL_MS = 20  # programs do not wake us for every record: that would cost the traced side more than it costs us to look


class Session:
    """See the module. Not thread-safe, except that ``ask_stop`` may come from anywhere."""

    def __init__(self, program: Program, plan: BpfPlan, sink: Sink, options: SessionOptions = SessionOptions()) -> None:  # noqa: B008
        self.program = program
        self.plan = plan
        self.options = options
        self._out = sink
        self._held: list[Output] | None = []  # what begin says waits until "Attached" was told
        self._stop_asked = False
        self._reason: str = "end"
        self._stopped = False
        self._start_ns = 0
        self._child = Child(options.command) if options.command else None
        self.kernel = KernelSide(program, plan, options, self._child.pid if self._child else 0) if plan.units else None
        self._memory = None if self.kernel else MemoryStore(program)
        self._user = [s for s in plan.plan.steps if isinstance(s, UserRun)]
        self._signals = Signals(usr1=any(s.when == "signal" for s in self._user))

    # --- phases
    # ---------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        if self.kernel:
            self.kernel.prepare()
        maps: Any = self.kernel.store if self.kernel else _MemoryMaps(self._memory)
        store: Any = self.kernel.store if self.kernel else self._memory
        self.names = Names(self.program, self.kernel)
        self._finisher = Finisher(self.program, self.names, self.names, types=self.program.types)
        self.actions = Actions(self.program, maps, self._finisher, self._say, unsafe=self.options.unsafe)
        self._machine = Machine(self.program, store, self.actions.perform, types=self.program.types)
        self._timers = Timers([s for s in self._user if s.when == "interval"])
        if self.kernel:
            self.kernel.reader(self.actions, texts=self.options.texts)

    def load(self) -> None:
        if self.kernel:
            self.kernel.load()

    def attach(self) -> None:
        """Runs ``begin`` and attaches, unless begin asked for the end already."""
        self._start_ns = time.clock_gettime_ns(7)
        self._run_user("begin")
        if self.kernel and not self.actions.exit.asked:
            self.names.start()
            self.kernel.attach()

    def activate(self) -> None:
        """From here on probes count. Tells how many there are."""
        self._start_ns = time.clock_gettime_ns(7)
        if self.kernel and not self.actions.exit.asked:
            self.kernel.activate(self._start_ns)
        self._out(Attached(self.plan.plan.probes))
        held, self._held = self._held or [], None
        for output in held:
            self._out(output)
        if self._child and not self.actions.exit.asked:
            self._child.start()
        self._timers.start()

    def poll(self, timeout_ms: int = POLL_MS) -> bool:
        """Waits a little, acts on what came. False when the session should stop."""
        if self._over():
            return False
        busy = self.kernel.consume() if self.kernel else False
        if not busy and not self._over():
            self._wait(min(timeout_ms, self._timers.wait_ms(timeout_ms)))
        for step in self._timers.due():
            if self.actions.exit.asked:
                break
            self._run_step(step)
        self._fire_signals()
        return not self._over()

    def stop(self) -> int:
        """Ends the program; gives the exit code that it asked for."""
        if self._stopped:
            return self.actions.exit.code
        self._stopped = True
        if self.kernel:
            self.kernel.stop()
        self._run_user("end")
        if self.kernel:
            self.kernel.run_end()
        if self.program.settings.print_maps_at_exit:
            self._print_maps()
        if self.kernel:
            for lost in self.kernel.losses(everything=self.options.everything):
                self._out(lost)
        self._out(Ended(self.actions.exit.code, self._reason))  # type: ignore[arg-type]
        return self.actions.exit.code

    def close(self) -> None:
        if self.kernel:
            self.kernel.close()
        if hasattr(self, "names"):
            self.names.close()
        if self._child:
            self._child.close()
        self._signals.close()

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
            while self.poll(POLL_MS if self.kernel else 1000):
                pass
            return self.stop()
        finally:
            self.close()

    def ask_stop(self) -> None:
        self._stop_asked = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- inside
    # ---------------------------------------------------------------------------------------------------------

    def _say(self, output: Output) -> None:
        if self._held is not None:
            self._held.append(output)
        else:
            self._out(output)

    def _over(self) -> bool:
        if self.actions.exit.asked:
            self._reason = "exit"
        elif self._signals.stop_asked or self._stop_asked:
            self._reason = "signal"
        elif self._child is not None and self._child.ended():
            self._reason = "child"
        elif not self._has_more():
            self._reason = "end"
        else:
            return False
        return True

    def _has_more(self) -> bool:
        """Whether anything can still happen: a program of begin and end alone is over after begin."""
        return (self.kernel is not None and self.kernel.live()) or any(
            s.when in ("interval", "signal") for s in self._user
        )

    def _wait(self, timeout_ms: int) -> None:
        fds = [self._signals.fileno()]
        if self._child is not None:
            fds.append(self._child.fileno())
        host().poll(fds, max(0, timeout_ms))
        self._signals.drain()

    def _run_user(self, when: str) -> None:
        for step in self._user:
            if step.when == when and not (when == "begin" and self.actions.exit.asked):
                self._run_step(step)
        if self.kernel and when == "begin":
            self.kernel.run_begin()

    def _run_step(self, step: UserRun) -> None:
        cpid = self._child.pid if self._child else 0
        self._machine.run(step.clause, OwnEvent(step.site, self._start_ns, cpid))

    def _fire_signals(self) -> None:
        fired, self._signals.fired = self._signals.fired, []
        for name in fired:
            for step in self._user:
                if step.when == "signal" and step.name == name:
                    self._run_step(step)

    def _print_maps(self) -> None:
        for decl in self.program.maps:
            out = self.actions.map_output(decl.name, final=True)
            if out.items:
                self._out(out)


class _MemoryMaps:
    """``MapReader`` over a MemoryStore."""

    def __init__(self, store: MemoryStore | None) -> None:
        assert store is not None
        self._store = store

    def snapshot(self, name: str) -> list[tuple[Any, Any]]:
        return list(self._store.state(name).items())

    def clear(self, name: str) -> None:
        self._store.clear(name)

    def zero(self, name: str) -> None:
        self._store.zero(name)
