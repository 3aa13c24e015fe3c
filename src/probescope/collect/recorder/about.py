"""What a recording tells about the machine that it was made on: the features of its header."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from probescope.collect.recorder.opening import RingEvent
from probescope.formats.perfdata.features import ClockData, CpuPlace, CpuTopology, Group, NumaNode
from probescope.formats.perfdata.tracing_write import encode_tracing_data
from probescope.kernel import machine, topology, tracefs
from probescope.kernel.host import host
from probescope.kernel.perf_attr import pmus
from probescope.kernel.uapi import perf as u


def features(events: Sequence[RingEvent], command: Sequence[str], *, clockid: int = -1) -> dict[str, Any]:
    """By the names of formats/perfdata/features.py. What cannot be found out is left out."""
    from probescope._version import __version__

    h = host()
    cpu = _cpu()
    found: dict[str, Any] = {
        "HOSTNAME": _text("/proc/sys/kernel/hostname"),
        "OSRELEASE": h.release,
        "VERSION": f"probescope {__version__}",
        "ARCH": h.machine,
        "NRCPUS": (len(machine.possible_cpus()), len(machine.online_cpus())),
        "CPUDESC": cpu.get("model name", ""),
        "CPUID": ",".join(cpu.get(k, "") for k in ("vendor_id", "cpu family", "model", "stepping")).strip(","),
        "TOTAL_MEM": _memory("/proc/meminfo").get("MemTotal", 0),
        "CMDLINE": tuple(command),
        "CPU_TOPOLOGY": _topology(),
        "NUMA_TOPOLOGY": _nodes(),
        "PMU_MAPPINGS": {number: name for name, number in pmus().items()},
        "GROUP_DESC": _groups(events),
    }
    if any(e.attr.sample_type & u.PERF_SAMPLE_BRANCH_STACK for e in events):
        found["BRANCH_STACK"] = True
    if clockid >= 0:
        found["CLOCKID"] = 1  # ns a tick
        found["CLOCK_DATA"] = _clocks(clockid)
    return {name: value for name, value in found.items() if value}


def _text(path: str) -> str:
    try:
        return host().read_text(path, 1 << 16).strip()
    except OSError:
        return ""


def _cpu() -> Mapping[str, str]:
    """Of the first CPU. Arm's /proc/cpuinfo has no model name."""
    try:
        first = host().read_text("/proc/cpuinfo", 1 << 22).split("\n\n", 1)[0]
    except OSError:
        return {}
    parts = (line.partition(":") for line in first.split("\n"))
    return {name.strip(): value.strip() for name, _, value in parts}


def _memory(path: str) -> Mapping[str, int]:
    """In kB, by name, of a text whose lines are ``[Node 0 ]MemTotal:   123 kB``."""
    out: dict[str, int] = {}
    for line in _text(path).splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            out[name.split(" ")[-1]] = int(words[0])
    return out


def _topology() -> CpuTopology | None:
    cpus = machine.online_cpus()
    if cpus != list(range(len(cpus))):  # readers take the n-th entry for CPU n
        return None
    base = f"{topology.CPUS}/cpu"
    cores = dict.fromkeys(_text(f"{base}{c}/topology/core_siblings_list") for c in cpus)
    threads = dict.fromkeys(_text(f"{base}{c}/topology/thread_siblings_list") for c in cpus)
    dies = dict.fromkeys(_text(f"{base}{c}/topology/die_cpus_list") for c in cpus)
    places = tuple(CpuPlace(topology.core_of(c), topology.socket_of(c), topology.die_of(c)) for c in cpus)
    return CpuTopology(tuple(cores), tuple(threads), tuple(d for d in dies if d), places)


def _nodes() -> tuple[NumaNode, ...]:
    found = []
    for node in sorted(set(topology.nodes().values())):
        base = f"{topology.NODES}/node{node}"
        memory = _memory(f"{base}/meminfo")
        found.append(NumaNode(node, memory.get("MemTotal", 0), memory.get("MemFree", 0), _text(f"{base}/cpulist")))
    return tuple(found)


def _groups(events: Sequence[RingEvent]) -> tuple[Group, ...]:
    """Without names of their own: readers make them of the events'."""
    out = []
    for leader in dict.fromkeys(e.leader for e in events if e.leader >= 0):
        members = [e.name for e in events if e.leader == leader]
        if len(members) > 1:
            out.append(Group("{anon_group}", leader, len(members)))
    return tuple(out)


def _clocks(clockid: int) -> ClockData:
    """The closest of some pairs of readings."""
    best = (1 << 63, 0, 0)
    for _ in range(5):
        before = time.clock_gettime_ns(clockid)
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(clockid)
        best = min(best, (after - before, wall, (before + after) // 2))
    return ClockData(clockid, best[1], best[2])


def tracing_data(events: Sequence[RingEvent]) -> bytes:
    """Descriptions of the tracepoints among ``events``; empty if there is none. Raises KernelError."""
    names = dict.fromkeys(
        e.name.split(":")[0] + ":" + e.name.split(":")[1] for e in events if e.attr.type == u.PERF_TYPE_TRACEPOINT
    )
    if not names:
        return b""
    formats: dict[str, list[bytes]] = {}
    for name in names:
        system, _, event = name.partition(":")
        formats.setdefault(system, []).append(tracefs.event_format(system, event).encode())
    return encode_tracing_data(
        formats,
        header_page=tracefs.read("events/header_page").encode(),
        header_event=tracefs.read("events/header_event").encode(),
        printk=_tracefs("printk_formats"),
        commands=_tracefs("saved_cmdlines"),
        page_size=host().page_size,
    )


def _tracefs(name: str) -> bytes:
    from probescope.errors import KernelError

    try:
        return tracefs.read(name).encode("utf-8", "replace")
    except KernelError:
        return b""
