"""How ``stat`` puts counts together: all of them, or by CPU, core, socket, node or thread; and what rows are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from probescope.model.counting import Reading, Total
from probescope.model.visible import printable

Label = Callable[[Total], tuple[str, tuple[tuple[str, object], ...]]]
Grouping = tuple[Callable[[Reading], tuple[int, ...]], Label, Callable[[Total], Any]]


def all_together() -> Grouping:
    return lambda _: (), lambda _: ("", ()), lambda t: t.counter


def by_cpu(summed: frozenset[int] = frozenset()) -> Grouping:
    """``summed``: counters (those with the term percore) that are summed up by core."""

    def label(t: Total) -> tuple[str, tuple[tuple[str, object], ...]]:
        if len(t.key) == 3:
            name = f"S{t.key[0]}-D{t.key[1]}-C{t.key[2]}"
            return f"{name:<11}", (("core", name),)
        cpu = next(iter(t.key))
        return f"CPU{cpu:<8}", (("cpu", str(cpu)),)

    cores: dict[int, tuple[int, ...]] = {}

    def key(r: Reading) -> tuple[int, ...]:
        if r.counter not in summed:
            return (r.cpu,)
        if r.cpu not in cores:
            cores[r.cpu] = core(r.cpu)
        return cores[r.cpu]

    return key, label, lambda t: (t.counter, t.key)


def core(cpu: int) -> tuple[int, int, int]:
    """(socket, die, core)"""
    from probescope.kernel import topology

    return topology.socket_of(cpu), topology.die_of(cpu), topology.core_of(cpu)


def for_each_cpu(totals: Sequence[Total], cpus: Sequence[int]) -> list[Total]:
    """Sums of cores beside each of their CPUs."""
    from probescope.frozen import replace

    places = [(cpu, core(cpu)) for cpu in cpus]
    out: list[Total] = []
    for t in totals:
        out += [replace(t, key=(cpu,)) for cpu, of in places if of == t.key] if len(t.key) > 1 else [t]
    return out


def by_thread() -> Grouping:
    """The busiest first."""
    from probescope.kernel import procfs

    names: dict[int, str] = {}

    def label(t: Total) -> tuple[str, tuple[tuple[str, object], ...]]:
        tid = t.key[0]
        if tid not in names:
            try:
                names[tid] = procfs.comm(tid)
            except OSError:
                names[tid] = ""
        name = printable(names[tid])
        return f"{name:>16}-{tid:<8} ", (("thread", f"{name}-{tid}"),)

    return lambda r: (r.tid,), label, lambda t: (t.counter, -t.value, t.key)


def by_place(kind: str, cpus: Sequence[int]) -> Grouping:
    from probescope.kernel import topology

    nodes = topology.nodes() if kind == "node" else {}
    keys: dict[int, tuple[int, ...]] = {}
    for cpu in cpus:
        if kind == "node":
            keys[cpu] = (nodes.get(cpu, 0),)
        else:
            keys[cpu] = core(cpu)[: {"core": 3, "die": 2}.get(kind, 1)]

    def label(t: Total) -> tuple[str, tuple[tuple[str, object], ...]]:
        if kind == "core":
            name = f"S{t.key[0]}-D{t.key[1]}-C{t.key[2]}"
            return f"{name:<14}{t.parts:>6} ", ((kind, name), ("aggregate-number", t.parts))
        if kind == "die":
            name = f"S{t.key[0]}-D{t.key[1]}"
            return f"{name:<8}{t.parts:>6} ", ((kind, name), ("aggregate-number", t.parts))
        name = f"{kind[0].upper()}{t.key[0]}"
        return f"{name:<5}{t.parts:>6} ", ((kind, name), ("aggregate-number", t.parts))

    return lambda r: keys.get(r.cpu, (0,)), label, lambda t: (t.key, t.counter)
