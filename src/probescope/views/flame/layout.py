"""From a tree of frames to boxes: where each frame lies and how wide it is. Sizes are fractions of the whole."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.frozen import dataclass
from probescope.views.flame.stacks import StackSamples


@dataclass(frozen=True, slots=True)
class Box:
    """One frame: ``depth`` 0 is the root; ``x`` and ``width`` are fractions of the whole; ``weight`` includes all that
    it called, ``own`` does not. ``change``: weight less than that before, as a fraction of the whole (scaled to equal
    totals), 0 if nothing is compared."""

    name: str
    depth: int
    x: float
    width: float
    weight: float
    own: float
    change: float = 0.0


def inverted(samples: StackSamples) -> StackSamples:
    """The same with each stack turned around: the innermost frame is the root, its callers lie above it."""
    out = StackSamples(unit=samples.unit, slots=samples.slots, times=samples.times)
    moved: dict[int, int] = {}
    for before, rows in ((False, samples.rows), (True, samples.base or {})):
        for (node, group, slot), weight in rows.items():
            if node not in moved:
                moved[node] = out.node(reversed(samples.path(node)))
            whose = out.group(samples.groups[group])
            out.add(moved[node], weight, whose, slot, before=before)
    return out


def boxes(samples: StackSamples, narrowest: float = 0.0) -> Iterator[Box]:
    """Outer frames before inner ones, siblings by name. Those narrower than ``narrowest`` (a fraction) are left out,
    with all that they called."""
    own = _own(samples, samples.rows)
    weight = _summed(samples, own)
    before = _summed(samples, _own(samples, samples.base)) if samples.base else None
    whole = weight[0] or 1.0
    scale = whole / (before[0] or 1.0) if before else 0.0
    children = _children(samples, weight)
    waiting = [(0, 0, 0.0)]
    while waiting:
        node, depth, x = waiting.pop()
        name = samples.frames[samples.frame[node]] if node else "all"
        change = (weight[node] - before[node] * scale) / whole if before else 0.0
        yield Box(name, depth, x / whole, weight[node] / whole, weight[node], own[node], change)
        for child in children.get(node, ()):
            if weight[child] / whole >= narrowest:
                waiting.append((child, depth + 1, x))
            x += weight[child]


def _own(samples: StackSamples, rows: dict[tuple[int, int, int], float] | None) -> list[float]:
    own = [0.0] * len(samples.parent)
    for (node, _, _), weight in (rows or {}).items():
        own[node] += weight
    return own


def _summed(samples: StackSamples, own: list[float]) -> list[float]:
    """Weights with those of callees. A node's number is above its parent's, so one pass from the end does."""
    weight = list(own)
    parent = samples.parent
    for node in range(len(weight) - 1, 0, -1):
        weight[parent[node]] += weight[node]
    return weight


def _children(samples: StackSamples, weight: list[float]) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for node in range(1, len(weight)):
        if weight[node] > 0:
            out.setdefault(samples.parent[node], []).append(node)
    for below in out.values():
        below.sort(key=lambda node: samples.frames[samples.frame[node]])
    return out
