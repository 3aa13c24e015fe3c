"""Which threads and CPUs a filter may be about: for pictures, whose slices are no events.

What a condition on events or their fields says of a thread is not known: it may hold, and it may not. So each part of a
filter gives two masks, where it may hold and where it must, and ``not`` exchanges them.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.frozen import dataclass
from probescope.views.timeline.filters.parse import Joined, Node, Not, Term, Value

if TYPE_CHECKING:
    from probescope.views.timeline.opened import Opened

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class People:
    """Threads as columns, by utid."""

    name: Array
    tid: Array
    pid: Array


def people(opened: Opened) -> People:
    def made() -> People:
        sql = "select utid, t.name, tid, coalesce(p.pid, tid) from thread t left join process p using (upid)"
        rows = list(opened.asked.query(sql).tuples())
        size = max((r[0] for r in rows), default=0) + 1
        name: Array = np.full(size, "", object)
        tid, pid = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        for utid, called, number, process in rows:
            name[utid], tid[utid], pid[utid] = called or "", number if number is not None else -1, process or -1
        return People(name, tid, pid)

    found: People = opened.remembered("people", made)
    return found


def may_match(opened: Opened, node: Node | None, utid: Array, cpu: Array | None) -> Array:
    """Of each pair of a thread and a CPU; ``cpu``: None where that is not known."""
    if node is None:
        return np.ones(len(utid), bool)
    return _both(people(opened), node, utid, cpu)[0]


def _both(known: People, node: Node, utid: Array, cpu: Array | None) -> tuple[Array, Array]:
    if isinstance(node, Not):
        may, must = _both(known, node.one, utid, cpu)
        return ~must, ~may
    if isinstance(node, Joined):
        parts = [_both(known, p, utid, cpu) for p in node.parts]
        joined = np.logical_and if node.word == "and" else np.logical_or
        return joined.reduce([p[0] for p in parts]), joined.reduce([p[1] for p in parts])
    found = _term(known, node, utid, cpu)
    if found is None:
        return np.ones(len(utid), bool), np.zeros(len(utid), bool)
    return found, found


def _term(known: People, node: Term, utid: Array, cpu: Array | None) -> Array | None:
    name = node.name.lower()
    if name == "cpu":
        return None if cpu is None else _holds(node, cpu)
    columns = {"task": known.name, "comm": known.name, "tid": known.tid, "pid": known.pid}
    if name not in columns:
        return None
    inside = np.minimum(utid, len(known.tid) - 1)
    distinct, back = np.unique(inside, return_inverse=True)
    found: Array = _holds(node, columns[name][distinct])[back]
    return found


def _holds(node: Term, values: Array) -> Array:
    return np.fromiter((_one(node, v) for v in values.tolist()), bool, len(values))


def _one(node: Term, value: Value) -> bool:
    if node.op in ("~", "!~"):
        return fnmatch.fnmatchcase(str(value), str(node.value)) == (node.op == "~")
    if node.op == "in":
        return any(_compared("<=", a, value) and _compared("<=", value, b) for a, b in node.ranges)
    return _compared(node.op, value, node.value)


def _compared(op: str, a: Value, b: Value) -> bool:
    if isinstance(a, str) != isinstance(b, str):
        a, b = str(a), str(b)
    if op == "&":
        return isinstance(a, int) and isinstance(b, int) and bool(a & b)
    order = (a > b) - (a < b)  # type: ignore[operator]
    return {"==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[op]
