"""`ftrace stream`: events printed while they come, as `trace-cmd report` would print them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from probescope.collect.asked import processes_asked_for
from probescope.collect.ftrace.arming import reap_after
from probescope.collect.ftrace.buffers import Buffers, loss_of
from probescope.collect.ftrace.guard import Guard, Limits
from probescope.collect.ftrace.record_plan import CpuLoss, TracePlan
from probescope.errors import KernelError
from probescope.frozen import replace
from probescope.kernel import machine, tracefs
from probescope.kernel.child import Child
from probescope.kernel.host import host
from probescope.kernel.leftovers import reap
from probescope.kernel.signals import Signals
from probescope.kernel.watchdog import Watchdog

if TYPE_CHECKING:
    from probescope.collect.ftrace.live import LiveTrace
    from probescope.formats.tracing.text import Lines

LOOK_MS = 50


class Stream:
    """``pieces`` gives text until the command ends, or a signal comes. Raises what ``Buffers`` raises."""

    def __init__(
        self, plan: TracePlan, command: tuple[str, ...], only: bool, user: str, say: Callable[[str], None]
    ) -> None:
        self._signals = Signals()
        self._child: Child | None = None
        self._dog: Watchdog | None = None
        self._buffers: Buffers | None = None
        self._live: list[tuple[LiveTrace, Lines, str]] = []
        self._say, self._unlimited = say, plan.unlimited
        self.losses: tuple[CpuLoss, ...] = ()
        try:
            processes_asked_for(plan.pids)
            reap()
            self._child = Child(command, user=user) if command else None
            self._dog = Watchdog(partial(reap_after, host().getpid()))
            if only and self._child:
                plan = replace(plan, pids=(*plan.pids, self._child.pid))
            self._buffers = Buffers(plan, lambda n: tracefs.Instance(f"stream_{n}" if n else "stream").path)
            self._open(self._buffers)
        except BaseException:
            self.close()
            raise

    def _open(self, buffers: Buffers) -> None:
        from probescope.collect.ftrace.live import LiveTrace
        from probescope.formats.tracing.symbols import Context, PrintkFormats, Symbols
        from probescope.formats.tracing.text import Lines

        names = [f"{system}:{name}" for system, found in buffers.enabled.items() for name in sorted(found)]
        symbols = Symbols(machine.kallsyms().decode("utf-8", "surrogateescape"))
        self._context = Context(symbols=symbols, printk=PrintkFormats(tracefs.read("printk_formats")))
        for place in buffers.places:
            live = LiveTrace(place.base, names, machine.online_cpus())
            before = f"{place.name}: " if place.name else ""
            self._live.append((live, Lines(live.events, self._context), before))

    def pieces(self) -> Iterator[bytes]:
        buffers = self._buffers
        assert buffers is not None
        guard = Guard(lambda on: buffers.start() if on else buffers.stop(), self._say, Limits())
        buffers.start()
        if self._child:
            self._child.start()
        asked = time.monotonic()
        while not (self._signals.stop_asked or guard.gave_up or (self._child and self._child.ended())):
            wakers = [self._signals.fileno()]
            if self._child and self._child.fileno() >= 0:
                wakers.append(self._child.fileno())
            host().poll(wakers, 0 if any(live.busy for live, _, _ in self._live) else LOOK_MS)
            late, asked = max(0.0, time.monotonic() - asked - 2 * LOOK_MS / 1000), time.monotonic()
            count = 0
            for some, text in self._read():
                count += some
                yield text
            if self._unlimited:
                guard.look(count, late)
        buffers.stop()
        while True:
            rest = list(self._read())
            yield from (text for _, text in rest)
            if not rest and not any(live.busy for live, _, _ in self._live):
                break
        stats = buffers.stats(machine.online_cpus())
        self.losses = tuple(loss for p, cpu, text in stats if (loss := loss_of(p.name, cpu, text)).any)

    def _read(self) -> Iterator[tuple[int, bytes]]:
        for live, lines, before in self._live:
            batch = live.read()
            if batch is not None:
                self._learn({int(tid) for tid in set(batch.tid.tolist())})
                data = lines.data(batch)
                if before:
                    data = b"".join(before.encode() + line for line in data.splitlines(keepends=True))
                yield batch.count, data

    def _learn(self, tids: set[int]) -> None:
        """Names of threads, as the kernel keeps them: ``PID COMM`` a line."""
        comms = self._context.comms
        if tids <= comms.keys():
            return
        with suppress(KernelError):
            for line in tracefs.read("saved_cmdlines").splitlines():
                pid, _, comm = line.strip().partition(" ")
                if pid.isdigit():
                    comms[int(pid)] = comm
        for tid in tids - comms.keys() - {0}:
            comms[tid] = "<...>"
        comms[0] = "<idle>"
        for _, lines, _ in self._live:
            lines.heads.clear()

    @property
    def exit_code(self) -> int:
        if self._signals.stop_asked:
            return 128 + self._signals.stop_asked
        return self._child.exit_code() if self._child else 0

    def close(self) -> None:
        for live, _, _ in self._live:
            live.close()
        for held in (self._buffers, self._child, self._signals):
            if held is not None:
                held.close()
        if self._dog:
            self._dog.dismiss()
