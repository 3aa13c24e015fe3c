"""Sampling for ``top``: gathers between looks, in the thread that calls it."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.cli.annotate import Listing
from probescope.collect.sampler import Sampler
from probescope.views.annotate.listing import Look
from probescope.views.top.profile import Profile
from probescope.views.top.text import about

if TYPE_CHECKING:
    from probescope.collect.recorded.told import Told
    from probescope.views.top.profile import Snapshot, View

POLL = 0.1
"""Seconds between looks into the rings, which are read as they fill."""


class Live:
    """``words``: what to sample, as arguments of ``record``. Raises UsageError, KernelError."""

    def __init__(self, args: Namespace, words: list[str], delay: float) -> None:
        from probescope.cli.record import parse_arguments
        from probescope.cli.record_request import request
        from probescope.kernel.machine import online_cpus

        self.notes: list[str] = []
        self.paused = False
        self._slow = True
        asked = request(parse_arguments(words), words, self.notes.append)
        self.delay = delay
        self.request = asked
        self._sampler = Sampler(asked)
        self.notes += self._sampler.notes
        self.events = tuple(e.name for e in self._sampler.events)
        stacks = any("callchain" in e.sampled for e in self._sampler.events)
        self.profile = Profile(self._sampler.told, len(self.events), stacks=stacks, zero=args.zero)
        self._look = Look(args.disassembler_style, args.source, args.asm_raw)
        self._vmlinux = args.vmlinux
        self._listing: tuple[Told, Listing] | None = None
        self._renewed = 0
        s = asked.sampling
        self._pace = f"every {s.period:,}" if s.period else f"{s.frequency or 4000:,} Hz"
        self._cpus = len(asked.cpus or online_cpus())

    def start(self) -> None:
        self._sampler.start()

    @property
    def over(self) -> bool:
        return self._sampler.over

    def gather(self, stop: Callable[[], bool]) -> None:
        """For ``delay`` seconds, or until ``stop``."""
        end = time.monotonic() + self.delay
        while not stop() and not self._sampler.over:
            left = end - time.monotonic()
            self._sampler.wait(min(max(left, 0), POLL))
            self.poll()
            if left <= 0:
                return

    def poll(self) -> None:
        batches = list(self._sampler.take())
        if self._sampler.renewed != self._renewed:
            self._renewed = self._sampler.renewed
            self.profile.renew(self._sampler.told)
        if not self.paused:
            self.profile.add(batches)

    def snapshot(self, view: View, most: int) -> Snapshot:
        """Where working it out takes long, nothing is sampled meanwhile: or each look had more to do than the last."""
        if self._slow:
            self._sampler.pause()
        begun = time.monotonic()
        try:
            return self.profile.snapshot(view, most, self._sampler.lost())
        finally:
            if self._slow:
                self._sampler.start()
            self._slow = time.monotonic() - begun > self.delay / 2

    def annotated(self, view: View, symbol: str, module: str) -> str:
        """The code of a function with the weights that its instructions have by now; or why it cannot be shown.
        ``symbol`` as rows have it: ``[k] schedule``."""
        from probescope.errors import ProbescopeError
        from probescope.views.code import Code

        name = symbol.partition("] ")[2] or symbol
        function = self.profile.function(view, name, module, Code())
        if function is None:
            return f"no samples are known of instructions of {name}"
        if self._listing is None or self._listing[0] is not self._sampler.told:
            self._listing = self._sampler.told, Listing(self._sampler.told, {}, self._look, self._vmlinux)
        try:
            return "".join(self._listing[1].text(function, self.events[view.event]))
        except (ProbescopeError, OSError) as e:
            return f"{name}: {e}"

    def fade(self) -> None:
        self.profile.fade()

    def about(self, snapshot: Snapshot, view: View) -> str:
        return about(self.events[view.event], self._pace, self._cpus, snapshot, view.zoom)

    def close(self) -> None:
        self._sampler.stop()
        self._sampler.close()
