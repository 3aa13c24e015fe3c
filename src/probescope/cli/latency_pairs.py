"""From A to B: which way it is measured, what is shown of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from probescope.errors import ProbescopeError, SessionError, UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.latency.definition import Definition
    from probescope.model.latency import Asked, End, Pairs
    from probescope.model.output import Batch, Lost
    from probescope.views.latency.totals import Totals


def measure(words: str, args: argparse.Namespace) -> int:
    from probescope.collect.latency.words import of_the_woken, parse

    asked = parse(words, args.match, args.by, stack=args.stack)
    if args.synth is not None:
        return _show_definition(asked, args.synth)
    if args.input and (args.command or args.seconds or args.via != "auto"):
        raise UsageError("-i reads what has happened: no command, --seconds or --via goes with it")
    woken = "" if args.match else of_the_woken(asked)
    if woken:
        _tell(f"HINT: pairs are of the thread in which both happen, here the waker: {woken} has those of the woken")
    found, why = (None, "") if args.input or args.via in {"bpf", "perf", "ftrace"} else _definition(asked)
    if found is None and args.via == "synthetic":
        raise SessionError(f"the kernel cannot measure this by itself: {why}", hints=["--via bpf"])
    shown = _Shown(asked, args)
    if found is not None:
        _tell("measured by the kernel: synthetic events")
        return _by_synthetic(asked, found, args, shown)
    return _by_program(asked, args, shown, why)


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


# --- in the kernel


def _definition(asked: Asked) -> tuple[Definition | None, str]:
    """The kernel's own words for it, or why there are none."""
    from probescope.collect.latency.definition import Impossible, define
    from probescope.collect.latency.synthetic import described
    from probescope.kernel import tracefs
    from probescope.kernel.features import have

    if not (asked.start.event and asked.end.event):
        return None, "only tracepoints have hist triggers"
    try:
        if not tracefs.writable():
            return None, "tracefs cannot be written"
        if have("ftrace:hist") is not True or have("ftrace:synthetic_events") is not True:
            return None, "it has no synthetic events"
        filters = (_filter(asked.start), _filter(asked.end))
        return define(asked, described(asked.start.event), described(asked.end.event), filters), ""
    except Impossible as e:
        return None, str(e)


def _filter(side: End) -> str | None:
    """The predicate as the kernel's filter; ``None`` where it says more."""
    if not side.predicate:
        return ""
    from probescope.api import Request
    from probescope.front import lower
    from probescope.plan.filters import filtered

    text = f"{side.probe} /{side.predicate}/ {{ @ = count(); }}"
    clause = lower(Request(text, name="the predicate", attaches=False))[0].clauses[0]
    found = filtered(clause.predicate, clause.sites[0])
    return found.text if found.whole else None


def _show_definition(asked: Asked, name: str) -> int:
    from probescope.collect.latency.definition import shell
    from probescope.kernel import tracefs

    if not name.isidentifier():
        raise UsageError(f"{name} is no name for an event")
    found, why = _definition(asked)
    if found is None:
        raise SessionError(f"the kernel cannot measure this by itself: {why}")
    sys.stdout.writelines(f"{line}\n" for line in shell(found, name, tracefs.find_root()))
    return 0


LOOK_MS = 50


def _by_synthetic(asked: Asked, found: Definition, args: argparse.Namespace, shown: _Shown) -> int:
    from probescope.collect.ftrace.meanwhile import Meanwhile
    from probescope.collect.latency.synthetic import SyntheticPairs

    with Meanwhile(args.command, args.seconds) as meanwhile:
        source = SyntheticPairs(asked, found)
        try:
            source.start()
            meanwhile.go()
            going = True
            while going:
                going = meanwhile.wait(LOOK_MS)
                pairs = source.take()
                if pairs is not None:
                    shown.add(pairs)
            source.stop()
            for pairs in source.rest():
                shown.add(pairs)
            losses = list(source.losses())
        finally:
            source.close()
        shown.end(losses)
    return 0


# --- as a program


def _by_program(asked: Asked, args: argparse.Namespace, shown: _Shown, why: str) -> int:
    from probescope.api import Request, build
    from probescope.collect.latency.program import program
    from probescope.live import LiveSession

    fields = _recorded_fields(args.input) if args.input else _fields
    text = program(asked, fields)
    via: Literal["auto", "bpf", "perf", "ftrace"] = "auto" if args.via in {"auto", "synthetic"} else args.via
    built = build(Request(text, name="latency", input=args.input, command=_quoted(args.command), via=via, signals=True))
    by = built.plan.plan.collector
    if not args.input:
        _tell(f"measured via {by}" + (f" (the kernel itself cannot: {why})" if why else ""))
    with LiveSession(built) as session:
        for batch in session.batches(args.seconds or None):
            shown.add(_pairs(batch, asked))
        session.stop()
    shown.end([_lost(o) for o in session.losses.values()])
    return 0


_LESS = "'A /args.FIELD > 1/ to B' is about fewer of them: a start that no end matches stays to the end"


def _lost(o: Lost) -> str:
    """What a program could change is no help here."""
    hint = _LESS if o.kind in {"map_full", "ring_full"} else o.hint
    return f"{o.count:,} {o.about}" + (f"\nHINT: {hint}" if hint else "")


def _quoted(command: tuple[str, ...]) -> str:
    import shlex

    return shlex.join(command)


def _fields(event: str) -> list[str]:
    from probescope.collect.latency.synthetic import described

    return [f.name for f in described(event).fields]


def _recorded_fields(path: str) -> Callable[[str], list[str]]:
    from probescope.diagnostics import nearest
    from probescope.formats.sniff import open_recording

    with open_recording(path) as recording:
        known = {e.name: [f.name for f in e.fields] for e in recording.events}

    def fields(event: str) -> list[str]:
        if event not in known:
            near = nearest(event, list(known))
            hints = [f"did you mean {' or '.join(near)}?"] if near else [f"it has {', '.join(sorted(known)[:10])}"]
            raise SessionError(f"{path} has no event {event}", hints=hints)
        return known[event]

    return fields


def _pairs(batch: Batch, asked: Asked) -> Pairs:
    import numpy as np

    from probescope.model.latency import Pairs

    c = batch.columns
    by = tuple(c[f"by{i}"].astype(object) for i in range(len(asked.by)))
    stack = c["stack"] if asked.stack else None
    return Pairs(c["time"], c["latency"].astype(np.uint64), c["cpu"], c["tid"], c["comm"].astype(object), by, stack)


# --- what is shown


class _Shown:
    def __init__(self, asked: Asked, args: argparse.Namespace) -> None:
        from probescope.views.latency.totals import Totals

        self._args, self._names = args, [str(b) for b in asked.by]
        self._totals: Totals = Totals(max(0, args.worst))

    def add(self, pairs: Pairs) -> None:
        self._totals.add(pairs)
        if self._args.over:
            self._over(pairs)

    def _over(self, pairs: Pairs) -> None:
        import numpy as np

        from probescope.views.latency import text
        from probescope.views.latency.totals import cases

        for case in cases(pairs, np.flatnonzero(pairs.latency > np.uint64(self._args.over))):
            if self._args.format == "json":
                self._write([json.dumps(text.document(case, self._names, frames(case.stack))) + "\n"])
            else:
                self._write([text.line(case, self._names), *(f"        {f}\n" for f in frames(case.stack))])
        sys.stdout.flush()

    def end(self, losses: list[str]) -> None:
        from probescope.views.latency import text

        totals, names = self._totals, self._names
        if self._args.format == "json":
            self._write(json.dumps(line) + "\n" for line in self._documents())
        else:
            self._write(text.table(totals, names, self._args.most))
            self._write([text.summary(totals.all)])
            self._write(text.histogram(totals.all))
            self._write(text.worst(totals.worst, names, frames))
        for loss in losses:
            _tell(f"LOST: {loss}")
        if totals.unkept:
            _tell(f"LOST: {totals.unkept:,} pairs of too many different keys: --by something with fewer values")

    def _documents(self) -> Iterator[dict[str, Any]]:
        from probescope.views.latency import text

        for key, total in self._totals.by.items():
            yield text.as_json(total, self._names, key)
        if not self._args.over:
            for case in self._totals.worst:
                yield text.document(case, self._names, frames(case.stack))

    def _write(self, lines: Iterator[str] | list[str]) -> None:
        sys.stdout.writelines(lines)


def frames(stack: Any) -> list[str]:
    """Names of a stack's frames, innermost first: of addresses, or as a program's ``kstack`` has them."""
    if stack is None:
        return []
    if isinstance(stack, tuple):
        from probescope.collect.host import kernel_symbols

        out = []
        for address in stack:
            try:
                found = kernel_symbols().lookup(address)
            except ProbescopeError:
                found = None
            out.append(f"{found[0]}+{found[1]}" if found else f"{address:#x}")
        return out
    return [f"{f.symbol}+{f.offset}" if f.symbol else f"{f.address:#x}" for f in getattr(stack, "frames", ())]
