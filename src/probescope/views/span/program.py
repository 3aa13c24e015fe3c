"""The program that measures between points: all sums are made in the kernel.

One thread is at one point at a time: ``@at[tid]`` is the number of the last point it passed, plus one, ``@t[tid]``
when. Of a function, calls may be inside of each other, so each depth has a start of its own.

    point 0            @at = 1                 @t = now     @t0 = now
    point 1            leg (0, 1): now - @t    @at = 2      @t = now
    point 3 after 1    leg (1, 3): ...         a way that leaves 2 out is a leg of its own
    the last one       its leg, and all: now - @t0; and it is over
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probescope.views.span.points import Point

WHOLE = -1
"""What stands for "from the first to the last" where points are told."""
MOST_KEYS = 65_536


def nested(
    first: Point, last: Point, by: str = "", condition: str = "", before: Sequence[str] = (), after: Sequence[str] = ()
) -> str:
    """Of a start and an end that may come again before the end of the one before: the innermost start belongs to the
    next end. ``by``: an expression at the start that totals are kept apart by; ``condition`` likewise chooses.
    ``before`` the start and ``after`` the end: more statements of the same clauses, whose time is not counted."""
    w = _who((first, last))
    keep = f" @key[{w}, @depth[{w}]] = {by};" if by else ""
    key = f"@key[{w}, @depth[{w}]]" if by else "0"
    forget = f" delete(@key, ({w}, @depth[{w}]));" if by else ""
    begin = f"@depth[{w}]++;{keep} @start[{w}, @depth[{w}]] = nsecs;"
    over = f"if (@depth[{w}] == 1) {{ delete(@depth, {w}); }} else {{ @depth[{w}]--; }}"
    return (
        f"{_limits()}\n"
        f"{first.probe}{_predicate(condition)} {{ {' '.join([*before, begin])} }}\n"
        f"{last.probe} /@depth[{w}]/ {{ $now = nsecs; $ns = $now - @start[{w}, @depth[{w}]];\n"
        f"  {_sum('0', '1', key, '$ns')}\n"
        f"  delete(@start, ({w}, @depth[{w}]));{forget}\n"
        f"  {' '.join([over, *after])} }}\n"
        f"{_end(['depth', 'start', *(['key'] if by else [])])}"
    )


def legs(points: Sequence[Point], by: str = "", condition: str = "") -> str:
    """Of points that a thread passes one after the other; who passes the first again begins anew."""
    w = _who(points)
    keep = f" @key[{w}] = {by};" if by else ""
    key = f"@key[{w}]" if by else "0"
    last = len(points) - 1
    out = [_limits()]
    out.append(f"{points[0].probe}{_predicate(condition)} {{ $now = nsecs; @at[{w}] = 1; @t[{w}] = $now; ")
    out[-1] += f"@t0[{w}] = $now;{keep} }}"
    for i, p in enumerate(points[1:], 1):
        leg = _sum(f"@at[{w}] - 1", str(i), key, "$ns")
        after = f"@at[{w}] = {i + 1}; @t[{w}] = $now;"
        if i == last:
            whole = f" $all = $now - @t0[{w}]; {_sum(str(WHOLE), str(WHOLE), key, '$all')}" if last > 1 else ""
            gone = f" delete(@key, {w});" if by else ""
            after = f"{whole} delete(@at, {w}); delete(@t, {w}); delete(@t0, {w});{gone}"
        out.append(f"{p.probe} /@at[{w}]/ {{ $now = nsecs; $ns = $now - @t[{w}];\n  {leg}\n  {after} }}")
    return "\n".join([*out, _end(["at", "t", "t0", *(["key"] if by else [])])])


def _who(points: Sequence[Point]) -> str:
    """Threads, or goroutines where all points can tell them."""
    return points[0].who if len({p.who for p in points}) == 1 else "tid"


def _limits() -> str:
    return f"config = {{ max_map_keys = {MOST_KEYS} }}"


def _predicate(condition: str) -> str:
    return f" /{condition}/" if condition else ""


def _sum(first: str, last: str, key: str, ns: str) -> str:
    where = f"[(int64)({first}), (int64)({last}), {key}]"
    return f"@hist{where} = hist({ns}); @sum{where} = stats({ns}); @least{where} = min({ns}); @most{where} = max({ns});"


def _end(names: Sequence[str]) -> str:
    return "END { " + " ".join(f"clear(@{n});" for n in names) + " }"
