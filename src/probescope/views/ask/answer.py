"""Asking: facts, the sentences that they make, and the evidence."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from probescope.frozen import dataclass
from probescope.views.ask.question import Condition, Query, Question, Sentence
from probescope.views.latency.text import span
from probescope.views.summaries.said import lacking, losses, present

if TYPE_CHECKING:
    from probescope.store.session import Stores

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
UNKNOWN = "an unknown number"


@dataclass(frozen=True, slots=True)
class Table:
    """``more``: whether there are more rows than these."""

    title: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """``missing``: needs that the recording does not satisfy: then there is nothing else. ``better``: what would make
    the answer better."""

    question: Question
    losses: tuple[dict[str, Any], ...]
    missing: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    facts: Mapping[str, Any] = {}
    conclusion: tuple[str, ...] = ()
    evidence: tuple[Table, ...] = ()


class Shown:
    """A fact in a sentence. Formats: ``ns`` a duration, ``bytes`` a size, and those of numbers and texts."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, spec: str) -> str:
        if self._value is None:
            return UNKNOWN
        if spec == "ns":
            return span(float(self._value))
        if spec == "bytes":
            return size(float(self._value))
        return format(float(self._value) if spec.endswith("f") else self._value, spec)


def size(number: float) -> str:
    """Three digits that say something, and the unit."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= factor:
            value = number / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{number:.0f} bytes"


def answer(store: Stores, question: Question, most: int) -> Answer:
    """``most``: rows of each table."""
    kinds = present(store)
    lost = tuple(said.data for said in losses(store) if said.data is not None)
    missing = tuple(lacking(question.needs, kinds))
    if missing:
        return Answer(question, lost, missing)
    facts: dict[str, Any] = {}
    for query in question.facts:
        if not lacking(query.needs, kinds):
            facts |= next(iter(store.query(query.sql)), {})
    tables = [_table(store, q, most) for q in question.evidence if not lacking(q.needs, kinds)]
    better = tuple(lacking(question.better, kinds))
    return Answer(question, lost, (), better, facts, tuple(conclusion(question.say, facts)), tuple(tables))


def conclusion(say: Iterable[Sentence], facts: Mapping[str, Any]) -> list[str]:
    """Of each topic the first sentence that holds."""
    said: dict[str, str] = {}
    shown = {name: Shown(value) for name, value in facts.items()}
    for sentence in say:
        if sentence.topic not in said and all(holds(c, facts) for c in sentence.when):
            said[sentence.topic] = " ".join(sentence.text.split()).format_map(shown)
    return list(said.values())


def holds(c: Condition, facts: Mapping[str, Any]) -> bool:
    value = facts.get(c.fact)
    return value is not None and SIGNS[c.sign](float(value), c.number)


def _table(store: Stores, query: Query, most: int) -> Table:
    found = store.query(query.sql)
    rows = tuple(islice(found.tuples(), most + 1))
    return Table(query.title, found.columns, found.types, rows[:most], len(rows) > most)
