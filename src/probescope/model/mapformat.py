r"""printf formats for the entries of one map: ``"%-16s %#x %d"``, the items of the key first, then the value.

    @[pid, comm] = count()    "%6d %-16s %d"       an item a conversion, then the value
    @[pid] = stats(v)         "%d %d %.2f %d"      count, average and total of stats, or "%d %s" for all of it
    @[pid] = hist(v)          "%d %d %d %d"        a line for each bucket: low, high, count; or "%d\n%s"
    @[pid, comm] = count()    "%d %s"              the key alone

Each entry is a line; the newline at its end is put there where the format has none.
"""

from __future__ import annotations

from probescope.frozen import dataclass
from probescope.model.format import Conv, Format, FormatTextError
from probescope.model.maprow import key_types, value_cells
from probescope.model.types import Agg, Bool, Buffer, Pointer, String, Type, is_integer


@dataclass(frozen=True, slots=True)
class Bound:
    """A format that suits a map. ``key`` counts the items of the key. ``spread``: the parts of the value have
    conversions of their own; else ``value`` says whether there is one for all of it."""

    format: Format
    key: int
    value: bool
    spread: bool


def bind(f: Format, key: Type | None, value: Type | Agg) -> Bound:
    """Raises FormatTextError for a format that cannot be filled from the entries of such a map."""
    keys, cells = key_types(key), value_cells(value)
    n = len(f.conversions)
    bound = Bound(f, len(keys), n == len(keys) + 1, n == len(keys) + len(cells) and (len(cells) > 1 or n == 0))
    if not (bound.value or bound.spread or (keys and n == len(keys))):
        raise FormatTextError(f"{_wanted(len(keys), [c.name for c in cells])}, and the format has {n} conversions", 0)
    parts: list[Type | Agg] = [c.type for c in cells] if bound.spread else [value] if bound.value else []
    for conv, t in zip(f.conversions, (*keys, *parts), strict=True):
        if not _suits(conv, t):
            raise FormatTextError(f"'%{conv.kind}' cannot print a value of type '{t}'", conv.column)
    return bound


def _wanted(keys: int, cells: list[str]) -> str:
    items = {0: "no key", 1: "a key"}.get(keys, f"a key of {keys} items")
    value = f" ({', '.join(cells)})" if len(cells) > 1 else ""
    return f"the map has {items} and a value{value}"


def _suits(c: Conv, t: Type | Agg) -> bool:
    if isinstance(t, Agg):
        return c.kind == "s" or (
            t.kind not in ("hist", "lhist", "llquantize", "stats", "tseries") and c.kind in _NUMBER
        )
    match t:
        case Buffer():
            return c.kind in ("s", "r", "rx", "rh")
        case Bool() | Pointer():
            return c.kind == "s" or c.kind in _NUMBER
        case String():
            return c.kind == "s"
        case _:
            return c.kind == "s" or (is_integer(t) and (c.kind in _NUMBER or c.kind == "gr"))


_NUMBER = frozenset("diuxXopcfeg")
