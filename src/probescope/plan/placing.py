"""Sites to rungs of the ladder, and placed sites to the groups that one program serves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from probescope.frozen import dataclass, replace
from probescope.ir.needs import Needs, needs
from probescope.ir.program import Clause
from probescope.model.plan import Rejected
from probescope.model.site import KprobeAttach, Site
from probescope.plan.ladder import Asked, Rung, rungs
from probescope.plan.refused import Refused
from probescope.plan.request import PlanRequest
from probescope.plan.session import SESSION, sessions

Numbers = Mapping[int, tuple[int, ...]]
"""Of a clause's sites, by its id: their places in ``Program.sites``."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A site with the rung that serves it and those that were passed over."""

    number: int
    site: Site
    rung: Rung
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Sites of a clause that one program serves. ``exit``: of a session, the group at the returns of the same
    functions; that one is ``joined``: it has no program of its own."""

    clause: Clause
    needs: Needs
    placed: tuple[Placed, ...]
    exit: Group | None = None
    joined: bool = False

    @property
    def first(self) -> Placed:
        return self.placed[0]

    @property
    def rung(self) -> Rung:
        return self.placed[0].rung

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(p.site.attach.symbol for p in self.placed if isinstance(p.site.attach, KprobeAttach))


def place(
    clauses: Sequence[Clause], numbers: Numbers, request: PlanRequest
) -> tuple[dict[int, list[Group]], list[Refused]]:
    """The groups of ``clauses``, by id, and what nothing can serve."""
    placing = _Placing(numbers, request)
    asked = {c.id: needs(c) for c in clauses}
    by_id = {c.id: c for c in clauses}
    pairs = sessions(clauses, asked)
    out: dict[int, list[Group]] = {}
    refused: list[Refused] = []
    for clause in clauses:
        exit_ = by_id.get(pairs.get(clause.id, -1))
        pair = placing.session(clause, exit_, asked) if exit_ is not None else None
        if exit_ is not None and pair is not None:
            out[clause.id], out[exit_.id] = pair.groups
            refused += pair.refused
    for clause in clauses:
        if clause.id not in out:
            out[clause.id] = placing.groups(clause, Asked(asked[clause.id], len(clause.sites)), refused)
    return out, refused


@dataclass(frozen=True, slots=True)
class _Pair:
    groups: tuple[list[Group], list[Group]]
    refused: list[Refused]


class _Placing:
    def __init__(self, numbers: Numbers, request: PlanRequest) -> None:
        self.numbers = numbers
        self.request = request

    def session(self, entry: Clause, exit_: Clause, asked: Mapping[int, Needs]) -> _Pair | None:
        """The groups of both clauses, those of functions with a session joined; ``None`` if they do not fit
        together."""
        refused: list[Refused] = []
        of_entry, of_exit = (
            self.groups(c, Asked(asked[c.id], len(c.sites), session=True), refused) for c in (entry, exit_)
        )
        partners = {g.functions: g for g in of_exit if _in_session(g)}
        matched: list[Group] = []
        for group in of_entry:
            partner = partners.pop(group.functions, None) if _in_session(group) else None
            if _in_session(group) and (partner is None or shift(group, partner) is None):
                return None
            matched.append(replace(group, exit=partner) if partner else group)
        if partners:
            return None
        return _Pair((matched, [replace(g, joined=_in_session(g)) for g in of_exit]), refused)

    def groups(self, clause: Clause, asked: Asked, refused: list[Refused]) -> list[Group]:
        """In order of the first site of each; ``refused`` takes what nothing can serve."""
        found: dict[object, list[Placed]] = {}
        for p in self._place(clause, asked, refused):
            found.setdefault(self._key(p, asked.needs), []).append(p)
        return [Group(clause, asked.needs, tuple(placed)) for placed in found.values()]

    def _place(self, clause: Clause, asked: Asked, refused: list[Refused]) -> Iterable[Placed]:
        for i, (number, site) in enumerate(zip(self.numbers[clause.id], clause.sites, strict=True)):
            rejected: list[Rejected] = []
            for rung in () if site.reason else rungs(site, asked, self.request.offers):
                if not rung.reason:
                    yield Placed(number, site, rung, tuple(rejected))
                    break
                rejected.append(Rejected(rung.mechanism.name, rung.reason))
            else:
                refused.append(Refused(site, clause.points[i] if clause.points else clause.span, tuple(rejected)))

    def _key(self, p: Placed, asked: Needs) -> object:
        r, name = p.rung, p.rung.mechanism.name
        alone = asks_site(asked) and r.syscall < 0 and not self._has_cookie(name)
        by_target = name in ("tp_btf", "fentry", "fexit", "iter") or r.syscall >= 0
        target = r.target if by_target or (name == "raw_tracepoint" and alone) else ""
        ret = getattr(p.site.attach, "ret", False)
        return (name, target, r.fields, r.args, r.ret, ret, p.number if alone else -1)

    def _has_cookie(self, mechanism: str) -> bool:
        if mechanism in (SESSION, "kprobe_multi", "uprobe_multi"):
            return True
        if mechanism == "raw_tracepoint":
            return self.request.offers.state("attach:raw_tracepoint_cookie") == "yes"
        return mechanism in ("tracepoint", "kprobe", "uprobe", "perf_event") and self.request.cookies


def _in_session(group: Group) -> bool:
    return group.rung.mechanism.name == SESSION


def asks_site(asked: Needs) -> bool:
    """Whether a clause asks which of its sites fired."""
    return bool(asked.context & {"probe", "func"})


def shift(entry: Group, exit_: Group) -> int | None:
    """By how much the numbers of the sites at the returns are greater than those at the entries, which cookies hold;
    ``None`` if it is not the same for all."""
    found = {x.number - e.number for e, x in zip(entry.placed, exit_.placed, strict=True)}
    return found.pop() if len(found) == 1 else None
