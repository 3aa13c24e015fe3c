"""Levels above slices: each bin stands for up to eight of the level below, of the same lane.

    level 0   ▇ ▇▇  ▇ ▇ ▇▇ ▇ ▇ ▇      slices: start, end, key, kind
    level 1   [       8      ][  1]   start, end, covered time, the key with most of it, that time, its kind
    level 2   [         2         ]

Lanes are laid one behind the other in every level; how many bins a lane has in a level follows from how many slices it
has, so that nothing is written down of that. What a key has in total is kept of the largest one alone: where no key
holds most of the time, which one is told may not be the largest by a little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probescope.store.lod.files import Writer

Array = np.ndarray[Any, Any]

FAN = 8
FEW = 64
"""A lane with no more bins than that needs no further level."""
PIECE = 1 << 19
EVER = -(1 << 63), (1 << 63) - 1
COLUMNS = (("start", "<i8"), ("end", "<i8"), ("covered", "<f4"), ("key", "<u4"), ("time", "<f4"), ("kind", "|u1"))


def counts_above(counts: Array) -> Array:
    """Bins of each lane in the next level; none where there are few enough."""
    return np.where(counts > FEW, -(-counts // FAN), 0)


def level_counts(counts: Array) -> list[Array]:
    """From the slices on, until no lane has more."""
    out = [np.asarray(counts, np.int64)]
    while (above := counts_above(out[-1])).any():
        out.append(above)
    return out


def offsets(counts: Array) -> Array:
    """Where each lane begins."""
    return np.concatenate(([0], np.cumsum(counts)))[:-1].astype(np.int64)


def declare(out: Writer, counts: list[Array]) -> None:
    for k, level in enumerate(counts[1:], 1):
        for name, kind in COLUMNS:
            out.column(f"{name}{k}", kind, int(level.sum()))


def build(out: Writer, counts: list[Array]) -> None:
    """Fills what was declared; the slices are there."""
    for k in range(1, len(counts)):
        below, above = counts[k - 1], counts[k]
        lanes = np.flatnonzero(above)
        firsts = offsets(below)[lanes]
        # first child of each bin, and how many children it has
        which = np.repeat(np.arange(len(lanes)), above[lanes])
        nth = np.arange(len(which)) - np.repeat(offsets(above[lanes]), above[lanes])
        child = firsts[which] + nth * FAN
        size = np.minimum(FAN, below[lanes][which] - nth * FAN)
        for at in range(0, len(child), PIECE // FAN):
            _piece(out, k, at, child[at : at + PIECE // FAN], size[at : at + PIECE // FAN])


def _piece(out: Writer, k: int, at: int, child: Array, size: Array) -> None:
    low, high = int(child[0]), int(child[-1] + size[-1])
    start, end = out.get(f"start{k - 1}", low, high - low), out.get(f"end{k - 1}", low, high - low)
    key, kind = out.get(f"key{k - 1}", low, high - low), out.get(f"kind{k - 1}", low, high - low)
    if k == 1:
        covered = time = (end - start).astype(np.float32)
    else:
        covered, time = out.get(f"covered{k - 1}", low, high - low), out.get(f"time{k - 1}", low, high - low)
    first = child - low
    # a table of 8 columns; where a bin has fewer children, the last one is repeated with no time
    places = first[:, None] + np.minimum(np.arange(FAN), size[:, None] - 1)
    there = np.arange(FAN) < size[:, None]
    times = np.where(there, time[places], 0)
    best, most = dominant(key[places], times)
    rows = np.arange(len(first))
    chosen = places[rows, best]
    out.put(f"start{k}", at, start[first])
    out.put(f"end{k}", at, end[first + size - 1])
    out.put(f"covered{k}", at, np.where(there, covered[places], 0).sum(1))
    out.put(f"key{k}", at, key[chosen])
    out.put(f"time{k}", at, most)
    out.put(f"kind{k}", at, kind[chosen])


def dominant(keys: Array, times: Array) -> tuple[Array, Array]:
    """Of each row the column whose key has most time, and that time."""
    best = np.zeros(len(keys), np.int64)
    most = np.full(len(keys), -1, np.float32)
    for i in range(keys.shape[1]):
        total = np.zeros(len(keys), np.float32)
        for j in range(keys.shape[1]):
            total += np.where(keys[:, j] == keys[:, i], times[:, j], 0)
        better = total > most
        best[better], most[better] = i, total[better]
    return best, np.maximum(most, 0)
