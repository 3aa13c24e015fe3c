"""Explanations for reading: a section a probe, the answer first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.cli.tables import Style, columns, labelled, style, width, wrapped
from probescope.plan.costs import ABOUT, cost_class, one_percent
from probescope.plan.explain_rows import Facts, Row
from probescope.plan.explanation import Explained, Explanation, step_text
from probescope.plan.knowledge import PRIVILEGES
from probescope.plan.mechanism import MECHANISMS

if TYPE_CHECKING:
    from probescope.collect.measure import Measured

FEW_ALIKE = 3
FEW_SITES = 4
NOTABLE_MS = 500.0

Answer = tuple[str, bool, Explained]


def text(answers: Sequence[Answer], known: Facts, *, verbose: bool) -> str:
    """All of them; several probes as a table with a line each, unless everything is wanted."""
    page = _Page(known, verbose=verbose)
    if len(answers) > 1 and not verbose:
        return page.overview(answers)
    return "\n".join(page.answer(*a) for a in answers) + page.footnote()


def cost_table(measured: Measured) -> str:
    """What was measured: medians and quartiles, and why the rest is missing."""
    rows = [
        (name, f"{c.ns:,}", f"{c.low:,}-{c.high:,}", cost_class(c.ns), _what(name))
        for name, c in measured.costs.items()
    ]
    look, wide = style(), width()
    out = columns(("mechanism", "ns a hit", "quartiles", "cost", ""), rows, right=(1, 2), wide=wide, look=look)
    if measured.missing:
        missing = [(n, r) for n, r in measured.missing.items()]
        out += "\n" + columns(("not here", "reason"), missing, wide=wide, look=look)
    return out


def _what(name: str) -> str:
    known = MECHANISMS.get(name)
    return ABOUT.get(name) or (known.about if known else "")


class _Page:
    def __init__(self, known: Facts, *, verbose: bool) -> None:
        self.known = known
        self.verbose = verbose
        self.look: Style = style()
        self.wide = width()
        self.told: set[object] = set()

    # --- several probes
    # -------------------------------------------------------------------------------------------------

    def overview(self, answers: Sequence[Answer]) -> str:
        rows: list[Sequence[str]] = []
        for asked, _, e in answers:
            for p in e.parts:
                used = next((r for r in p.rows if r.used), None)
                here = used.here if used else "no"
                why = f"{used.mechanism}: {used.why}" if used else p.reason
                rows.append((asked, here, _ns(used) if used else "", p.interface, why))
        known = {_key(asked) for asked, _, _ in answers}
        all_others = [i for _, _, e in answers for p in e.parts for i in p.instead]
        others = {i.probe: i.why for i in all_others if _key(i.probe) not in known}
        head = ("probe", "here", "ns a hit", "interface", "by")
        table = columns(head, rows, right=(2,), wide=self.wide, look=self.look)
        more = "".join(f"  {probe}  {why}\n" for probe, why in others.items())
        related = f"\nsee also:\n{more}" if more else ""
        return table + related + self.footnote() + "probescope explain PROBE says more about one of them.\n"

    # --- one
    # ------------------------------------------------------------------------------------------------------------

    def answer(self, asked: str, program: bool, e: Explained) -> str:
        out = [self._part(p, program) for p in e.parts]
        out.append("".join(self._steps(e, program)))
        out.append("".join(self._tools(e, program)))
        return "\n".join(o for o in out if o)

    def _part(self, p: Explanation, program: bool) -> str:
        out = [self.look.paint(self._title(p, program), "head") + "\n", *self._verdict(p)]
        topic = (p.sites[0].partition(":")[0], p.mechanism, p.rows)
        plain = p.usable and all(r.through == "probescope" for r in p.rows if r.used)
        if topic not in self.told and (self.verbose or not plain):
            self.told.add(topic)
            out += ["\n", self._table(p.rows), "\n", *self._facts(p, program)]
        return "".join(out)

    def _title(self, p: Explanation, program: bool) -> str:
        name = p.probe if not program else p.sites[0]
        more = len(p.sites) - 1
        count = ""
        if more and not program:
            count = f"  ({len(p.sites):,} probes)"
        elif more:
            count = f" and {more:,} more"
        return f"line {p.line}: {name}{count}" if program and p.line else f"{name}{count}"

    def _verdict(self, p: Explanation) -> Iterator[str]:
        used = next((r for r in p.rows if r.used), None)
        if used is None:
            yield from self._indented(f"{self.look.paint('cannot be used here', 'no')}: {p.reason}")
        elif used.cost_ns:
            serves = "serves it" if used.here == "yes" else "would serve it (to be sure takes privileges)"
            yield from self._indented(
                f"{self.look.paint(used.mechanism, 'used')} {serves}: {_about(used)} a hit "
                f"({cost_class(used.cost_ns)}), so that {one_percent(used.cost_ns)} hits a second take 1 % of a CPU"
            )
        elif used.through == "probescope":
            yield from self._indented(used.why)
        else:
            yield from self._indented(f"{self.look.paint(used.mechanism, 'used')} serves it: {used.why}")
        for v in p.variants:
            why = f" ({v.why})" if v.why else ""
            yield from self._indented(f"{v.asks}: {v.mechanism}{f', {v.cost_ns:,} ns' if v.cost_ns else ''}{why}")
        if len(p.sites) > 1:
            shown = p.sites if self.verbose else p.sites[:FEW_SITES]
            more = len(p.sites) - len(shown)
            yield from self._indented(f"{', '.join(shown)}{f' and {more:,} more' if more else ''}")
        if p.asks:
            yield from self._indented(f"it asks for {', '.join(p.asks)}")
        yield from self._instead(p)

    def _instead(self, p: Explanation) -> Iterator[str]:
        if not p.instead:
            return
        yield from self._indented("see also:" if p.usable else "what works here instead:")
        wide = max(len(i.probe) for i in p.instead)
        for i in p.instead:
            yield f"    {i.probe:<{wide}}  {i.why}\n"

    def _table(self, rows: Sequence[Row]) -> str:
        cells = [
            (
                "*" if r.used else "",
                r.mechanism,
                r.through,
                r.here,
                _ns(r),
                r.interface,
                "yes" if r.permitted else "no",
                r.why,
            )
            for r in rows
        ]
        head = ("", "way", "through", "here", "ns a hit", "interface", "permitted", "why, or why not")
        return columns(head, cells, right=(4,), wide=self.wide, look=self.look)

    def _facts(self, p: Explanation, program: bool) -> Iterator[str]:
        used = next((r for r in p.rows if r.used), p.rows[0] if p.rows else None)
        through = used.through if used else "bpf"
        held = "this process holds them" if used and used.permitted else "this process does not hold them: run as root"
        privileges = PRIVILEGES[through].text + (f" ({held})" if PRIVILEGES[through].capabilities else "")
        arguments = "; ".join(p.arguments if self.verbose else p.arguments[:12])
        more = len(p.arguments) - 12 if not self.verbose else 0
        pairs = (
            ("interface", f"{p.interface}: {p.stability}"),
            ("privileges", privileges),
            ("kernel", p.kernel),
            ("arguments", "" if program else arguments + (f"; and {more} more (-v)" if more > 0 else "")),
            *(("note", n) for n in p.notes),
        )
        yield from labelled(pairs, wide=self.wide)

    def _steps(self, e: Explained, program: bool) -> Iterator[str]:
        steps = [*e.setup, *map(step_text, e.steps)]
        if not steps:
            return
        title = "kernel steps" if program else "kernel steps to count its hits"
        if e.elsewhere:
            title += ", on a kernel that has what it takes"
        yield self.look.paint(title, "head") + "\n"
        run = 0
        for n, s in enumerate(steps, 1):
            alike = _alike(s, steps[n - 2]) if n > 1 else False
            run = run + 1 if n > 1 and alike else 1
            if run <= FEW_ALIKE or self.verbose:
                for i, line in enumerate(wrapped(s, self.wide - 7 if self.wide else 0)):
                    yield f"{n if not i else '':>5}  {line}\n"
            elif n == len(steps) or not _alike(s, steps[n]):
                yield f"{'...':>5}  {run - FEW_ALIKE:,} more of them (-v shows them)\n"
        attach, leave = e.setup_ms
        if attach + leave >= NOTABLE_MS:
            yield f"      attaching takes about {_seconds(attach)}, leaving about {_seconds(leave)}\n"
        for note in e.notes:
            yield from self._indented(f"note: {note}")

    def _tools(self, e: Explained, program: bool) -> Iterator[str]:
        """Commands to paste: what each gives stands behind it as a comment of the shell. bpftrace runs a program as a
        whole."""
        single = [(x, here) for p in e.parts for x, here in p.equivalents if not (program and x.tool == "bpftrace")]
        tools = dict.fromkeys([*single, *((x, "yes") for x in e.whole)])
        if tools:
            yield self.look.paint("the same with other tools", "head") + "\n"
        for x, here in tools:
            missing = "; not on this kernel" if here == "no" else ""
            yield f"  {x.command}  # {x.about}{missing}\n"

    def _indented(self, words: str) -> Iterator[str]:
        for i, line in enumerate(wrapped(words, self.wide - 4 if self.wide else 0)):
            yield f"{'  ' if not i else '    '}{line}\n"

    def footnote(self) -> str:
        if self.known.costs.measured:
            return "\nNanoseconds are medians, measured on this machine; with a ~, usual ones of another.\n"
        return "\nNanoseconds are those of another machine (x86-64, Linux 6.18): --measure takes 2 s for this one's.\n"


def _alike(one: str, other: str) -> bool:
    """The same call, on another place."""
    return one.split(" ", 1)[0] == other.split(" ", 1)[0] and one.startswith(
        ("perf_event_open", "bpf(BPF_RAW", "bpf(BPF_LINK")
    )


def _key(probe: str) -> tuple[str, str]:
    """Source and last part: with or without the module between them it is the same probe."""
    return probe.partition(":")[0], probe.rpartition(":")[2]


def _ns(r: Row) -> str:
    if not r.cost_ns:
        return ""
    return f"{r.cost_ns:,}" if r.measured else f"~{r.cost_ns:,}"


def _about(r: Row) -> str:
    return f"{r.cost_ns:,} ns" if r.measured else f"about {r.cost_ns:,} ns"


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms < 10_000 else f"{ms / 1000:.0f} s"
