"""Keys of one number that a sample has: latencies, transactions, pages, control groups, sockets.

Source: tools/perf/util/sort.c of Linux 6.12 (words, widths, order); enum PERF_TXN_* of include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from probescope.views.reporting.keys import Key, Value
from probescope.views.reporting.sums import MASK
from probescope.views.script_parts import page

if TYPE_CHECKING:
    from probescope.collect.recorded.told import Told
    from probescope.views.reporting.sums import Group

_TRANSACTION = ("EL", "TX", "SYNC", "ASYNC", "RETRY", "CON", "CAP-WRITE", "CAP-READ")
_HOW = 0b1100
"""SYNC or ASYNC."""


def transaction(flags: int) -> str:
    """``TX SYNC :7``: what was aborted and why; the code that the program gave for it."""
    words = [name for i, name in enumerate(_TRANSACTION) if flags >> i & 1]
    words += ["NEITHER"] if flags and not flags & _HOW else []
    code = flags >> 32 & 0xFFFFFFFF
    return " ".join([*words, f":{code:x}"] if code else words)


def _socket(told: Told, cpu: int) -> int:
    cpus = getattr(getattr(told.recording, "features", {}).get("CPU_TOPOLOGY"), "cpus", ())
    return cpus[cpu].socket if 0 <= cpu < len(cpus) else -1


def _number(number: int, form: str = "d") -> Value:
    return Value(number, format(number, form))


def _alone(column: str) -> Callable[[Group, Told], Value]:
    return lambda group, _: _number(group.numbers[column])


def _together(column: str) -> Callable[[Group, Told], Value]:
    """Of all samples of the row."""
    return lambda group, _: _number(group.numbers[column] * group.samples)


def _cgroup(group: Group, told: Told) -> Value:
    number = group.numbers["cgroup"]
    name = told.tasks.cgroups.get(number, "unknown") if number else "N/A"
    return Value(name, name)


_VALUES: Mapping[str, Callable[[Group, Told], Value]] = {
    "local_weight": _alone("weight"),
    "weight": _together("weight"),
    "local_ins_lat": _alone("ins_lat"),
    "ins_lat": _together("ins_lat"),
    "local_retire_lat": _alone("retire_lat"),
    "retire_lat": _together("retire_lat"),
    "transaction": lambda g, _: Value(g.numbers["transaction"], transaction(g.numbers["transaction"])),
    "code_page_size": lambda g, _: Value(g.numbers["code_page_size"], page(g.numbers["code_page_size"]).strip()),
    "addr": lambda g, _: _number(g.ip & MASK, "#x"),
    "socket": lambda g, told: _number(_socket(told, g.cpu), "03d"),
    "cgroup": _cgroup,
}


def value(key: Key, group: Group, told: Told) -> Value | None:
    """None: it is no key of these."""
    found = _VALUES.get(key.name)
    return found(group, told) if found is not None else None
