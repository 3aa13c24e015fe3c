"""A table of a histogram: a column for each key and value, a bar for the hits.

next_comm          hitcount  next_prio
rcu_preempt             129      15480  |@@@@@@                    |
swapper/1               182      21840  |@@@@@@@@@@                |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probescope.formats.tracetext.hist import Entry, Histogram, Key, Named, Span

BAR = 26
LONGEST = 64
"""Characters of a key that a column has."""


def rows(found: Histogram, most: int = 0) -> Iterator[str]:
    """Lines with their ends; ``most``: the last ones alone, 0 for all."""
    from probescope.model.visible import visible

    entries = found.entries[-most:] if most > 0 else found.entries
    heads = [str(key) for key in found.trigger.keys]
    names = list(dict.fromkeys(name for e in entries for name, _ in e.values))
    cells = [[visible(text_of(k))[:LONGEST] for k in e.keys] for e in entries]
    stacks = any(isinstance(k, tuple) for e in entries for k in e.keys)
    if stacks:
        yield from _by_stack(entries)
    elif entries:
        widths = [max([len(h), *(len(row[i]) for row in cells)]) for i, h in enumerate(heads)]
        right = [all(isinstance(e.keys[i], int) for e in entries) for i in range(len(heads))]
        yield _line(heads, widths, right, [f"{n:>12}" for n in names]) + "\n"
        largest = max((e.hits for e in entries), default=0)
        for entry, row in zip(entries, cells, strict=True):
            values = dict(entry.values)
            shown = [f"{_number(values.get(n, '')):>12}" for n in names]
            yield _line(row, widths, right, shown) + _bar(entry.hits, largest) + "\n"
            if entry.saved:
                yield "".join(f"    {n} {visible(str(v))}" for n, v in entry.saved) + "\n"
    yield f"{found.hits:,} hits, {len(found.entries):,} keys\n"
    if found.snapshot:
        yield f"{visible(found.snapshot)}\n"


def _line(cells: list[str], widths: list[int], right: list[bool], values: list[str]) -> str:
    keys = [f"{c:>{w}}" if r else f"{c:<{w}}" for c, w, r in zip(cells, widths, right, strict=True)]
    return "  ".join([*keys, *values])


def _bar(hits: int, largest: int) -> str:
    return f"  |{'@' * (hits * BAR // largest):<{BAR}}|" if largest else ""


def _number(value: float | str) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _by_stack(entries: tuple[Entry, ...]) -> Iterator[str]:
    from probescope.model.visible import visible

    for e in entries:
        for key in e.keys:
            if isinstance(key, tuple):
                yield "".join(f"    {frame}\n" for frame in key)
            else:
                yield f"{visible(text_of(key))}\n"
        yield "  ".join(f"{name} {_number(value)}" for name, value in e.values) + "\n\n"


def text_of(key: Key) -> str:
    match key:
        case Named(name=name, number=number):
            return f"{name} [{number}]" if number < 1 << 48 else name
        case Span(low=low, high=high):
            return f"[{low}]" if low == high else f"[{low}, {high}]"
        case tuple():
            return " ".join(key)
        case _:
            return str(key)


def as_json(event: str, found: Histogram) -> dict[str, Any]:
    """Keys by their names: numbers, texts, ``{"name", "number"}``, ``{"low", "high"}`` (both included), lists of
    frames."""
    names = [str(key) for key in found.trigger.keys]
    entries = [
        {
            "keys": dict(zip(names, map(_json_key, e.keys), strict=True)),
            "values": dict(e.values),
            **({"saved": dict(e.saved)} if e.saved else {}),
        }
        for e in found.entries
    ]
    out = {"type": "hist", "event": event, "trigger": found.trigger.text, "entries": entries}
    return {
        **out,
        "hits": found.hits,
        "dropped": found.dropped,
        **({"snapshot": found.snapshot} if found.snapshot else {}),
    }


def _json_key(key: Key) -> Any:
    match key:
        case Named(name=name, number=number):
            return {"name": name, "number": number}
        case Span(low=low, high=high):
            return {"low": low, "high": high}
        case tuple():
            return list(key)
        case _:
            return key
