"""Stacks: those of a selection as a tree of what was called, and the one of an event."""

from __future__ import annotations

from typing import Any

import numpy as np

from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import Reply

Array = np.ndarray[Any, Any]

MOST_NODES = 5000


class Sites:
    """The tree of callsites: parents, frames by number, and the names of frames. Numbers may have gaps: rows are
    places in ``ids``."""

    def __init__(self, opened: Opened) -> None:
        asked = opened.asked
        sites = asked.query("select id, coalesce(parent, -1) as parent, frame from callsite order by id").numpy()
        frames = list(asked.query("select id, function, inlined from frame order by id").tuples())
        self.ids = np.ma.getdata(sites["id"])
        parent = np.ma.getdata(sites["parent"])
        self.parent = np.where(parent >= 0, np.searchsorted(self.ids, np.maximum(parent, 0)), -1).astype(np.int64)
        numbers = np.array([f[0] for f in frames] or [0], np.int64)
        frame = np.minimum(np.searchsorted(numbers, np.ma.getdata(sites["frame"])), len(numbers) - 1)
        self.name = opened.names.numbers((f[1] or "?") for f in frames)[frame] if frames else np.empty(0, np.uint32)

    def places(self, callsites: Array) -> Array:
        return np.searchsorted(self.ids, callsites)


def sites(opened: Opened) -> Sites:
    made: Sites = opened.remembered("sites", lambda: Sites(opened))
    return made


def flame(opened: Opened, callsites: Array, weight: Array, unit: str, ticket: Ticket) -> Reply:
    """``weight`` by callsite, as a tree of names; the nodes with least are cut where there are too many."""
    known = sites(opened)
    own = np.zeros(len(known.ids))
    np.add.at(own, known.places(callsites), weight)
    nodes = merged(known, own)
    nodes, cut = largest(nodes)
    parent, name, self_, total = nodes
    head = {"unit": unit, "cut": cut, "total": float(weight.sum()), "samples": len(callsites)}
    arrays = {"parent": parent.astype(np.int32), "frame": name.astype(np.uint32), "self": self_, "total": total}
    return Reply(head, arrays, ("frame",))


Nodes = tuple[Array, Array, Array, Array]
"""Parents (-1 of outermost ones; smaller than the node's own number), names, own weights, total weights."""


def merged(known: Sites, own: Array) -> Nodes:
    """Callsites that have weight, or below which some do; those of one parent and one name are one node."""
    total = own.copy()
    for i in range(len(total) - 1, -1, -1) if len(total) < 1 << 17 else ():
        if total[i] and known.parent[i] >= 0:
            total[known.parent[i]] += total[i]
    if len(total) >= 1 << 17:
        total = _totals(known.parent, own)
    used = np.flatnonzero(total)
    node_of = np.full(len(total), -1, np.int64)
    keys: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    names: list[int] = []
    self_: list[float] = []
    totals: list[float] = []
    for i in used.tolist():
        up = int(known.parent[i])
        key = (int(node_of[up]) if up >= 0 else -1, int(known.name[i]))
        node = keys.setdefault(key, len(parents))
        if node == len(parents):
            parents.append(key[0])
            names.append(key[1])
            self_.append(0.0)
            totals.append(0.0)
        node_of[i] = node
        self_[node] += float(own[i])
        totals[node] += float(total[i])
    return np.array(parents, np.int64), np.array(names, np.uint32), np.array(self_), np.array(totals)


def _totals(parent: Array, own: Array) -> Array:
    """By depth, the deepest first."""
    depth = np.zeros(len(parent), np.int32)
    for i, up in enumerate(parent.tolist()):
        if up >= 0:
            depth[i] = depth[up] + 1
    total = own.copy()
    for d in range(int(depth.max(initial=0)), 0, -1):
        at = np.flatnonzero(depth == d)
        np.add.at(total, parent[at], total[at])
    return total


def largest(nodes: Nodes, most: int = MOST_NODES) -> tuple[Nodes, int]:
    """The nodes with most weight, and how many were cut. A parent has no less than its children: with a node, all
    above it stay."""
    parent, name, self_, total = nodes
    if len(parent) <= most:
        return nodes, 0
    order = np.lexsort((np.arange(len(total)), -total))[:most]
    keep = np.zeros(len(parent), bool)
    keep[order] = True
    number = np.cumsum(keep) - 1
    up = np.where(parent[keep] >= 0, number[np.maximum(parent[keep], 0)], -1)
    return (up, name[keep], self_[keep], total[keep]), int(len(parent) - keep.sum())


def stack_of(opened: Opened, callsite: int | None, ticket: Ticket) -> list[dict[str, Any]]:
    """Innermost frame first."""
    if callsite is None:
        return []
    sql = (
        "with recursive up(id, parent, frame, n) as (select id, parent, frame, 0 from callsite where id = ? union all"
        " select c.id, c.parent, c.frame, n + 1 from callsite c join up on c.id = up.parent where n < 512)"
        " select f.function, f.module, f.file, f.line, f.kernel, f.inlined from up join frame f on f.id = up.frame"
        " order by n"
    )
    names = ("function", "module", "file", "line", "kernel", "inlined")
    return [dict(zip(names, row, strict=True)) for row in ticket.rows(sql, [callsite])]
