"""``probescope explain --via perf`` and ``explain -i FILE``: what a program is on a stream of events, step by step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.cli.tables import wrapped

if TYPE_CHECKING:
    from probescope.api import Request
    from probescope.model.plan import Plan


def show(request: Request, *, as_json: bool) -> int:
    """Raises what building raises: what the collector lacks is told with its reasons."""
    from probescope.api import build

    built = build(request)
    if built.recording is not None:
        built.recording.close()
    plan = built.plan.plan
    if as_json:
        import json

        sys.stdout.write(json.dumps(_document(plan), indent=2) + "\n")
        return 0
    import os

    wide = os.get_terminal_size().columns if sys.stdout.isatty() else 0
    sys.stdout.write("".join(_text(plan, wide)))
    return 0


def _document(plan: Plan) -> dict[str, object]:
    from probescope.plan.explanation import step_json

    clauses = [
        {
            "clause": c.clause,
            "sites": [plan.sites[n] for n in c.sites],
            "collector": c.collector,
            "mechanism": c.mechanism,
            "reason": c.reason,
            "cost_ns": c.cost_ns,
        }
        for c in plan.choices
    ]
    steps = [step_json(s) for s in plan.steps]
    return {"collector": plan.collector, "clauses": clauses, "steps": steps, "notes": list(plan.notes)}


def _text(plan: Plan, wide: int) -> Iterator[str]:
    yield f"collector {plan.collector}\n"
    for c in plan.choices:
        names = [plan.sites[n] for n in c.sites]
        where = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        cost = f", about {c.cost_ns:,} ns a hit" if c.cost_ns else ""
        yield f"  clause {c.clause}, {where}: {c.mechanism}{cost}\n"
        for part in c.reason.split("; "):
            yield from _indented(part, wide, 6)
    yield "steps\n"
    for n, step in enumerate(plan.steps, 1):
        for i, line in enumerate(wrapped(str(step), wide - 7 if wide else 0)):
            yield f"{n if not i else '':>5}  {line}\n"
    for note in plan.notes:
        yield from _indented(f"note: {note}", wide, 2)


def _indented(words: str, wide: int, by: int) -> Iterator[str]:
    for line in wrapped(words, wide - by if wide else 0):
        yield f"{'':{by}}{line}\n"
