"""What a recording tells of itself: its header, how many records of which kind, processes and their memory.

Source: the texts of perf report --header-only, --stats, --tasks and --mmaps of Linux 6.1.
"""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.model.recording import MappedFile, Named, Started
from probescope.model.visible import printable

if TYPE_CHECKING:
    from probescope.formats.perfdata.attr import Attr
    from probescope.formats.perfdata.features import Cache, CpuTopology, MemoryNode, NumaNode
    from probescope.formats.perfdata.reader import PerfData

MOST_TASKS = 1 << 20
MOST_DEPTH = 100
_SIMPLE = (
    ("HOSTNAME", "hostname"),
    ("OSRELEASE", "os release"),
    ("VERSION", "perf version"),
    ("ARCH", "arch"),
)
_LATER = (("CPUDESC", "cpudesc"), ("CPUID", "cpuid"))


def write(write: Callable[[str], object], recording: PerfData, args: Namespace) -> bool:
    """Whether that was all that was asked for."""
    if args.header or args.header_only:
        for line in header(recording, whole=getattr(args, "show_info", False)):
            write(f"# {printable(line)}".rstrip() + "\n")
        write("#\n")
    if args.stats:
        for line in stats(recording):
            write(line + "\n")
    if args.tasks or args.mmaps:
        for line in tasks(recording, maps=args.mmaps):
            write(printable(line) + "\n")
    return bool(args.header_only or args.stats or args.tasks or args.mmaps)


def header(recording: PerfData, *, whole: bool = False) -> Iterator[str]:
    """``whole``: with what is known of the machine (-I)."""
    container, found = recording.container, recording.features
    yield "========"
    made = _made(recording.name)
    if made:
        yield f"captured on    : {made}"
    yield f"header version : {0 if container.pipe else 1}"
    if not container.pipe:
        yield f"data offset    : {container.data[0]}"
        yield f"data size      : {container.data[1]}"
        yield f"feat offset    : {sum(container.data)}"
    for name, title in _SIMPLE:
        if name in found:
            yield f"{title} : {found[name]}"
    if "NRCPUS" in found:
        available, online = found["NRCPUS"][:2]
        yield f"nrcpus online : {online}"
        yield f"nrcpus avail : {available}"
    for name, title in _LATER:
        if name in found:
            yield f"{title} : {found[name]}"
    if "TOTAL_MEM" in found:
        yield f"total memory : {found['TOTAL_MEM']} kB"
    if "CMDLINE" in found:
        yield f"cmdline : {' '.join(found['CMDLINE'])}"
    yield from _events(recording)
    yield from _lists(recording, whole=whole)
    yield from _missing(recording)
    yield "========"


def _lists(recording: PerfData, *, whole: bool) -> Iterator[str]:
    """In order of the features' numbers."""
    found = recording.features
    for name in ("CPU_TOPOLOGY", "NUMA_TOPOLOGY"):
        if name in found:
            yield from _AT_LENGTH[name](found[name]) if whole else [f"{name} info available, use -I to display"]
    if "BRANCH_STACK" in found:
        yield "contains samples with branch stack"
    if "PMU_MAPPINGS" in found:
        yield "pmu mappings: " + ", ".join(f"{n} = {i}" for i, n in found["PMU_MAPPINGS"].items())
    for group in recording.groups:
        names = [e.name for e in recording.events[group.leader : group.leader + group.members]]
        yield f"group: {'' if 'anon_group' in group.name else group.name}{{{','.join(names)}}}"
    if "CACHE" in found:
        yield from _caches(found["CACHE"]) if whole else ["CACHE info available, use -I to display"]
    if "SAMPLE_TIME" in found:
        first, last = found["SAMPLE_TIME"][:2]
        for what, ns in (("first", first), ("last", last)):
            yield f"time of {what} sample : {ns // 10**9}.{ns % 10**9 // 1000:06d}"
        yield f"sample duration : {(last - first) / 1e6:10.3f} ms"
    if "MEM_TOPOLOGY" in found:
        yield from _memory(found["MEM_TOPOLOGY"]) if whole else ["MEM_TOPOLOGY info available, use -I to display"]


def _topology(t: CpuTopology) -> Iterator[str]:
    for title, lists in (("sockets", t.cores), ("dies   ", t.dies), ("threads", t.threads)):
        yield from (f"sibling {title} : {one}" for one in lists)
    for i, cpu in enumerate(t.cpus):
        die = f"Die ID {cpu.die}, " if t.dies else ""
        known = cpu.core >= 0
        yield (
            f"CPU {i}: Core ID {cpu.core}, {die}Socket ID {cpu.socket}" if known else f"CPU {i}: Core ID and Socket ID"
        )


def _nodes(nodes: tuple[NumaNode, ...]) -> Iterator[str]:
    for n in nodes:
        yield f"node{n.node} meminfo  : total = {n.total} kB, free = {n.free} kB"
        yield f"node{n.node} cpu list : {n.cpus}"


_AT_LENGTH: Mapping[str, Callable[[Any], Iterator[str]]] = {"CPU_TOPOLOGY": _topology, "NUMA_TOPOLOGY": _nodes}


def _caches(caches: Sequence[Cache]) -> Iterator[str]:
    yield "CPU cache info:"
    yield from (f" L{c.level} {c.type:<15} {c.size:>8} [{c.cpus}]" for c in caches)


def _memory(nodes: Sequence[MemoryNode]) -> Iterator[str]:
    block = nodes[0].block if nodes else 0
    yield f"memory nodes (nr {len(nodes)}, block size {block:#x}):"
    for n in nodes:
        size = block * n.blocks.bit_count()
        shift = next((s for s in (40, 30, 20, 10) if size >> s), 0)
        unit = {40: "T", 30: "G", 20: "M", 10: "K", 0: "B"}[shift]
        yield f"  {n.node:2d} [{size >> shift}{unit}]: {_ranges(n.blocks)}"


def _ranges(mask: int) -> str:
    """``0-23,32-199``"""
    out, at = [], 0
    while mask >> at:
        start = at + (mask >> at & -(mask >> at)).bit_length() - 1
        run = ~(mask >> start)
        length = (run & -run).bit_length() - 1
        out.append(f"{start}-{start + length - 1}" if length > 1 else str(start))
        at = start + length
    return ",".join(out)


def _made(name: str) -> str:
    try:
        at = os.stat(os.path.join(name, "data") if os.path.isdir(name) else name).st_mtime
    except OSError:
        return ""
    return time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(at))


def _events(recording: PerfData) -> Iterator[str]:
    ids: dict[int, list[int]] = {}
    for one, index in recording.ids.items():
        ids.setdefault(index, []).append(one)
    for index, (event, attr) in enumerate(zip(recording.events, recording.attrs, strict=False)):
        of = ", ".join(map(str, ids.get(index, [])))
        parts = [f"name = {event.name}", f"id = {{ {of} }}" if of else "", *_attr(attr)]
        yield "event : " + ", ".join(filter(None, parts))


_BITS = (
    "IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC "
    "IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT"
).split()
"""enum perf_event_sample_format of include/uapi/linux/perf_event.h."""


def _attr(attr: Attr) -> Iterator[str]:
    for name in ("type", "size", "config"):
        value = getattr(attr, name)
        if value or name == "type":
            yield f"{name} = {value:#x}" if name == "config" else f"{name} = {value}"
    if attr.period:
        yield f"{{ sample_period, sample_freq }} = {attr.period}"
    bits = [name for i, name in enumerate(_BITS) if attr.sample_type >> i & 1]
    if bits:
        yield f"sample_type = {'|'.join(bits)}"


def _missing(recording: PerfData) -> Iterator[str]:
    from probescope.formats.perfdata.features import NUMBERS

    lacking = [n for n, i in NUMBERS.items() if n not in recording.sections and i <= NUMBERS["PMU_CAPS"]]
    if lacking and not recording.container.pipe:
        yield f"missing features: {' '.join(lacking)}"


def stats(recording: PerfData) -> Iterator[str]:
    """Records by type, and samples by event: read to the end."""
    import numpy as np

    samples = np.zeros(len(recording.events), np.int64)
    for batch in recording.batches():
        found = np.bincount(batch.event[batch.event >= 0])
        if len(found) > len(samples):
            samples = np.pad(samples, (0, len(found) - len(samples)))
        samples[: len(found)] += found
    counts = recording.stats
    total = sum(counts.values())
    yield ""
    yield "Aggregated stats:"
    yield f"{'TOTAL':>16} events: {total:>10}"
    for name, count in counts.items():
        if count:
            yield f"{name:>16} events: {count:>10}  ({100 * count / (total or 1):4.1f}%)"
    for event, count in zip(recording.events, samples.tolist(), strict=False):
        yield f"{printable(event.name)} stats:"
        yield f"{'SAMPLE':>16} events: {count:>10}"


def tasks(recording: PerfData, *, maps: bool) -> Iterator[str]:
    """Threads under their parents, in the order in which they are told of; with ``maps`` the files in the memory of
    each process."""
    known: dict[int, list[Any]] = {0: [0, -1, "swapper", []]}
    for batch in recording.batches():
        for _, r in batch.between:
            if len(known) > MOST_TASKS:
                break
            if isinstance(r, Started):
                parent = known.get(r.parent_tid, [0, 0, f":{r.parent_tid}", []])
                known[r.tid] = [r.pid, r.parent, parent[2], []]
            elif isinstance(r, Named):
                known.setdefault(r.tid, [r.pid, -1, "", []])[2] = r.comm
            elif isinstance(r, MappedFile) and r.pid >= 0:
                known.setdefault(r.pid, [r.pid, -1, f":{r.pid}", []])[3].append(r)
    yield f"# {'pid':>8} {'tid':>8} {'ppid':>8}  comm"
    for tid, (pid, parent, name, mapped) in sorted(known.items()):
        inside = " " * _depth(known, tid)
        yield f"{pid:>10} {tid:>8} {parent if parent in known else -1:>8} |{inside}{name}"
        for m in sorted(mapped, key=lambda m: m.start) if maps else ():
            bits = "".join(c if m.protection & b else "-" for c, b in (("r", 1), ("w", 2), ("x", 4)))
            shared = "s" if m.flags & 1 else "p"
            yield f"{' ' * 32}{inside}{m.start:x}-{m.end:x} {bits}{shared} {m.offset:08x} {m.inode} {m.path}"


def _depth(known: Mapping[int, list[Any]], tid: int) -> int:
    """How many ancestors of it are told of: those that say who started them (or whose process does)."""
    seen = {tid}
    parent = known[tid][1]
    while parent in known and parent not in seen and len(seen) <= MOST_DEPTH:
        seen.add(parent)
        parent = known[parent][1]
    return len(seen) - 1
