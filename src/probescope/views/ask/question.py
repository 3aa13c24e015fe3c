"""Questions as they are written down, and how they are found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from probescope.errors import InternalError, UsageError
from probescope.frozen import dataclass

FOLDER = os.path.join(os.path.dirname(__file__), "questions")
ORDER = "losses interrupts iowait preemptions runqueue files tcp writeback locks wakeups".split()
_STOP = frozenset("a an and are by does do for from how i in is it me much of on or the this to what when why".split())
_PART = re.compile(r"@(\w+)@")
_CONDITION = re.compile(r"(\w+) (>=|<=|>|<|==|!=) (-?\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Query:
    sql: str
    needs: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    fact: str
    sign: str
    number: float


@dataclass(frozen=True, slots=True)
class Sentence:
    topic: str
    when: tuple[Condition, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """``record``: options of ``probescope record``; empty where any recording will do."""

    name: str
    title: str
    words: str
    needs: tuple[str, ...]
    better: tuple[str, ...]
    record: str
    facts: tuple[Query, ...]
    say: tuple[Sentence, ...]
    evidence: tuple[Query, ...]

    @property
    def command(self) -> str:
        return f"probescope record {self.record} -- sleep 10" if self.record else ""


@cache
def questions() -> dict[str, Question]:
    return {name: _read(name) for name in ORDER}


def _read(name: str) -> Question:
    import tomllib

    with open(os.path.join(FOLDER, f"{name}.toml"), "rb") as f:
        data = tomllib.load(f)
    parts = data.get("parts", {})
    return Question(
        name,
        data["title"],
        data.get("words", ""),
        tuple(data.get("needs", ())),
        tuple(data.get("better", ())),
        data.get("record", ""),
        _queries(data.get("facts", ()), parts),
        tuple(Sentence(s["topic"], tuple(map(condition, s.get("when", ()))), s["text"]) for s in data["say"]),
        _queries(data.get("evidence", ()), parts),
    )


def _queries(found: Iterable[dict[str, Any]], parts: dict[str, str]) -> tuple[Query, ...]:
    return tuple(Query(_filled(q["sql"], parts), tuple(q.get("needs", ())), q.get("title", "")) for q in found)


def _filled(sql: str, parts: dict[str, str]) -> str:
    """``@NAME@`` stands for a part, which may have parts itself."""
    while found := _PART.search(sql):
        sql = sql[: found.start()] + parts[found[1]].strip() + sql[found.end() :]
    return sql.strip()


def condition(text: str) -> Condition:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise InternalError(f"'{text}' is no condition")
    return Condition(found[1], found[2], float(found[3]))


def find(words: list[str]) -> Question:
    """By its name, or by words about it. Raises UsageError where none or several fit."""
    known = questions()
    name = "-".join(words).lower()
    if name in known:
        return known[name]
    asked = {_stem(w) for w in re.findall(r"[\w-]+", " ".join(words).lower()) if w not in _STOP}
    scores = {q.name: _score(q, asked) for q in known.values()}
    most = max(scores.values())
    best = [n for n, s in scores.items() if s == most]
    if most and len(best) == 1:
        return known[best[0]]
    raise UsageError(f"no question is about '{' '.join(words)}'", hints=_hints(words, best if most else []))


def _hints(words: list[str], best: list[str]) -> list[str]:
    from probescope.diagnostics import nearest

    known = questions()
    single = {w: q.name for q in known.values() for w in (q.name, *q.words.split())}
    near = [single[w] for word in words for w in nearest(word.lower(), single, most=2)]
    found = list(dict.fromkeys([*best, *near]))[:4]
    meant = [f"did you mean {n}: {known[n].title}?" for n in found]
    return meant or [f"there are: {', '.join(known)}"]


def _score(q: Question, asked: set[str]) -> int:
    """Words that it has; its name counts more than others."""
    own = {_stem(w): 1 for w in re.findall(r"\w+", f"{q.words} {q.title}".lower()) if w not in _STOP}
    own[_stem(q.name)] = 3
    return sum(own.get(w, 0) for w in asked)


def _stem(word: str) -> str:
    """Without the endings that words have in sentences."""
    for ending in ("ations", "ation", "ings", "ions", "ing", "ion", "ers", "er", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
