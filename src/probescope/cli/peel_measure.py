"""What ``peel`` measures: a function is found on this machine, a program runs for its steps, a graph for its calls."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import of_nobody
from probescope.errors import ElfError, ProbescopeError, ScriptError, UsageError
from probescope.frozen import replace
from probescope.views.peel import panes, program
from probescope.views.peel import subject as subjects
from probescope.views.peel.program import TOGETHER, Who
from probescope.views.peel.subject import Found, Subject

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary
    from probescope.model.site import Site
    from probescope.sources.context import ResolveContext
    from probescope.views.peel.panes import Pane
    from probescope.views.span.points import Point

LOOK = 0.1
FEW = 3
"""Registers that are looked at where nothing tells how many arguments there are."""


def start(function: str, binary: str, pid: int, kernel: bool) -> Subject:
    """Where the walk begins. Raises UsageError, ElfError."""
    from probescope.views.whois.subjects import of_process, program

    if kernel and binary:
        raise UsageError("a function is of the kernel, or of a file", hints=["leave -k or -x away"])
    if binary:
        return Subject(function, program(binary).title)
    if not pid or kernel:
        return Subject(function)
    files = of_process(pid)
    for file in files:
        if file.binary.function(function) is not None or file.binary.demangled(function):
            return Subject(function, file.title)
    hints = [*files[0].binary.suggestions(function)[:1], "-k: a function of the kernel", "-x FILE: of this file"]
    raise UsageError(f"process {pid} has no function {function}", hints=hints)


def found(subject: Subject) -> Found:
    """Its probes and arguments. Raises ProbeError, ElfError, KernelError where it cannot be probed."""
    return _of_kernel(subject) if subject.kernel else _of_file(subject)


def _sites(probe: str) -> tuple[Site, list[str], ResolveContext]:
    from probescope.api import parse_probe, resolve_context
    from probescope.sources import registry

    ctx = resolve_context()
    ctx.need_fields = True
    site = registry.resolve(parse_probe(probe), ctx)[0]
    return site, registry.describe(site, ctx), ctx


def _of_kernel(subject: Subject) -> Found:
    from probescope.collect.host import HostFeatures
    from probescope.sources import registry

    features = HostFeatures()
    for way in ("fentry", "kprobe"):
        if features.state(f"attach:{way}") == "no":
            continue
        entry, back = subject.probes(way)
        try:
            site, lines, _ = _sites(entry)
        except ProbescopeError:
            if way == "kprobe":
                raise
            continue
        if site.reason and way == "fentry":
            continue
        result, declared, _ = _sites(back)
        arguments = subjects.declared(site, lines)
        return Found(subject, entry, back, arguments, subjects.returned(_field(result), declared))
    why = registry.unavailable("kprobe") or "this kernel takes no probes at its functions"
    raise UsageError(f"{subject.function}: {why}", hints=["-x FILE: a function of a program", "probescope doctor"])


def _field(site: Site) -> Any:
    return site.ret if site.ret is not None else next((f for f in site.fields if f.name == "retval"), None)


def _of_file(subject: Subject) -> Found:
    from probescope.debuginfo.binary import Binary
    from probescope.views.span.points import ends

    binary = Binary(subject.binary)
    try:
        first, last = ends(binary, subject.binary, subject.function) or (None, None)
        if first is not None and last is not None and last.probe.startswith("uprobe:"):
            return _of_go(subject, first, last)
        entry, back = subject.probes() if first is None or last is None else (first.probe, last.probe)
        return _with_arguments(subject, binary, entry, back)
    finally:
        binary.close()


def _of_go(subject: Subject, first: Point, last: Point) -> Found:
    """Arguments of Go are where its own convention has them."""
    _sites(first.probes[0])
    probe = shlex.join(["probescope", "probe", "-x", subject.binary, f"{subject.function} $params"])
    back = shlex.join(["probescope", "probe", "-x", subject.binary, f"{subject.function}%return $retval"])
    notes = (f"of Go; its arguments: {probe}", f"what it returns: {back}")
    return Found(subject, first.probe, last.probe, notes=notes, who=first.who)


def _with_arguments(subject: Subject, binary: Binary, entry: str, back: str) -> Found:
    site, lines, ctx = _sites(entry)
    result, declared, _ = _sites(back)
    known = bool(lines or declared) or _is_declared(binary, site, ctx)
    arguments = subjects.declared(site, lines) if known else _guessed(binary, site)
    returned = _result(result, declared, known=known)
    symbol = site.func if "cpp:" in entry else ""
    out = Found(subject, entry, back, arguments, returned, guessed=not known, symbol=symbol)
    return _with_calls(out, binary, site)


def _is_declared(binary: Binary, site: Site, ctx: ResolveContext) -> bool:
    """Whether debug information knows it, though it takes and returns nothing."""
    from probescope.sources.uprobe_types import program_types

    function = binary.function(site.func)
    return function is not None and program_types(ctx).debug(binary).signature(function, ctx) is not None


def _result(site: Site, declared: list[str], *, known: bool) -> subjects.Argument | None:
    """Where parameters are declared and a result is not, there is none."""
    return None if known and not declared else subjects.returned(site.ret, declared)


def _guessed(binary: Binary, site: Site) -> tuple[subjects.Argument, ...]:
    from probescope.debuginfo.guess_args import Guesser
    from probescope.views.arguments.code import BinaryCode

    if binary.elf.machine != "x86_64":
        return subjects.guessed(FEW, ())
    at = binary.elf.to_vaddr(getattr(site.attach, "offset", 0))
    try:
        guess = Guesser(BinaryCode(binary).code()).guess(at or 0)
    except ProbescopeError:
        return subjects.guessed(FEW, ())
    return subjects.guessed(guess.integers, sorted(guess.pointers))


def _with_calls(out: Found, binary: Binary, site: Site) -> Found:
    from probescope.views.peel.callees import callees

    function = binary.function(site.func)
    if function is None:
        return out
    try:
        inside, outside = callees(binary, out.subject.binary, function)
    except ElfError:
        return out
    return replace(out, calls=inside, outside=outside)


class Measuring:
    """One look at a function. ``signals``: Ctrl-C ends it with what there is by then; ``stop`` from another thread."""

    def __init__(self, who: Who, *, signals: bool = True) -> None:
        self.who, self._signals = who, signals
        self.stop = threading.Event()
        self.told: list[str] = []

    def look(self, what: Found, steps: Sequence[str]) -> list[Pane]:
        """A pane for each step, in their order. Raises what sessions and graphs raise, UsageError where the process has
        ended."""
        try:
            if not self._gone():
                return self._looked(what, steps)
        except ProbescopeError:
            if not self._gone():
                raise
        hints = ["-p PID: another one; without -p all that run the file are looked at"]
        raise UsageError(f"process {self.who.pid} has ended", hints=hints)

    def _looked(self, what: Found, steps: Sequence[str]) -> list[Pane]:
        text = program.text(what, steps)
        maps = self._maps(text) if text else {}
        out: dict[str, Pane] = {s: panes.pane(what, s, maps, self.who) for s in TOGETHER if s in steps}
        if "calls" in steps:
            out["calls"] = self._calls(what)
        if self._gone():
            self.told.append(f"process {self.who.pid} ended meanwhile")
        return [out[s] for s in steps]

    def _gone(self) -> bool:
        from probescope.kernel import procfs

        return bool(self.who.pid) and procfs.ended(self.who.pid)

    def _maps(self, text: str) -> dict[str, Any]:
        from probescope.api import Request, build
        from probescope.collect.losses import in_words
        from probescope.live import LiveSession

        command = shlex.join(self.who.command)
        request = Request(
            text, "peel", pid=self.who.pid, command=command, follow=bool(command), signals=self._signals
        )  # fmt: skip
        try:
            built = build(request)
        except ScriptError as e:
            raise of_nobody(e) from None
        with LiveSession(built) as session:
            self._wait(session)
            session.stop()
            self.told += [in_words(kind, n) for kind, n in session.lost.items() if n]
            return session.maps

    def _wait(self, session: Any) -> None:
        until = time.monotonic() + self.who.seconds if self.who.seconds else float("inf")
        often = LOOK if self.who.pid or not self._signals else 60.0
        while session.running and not self.stop.is_set() and (left := until - time.monotonic()) > 0:
            if self._gone():
                return
            session.wait(min(left, often))

    # --- calls

    def _calls(self, what: Found) -> Pane:
        from probescope.collect.graph.request import GraphRequest
        from probescope.collect.graph.ways import calls
        from probescope.formats.tracing.call_totals import CallTotals

        s, who = what.subject, self.who
        if not s.kernel and not what.calls:
            return panes.calls_pane(what, None, {}, who, "its code calls no function of this file that has a name")
        roots = (s.function,) if s.kernel else (what.root, *(c.function for c in what.calls))
        request = GraphRequest(
            roots=roots, binary=s.binary, command=who.command, pids=(who.pid,) if who.pid else (),
            seconds=who.seconds, depth=2 if s.kernel else 0, buffer_kb=4096,
        )  # fmt: skip
        totals = CallTotals()
        try:
            source = calls(request, self._session, self.told.append)
        except (ProbescopeError, OSError) as e:
            return panes.calls_pane(what, None, {}, who, str(e))
        try:
            source.begin()
            for columns, _ in source.batches():
                totals.add(columns)
            self.told += source.told()
            names = {f: source.names.function(f) for f in set(totals.func)}
        finally:
            source.close()
        return panes.calls_pane(what, totals, names, who)

    def _session(self, text: str, who: Any, sink: Any) -> Any:
        from probescope import api

        signals = who.signals and self._signals
        request = api.Request(text, "peel", command=who.command, pid=who.pid, follow=who.follow, signals=signals)
        return api.build(request).session(sink)
