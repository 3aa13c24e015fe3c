"""A plan in words: which mechanism serves each clause and why, which others could, the steps, and the peers'
equivalents.

``explanation`` gives data; ``cli/explain.py`` prints it, and ``-f json`` shows it as it is.
"""

from __future__ import annotations

from typing import Any

from probescope.frozen import dataclass
from probescope.ir.program import Program
from probescope.model.plan import Choice, Plan
from probescope.model.site import Site
from probescope.plan.equivalents import equivalents
from probescope.plan.knowledge import SOURCES, Knowledge


@dataclass(frozen=True, slots=True)
class Row:
    """One way to get at a probe: ``used`` if the plan takes it; ``why`` it is taken, or not."""

    mechanism: str
    used: bool
    cost_ns: int
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is told of one clause."""

    clause: int
    sites: tuple[str, ...]
    rows: tuple[Row, ...]
    knowledge: tuple[tuple[str, str], ...]  # label, text: stability, privileges, needs
    equivalents: tuple[tuple[str, str], ...]  # tool, command


@dataclass(frozen=True, slots=True)
class Explained:
    """The whole answer. ``steps`` are the exact kernel steps, in order."""

    clauses: tuple[Explanation, ...]
    steps: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "clauses": [
                {
                    "clause": c.clause,
                    "sites": list(c.sites),
                    "mechanisms": [
                        {"mechanism": r.mechanism, "used": r.used, "cost_ns": r.cost_ns, "why": r.why} for r in c.rows
                    ],
                    **dict(c.knowledge),
                    "equivalents": dict(c.equivalents),
                }
                for c in self.clauses
            ],
            "steps": list(self.steps),
            "notes": list(self.notes),
        }


def explanation(program: Program, plan: Plan, costs: dict[str, int] | None = None) -> Explained:
    """``costs``: nanoseconds a hit as measured on this machine, by mechanism, where they were."""
    sites = program.sites
    clauses = tuple(_clause(c, sites, costs or {}) for c in plan.choices)
    return Explained(clauses, tuple(str(s) for s in plan.steps), plan.notes)


def _clause(choice: Choice, sites: tuple[Site, ...], costs: dict[str, int]) -> Explanation:
    mine = [sites[n] for n in choice.sites]
    rows = [Row(choice.mechanism, True, costs.get(choice.mechanism, choice.cost_ns), choice.reason)]
    rows += [Row(r.mechanism, False, costs.get(r.mechanism, 0), r.reason) for r in choice.rejected]
    known = SOURCES.get(mine[0].source, Knowledge())
    rows += [Row(name, False, costs.get(name, ns), why) for name, ns, why in known.others]
    facts = (
        ("stability", known.stability),
        ("privileges", known.privileges),
        ("kernel", known.kernel),
    )
    return Explanation(
        choice.clause,
        tuple(s.name for s in mine),
        tuple(rows),
        tuple((k, v) for k, v in facts if v),
        equivalents(mine[0]),
    )
