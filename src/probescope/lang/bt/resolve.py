"""Probes to sites, and sites to groups that one lowered clause can serve.

``missing_probes`` decides what becomes of a probe that is not there: an error, a warning, or silence. Sites are
looked into (formats, argument types) only if the body uses what they offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from probescope.diagnostics import Diagnostic, Severity, Span
from probescope.errors import FormatError, KernelError, LimitError, NoSuchProbe, ProbeError, ProbescopeError
from probescope.lang.bt import ast
from probescope.lang.bt.builtins_site import aspect
from probescope.lang.bt.check_program import ProgramState
from probescope.lang.bt.fallback import Rank, alternatives, choose, told
from probescope.lang.bt.node import Node, walk
from probescope.lang.bt.pointtext import is_glob
from probescope.model.site import Site

Missed = tuple[ast.AttachPoint, ProbescopeError]

TOO_MANY = "exceeds the current limit of"
GOES_ON = "config = { missing_probes = warn } goes on without it"

_ASKING = frozenset({"args", "retval", "ctx"})
_COSTLY = frozenset({"uprobe", "uretprobe"})
"""Sources that read debug information for names and types, and know ``arg0`` without it."""


class Resolver:
    """``findings`` grow with what is wrong; ``missing`` counts probes that were left out."""

    def __init__(self, program: ProgramState) -> None:
        self.program = program
        self.findings: list[Diagnostic] = []
        self.missing = 0
        self.count = 0
        self._names = False
        self._named: set[str] = set()

    def sites(self, probe: ast.Probe) -> tuple[Site, ...]:
        """All sites of a clause, each once, in the order of its probes."""
        fields, self._names = asks_fields(probe), asks_names(probe)
        found: dict[tuple[str, object], Site] = {}  # a USDT probe has one name, and may stand at several places
        empty: list[Missed] = []
        missing = self.missing
        for ranks in alternatives(probe.points):
            first, *others = ranks
            for site, point in self._first(probe, ranks, fields) if others else self._all(first, fields, empty):
                if found.setdefault((site.name, site.attach), site) is site:
                    self.program.places[probe.span, site.name] = point.span
        wanted = self.program.env.probe_filter
        if wanted:
            kept = {k: s for k, s in found.items() if s.source in ("begin", "end") or wanted(s.name)}
            self.missing += len(found) - len(kept)
            found = kept
        if not (found or wanted):
            self._nothing(probe, empty, missed=self.missing > missing)
        self.count += len(found)
        if self.count > self.program.config.max_probes:
            self._too_many(probe)
        return tuple(found.values())

    def _all(self, points: Rank, fields: bool, empty: list[Missed]) -> Iterator[tuple[Site, ast.AttachPoint]]:
        for point in points:
            if point.spec.source in ("test", "bench") and not self._wanted(point):
                continue
            for site in self._resolve(point, fields, empty):
                yield site, point

    def _wanted(self, point: ast.AttachPoint) -> bool:
        """Whether a test or bench probe runs at all. Results are told apart by name, so each has one of its own."""
        source, name = point.spec.source, point.spec.name
        if name and f"{source}:{name}" in self._named:
            message = f'"{name}" was used as the name for more than one {source} probe'
            self.findings.append(Diagnostic("error", message, point.span, (), self.program.source))
        self._named.add(f"{source}:{name}")
        return source == self.program.env.mode

    def _first(self, probe: ast.Probe, ranks: tuple[Rank, ...], fields: bool) -> Iterable[tuple[Site, ast.AttachPoint]]:
        """``a ?? b``: the sites of the first that is there. If none is, that is told of the first."""
        point = ranks[0][0]
        try:
            chosen = choose(self.program.env, ranks, fields)
        except LimitError as e:
            self._report("error", e, point)
            return ()
        if chosen.sites:
            before = self.program.chosen.get(probe.span, ())
            self.program.chosen[probe.span] = (*before, told(ranks, chosen))
        else:
            row = " ?? ".join(r[0].written for r in ranks)
            self._missing(ProbeError(f"none of {row} can be used here", hints=chosen.reasons), point)
        return chosen.sites

    def _resolve(self, point: ast.AttachPoint, fields: bool, empty: list[Missed]) -> Iterable[Site]:
        """``empty`` takes patterns that nothing matches: they are missed only where nothing else of the clause is
        there."""
        try:
            sites = self.program.env.resolve(point.spec, self._names if point.spec.source in _COSTLY else fields)
        except (LimitError, KernelError) as e:  # not a question of being there
            self._report("error", e, point)
            return ()
        except ProbescopeError as e:
            if is_glob(point.spec.target + point.spec.name):
                empty.append((point, e))
            else:
                self._missing(e, point)
            return ()
        for site in sites:
            self._doubt(site.doubt, point, site.notes)
        return [s for s in sites if self._usable(s, point)]

    def _missing(self, e: ProbescopeError, point: ast.AttachPoint) -> None:
        self.missing += 1
        policy = self.program.config.missing_probes
        if policy != "ignore":
            self._doubt(e.doubt if isinstance(e, NoSuchProbe) else "", point)
            self._report("error" if policy == "error" else "warning", e, point)

    def _doubt(self, text: str, point: ast.AttachPoint, hints: Sequence[str] = ()) -> None:
        if text and self.program.config.missing_probes != "ignore":
            self.findings.append(Diagnostic("warning", text, point.span, tuple(hints), self.program.source))

    def _nothing(self, probe: ast.Probe, empty: Sequence[Missed], *, missed: bool) -> None:
        """Of a clause without a single site. ``missed``: of its probes some were told about already."""
        self.missing += len(empty)
        policy = self.program.config.missing_probes
        if policy == "ignore" or not (empty or missed):
            return
        hints = [h for _, e in empty for h in (e.what, *e.hints)]
        if policy == "error" and empty:
            self._empty("error", "Probe has no valid attach points.", empty[0][0].span, [*hints, GOES_ON])
        elif policy == "warn":
            point = (empty[0][0] if empty else probe.points[0]).span
            removed = "It is being removed which may cause issues with program behavior."
            self._empty("warning", f"Probe has no valid attach points. {removed}", point, hints)

    def _empty(self, severity: Severity, message: str, span: Span, hints: Sequence[str]) -> None:
        self.findings.append(Diagnostic(severity, message, span, tuple(hints), self.program.source))

    def _usable(self, site: Site, point: ast.AttachPoint) -> bool:
        """A site that is known to be of no use is left out where the script expects that; else the planner says why."""
        if not site.reason or self.program.config.missing_probes == "error":
            return True
        self.missing += 1
        if self.program.config.missing_probes == "warn":
            message = f"{site.name} cannot be used here: {site.reason}"
            self.findings.append(Diagnostic("warning", message, point.span, site.notes, self.program.source))
        return False

    def _report(self, severity: Severity, e: ProbescopeError, point: ast.AttachPoint) -> None:
        hints = list(e.hints)
        if severity == "error" and not isinstance(e, LimitError | KernelError):
            hints.append(GOES_ON)
        message = str(e) if isinstance(e, FormatError) else e.what  # of which file the bytes are
        if isinstance(e, NoSuchProbe):
            where = f"{point.spec.target}:{point.spec.name}" if point.spec.target else point.spec.name
            skipped = " Skipping." if severity == "warning" else ""
            hints.insert(0, message)
            message = f"No matches for {point.spec.source} {where}.{skipped}"
        self.findings.append(Diagnostic(severity, message, point.span, tuple(hints), self.program.source))

    def _too_many(self, probe: ast.Probe) -> None:
        most = self.program.config.max_probes
        if any(TOO_MANY in d.message for d in self.findings):
            return
        hints = (
            "You can increase the limit through the BPFTRACE_MAX_PROBES environment variable.",
            f"or in the script: config = {{ max_probes = {self.count} }}; or make the patterns narrower",
        )
        message = f"Can't attach to {self.count} probes because it {TOO_MANY} {most} probes."
        self.findings.append(Diagnostic("error", message, probe.span, hints, self.program.source))


def asks_fields(probe: ast.Probe) -> bool:
    """Whether the body names what its probes offer: ``args``, ``arg0``, ``retval``, ``ctx``."""
    roots: list[Node] = [probe.body]
    if probe.predicate is not None:
        roots.append(probe.predicate)
    return any(_asks(n) for root in roots for n in walk(root))


def asks_names(probe: ast.Probe) -> bool:
    """Whether the body asks for arguments by name, or for a result."""
    roots = [probe.body] if probe.predicate is None else [probe.body, probe.predicate]
    return any(_word(n) in ("args", "retval") for root in roots for n in walk(root))


def _asks(n: Node) -> bool:
    word = _word(n)
    return word in _ASKING or (word.startswith("arg") and word[3:].isdigit())


def _word(n: Node) -> str:
    return n.name if isinstance(n, ast.Name) else n.function if isinstance(n, ast.Call) else ""


def split(sites: tuple[Site, ...], asks: set[tuple[str, object]]) -> list[tuple[Site, ...]]:
    """Sites by their answers to what was asked of them, in order of the first of each group."""
    if len(sites) < 2 or not asks:
        return [sites]
    groups: dict[tuple[object, ...], list[Site]] = {}
    wanted = sorted(asks, key=str)
    for site in sites:
        groups.setdefault(tuple(aspect(site, a) for a in wanted), []).append(site)
    return [tuple(g) for g in groups.values()]
