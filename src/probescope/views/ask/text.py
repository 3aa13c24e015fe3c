"""Answers as text and as values."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.model.visible import visible
from probescope.views.ask.answer import size
from probescope.views.latency.text import span

if TYPE_CHECKING:
    from probescope.views.ask.answer import Answer, Table

WIDE = 100


UNITS: dict[str, Callable[[float], str]] = {"_ns": span, "_bytes": size, "_s": lambda v: f"{v:.6f} s"}
"""By the endings of columns."""


def lines(answer: Answer) -> Iterator[str]:
    """With their ends. Losses come first."""
    import textwrap

    question = answer.question
    for loss in answer.losses:
        advice = f" ({loss['advice']})" if loss["advice"] else ""
        yield visible(f"{loss['severity'].upper()}: {loss['count']} times: {loss['about']}{advice}\n")
    yield f"{question.title}\n"
    if answer.missing:
        needs = ", ".join(map(_either, answer.missing))
        yield f"\nThis needs events that are not in the recording: {needs}. Record them with\n\n  {question.command}\n"
        return
    yield "\n"
    for sentence in answer.conclusion:
        for line in textwrap.wrap(visible(sentence), WIDE - 2, break_long_words=False, break_on_hyphens=False):
            yield f"  {line}\n"
    for table in answer.evidence:
        yield f"\n{table.title}\n\n"
        yield from _rows(table)
    if answer.better:
        yield f"\nMore can be told with {', '.join(map(_either, answer.better))}:\n  {question.command}\n"


def _either(need: str) -> str:
    return " or ".join(need.split("|"))


def _rows(table: Table) -> Iterator[str]:
    from probescope.views.query import write

    if not table.rows:
        yield "(nothing)\n"
        return
    units = [next((u for end, u in UNITS.items() if n.endswith(end)), None) for n in table.columns]
    names = [n.rpartition("_")[0] if u else n for n, u in zip(table.columns, units, strict=True)]
    types = ["NUMBER" if u else t for u, t in zip(units, table.types, strict=True)]
    shown = [tuple(_shown(v, u) for v, u in zip(row, units, strict=True)) for row in table.rows]
    out = io.StringIO()
    write("table", out, names, types, shown)
    yield out.getvalue()
    if table.more:
        yield "... and more (-n)\n"


def _shown(value: Any, unit: Callable[[float], str] | None) -> Any:
    if value is None:
        return "-"
    return unit(float(value)) if unit else f"{value:.1f}" if isinstance(value, float) else value


def as_json(answer: Answer) -> dict[str, Any]:
    """Durations are in ns, sizes in bytes, as the names of the columns say."""
    question = answer.question
    out: dict[str, Any] = {
        "question": question.name,
        "title": question.title,
        "losses": [{k: v for k, v in loss.items() if k != "type"} for loss in answer.losses],
    }
    if answer.missing:
        return {**out, "missing": list(answer.missing), "record": question.command}
    tables = [
        {
            "title": t.title,
            "rows": [dict(zip(t.columns, map(_plain, row), strict=True)) for row in t.rows],
            "more": t.more,
        }
        for t in answer.evidence
    ]
    facts = {name: _plain(value) for name, value in answer.facts.items()}
    return {
        **out,
        "conclusion": list(answer.conclusion),
        "facts": facts,
        "evidence": tables,
        "better": list(answer.better),
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)
