"""``a ?? b { }``: the first of several attach points that exists here, and can be used.

Kernels differ: functions are inlined or renamed, tracepoints come and go, a mechanism is not built in. What decides is
this host alone, before anything is attached; the body is lowered for the sites that were chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.errors import LimitError, ProbescopeError
from probescope.frozen import dataclass
from probescope.model.site import Site

if TYPE_CHECKING:
    from probescope.lang.bt.ast import AttachPoint
    from probescope.lang.bt.check_program import Environment

Rank = tuple["AttachPoint", ...]
"""Points of one place in the row: several where the source is a glob."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """``sites`` with the points that they come from. ``reasons``: of each point before them, why it was passed over.
    ``first``: what was wrong with the first one."""

    sites: tuple[tuple[Site, AttachPoint], ...]
    reasons: tuple[str, ...] = ()
    first: ProbescopeError | None = None


def alternatives(points: Iterable[AttachPoint]) -> Iterator[tuple[Rank, ...]]:
    """What stands between two commas: one rank, or several with ``??`` between them."""
    group: list[list[AttachPoint]] = []
    for p in points:
        if group and p.span == group[-1][-1].span:
            group[-1].append(p)
            continue
        if group and p.rank == 0:
            yield tuple(map(tuple, group))
            group = []
        group.append([p])
    if group:
        yield tuple(map(tuple, group))


def choose(env: Environment, ranks: Sequence[Rank], fields: bool) -> Chosen:
    """Raises LimitError for a pattern that matches too much: that is no question of being there."""
    reasons: list[str] = []
    first: ProbescopeError | None = None
    for rank in ranks:
        found: list[tuple[Site, AttachPoint]] = []
        for point in rank:
            try:
                sites = env.resolve(point.spec, fields)
            except LimitError:
                raise
            except ProbescopeError as e:
                first = first or e
                reasons.append(f"{point.written}: {e.what}")
                continue
            unusable = {s.name: why for s in sites if (why := s.reason or s.doubt or env.unserved(s))}
            found += [(s, point) for s in sites if s.name not in unusable]
            reasons += [f"{name}: {why}" for name, why in list(unusable.items())[:1]]
        if found:
            return Chosen(tuple(found), tuple(reasons), first)
    return Chosen((), tuple(reasons), first)


def told(ranks: Sequence[Rank], chosen: Chosen) -> str:
    """Which one it is, for whoever asks to have it explained."""
    row = " ?? ".join(r[0].written for r in ranks)
    names = list(dict.fromkeys(s.name for s, _ in chosen.sites))
    which = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    why = f" ({'; '.join(chosen.reasons)})" if chosen.reasons else ""
    return f"{row}: it is {which}{why}"
