"""Feature sections of the header: bytes -> typed values. One small parser each, in a table by the feature's number.

Strings are ``u32 length, bytes`` padded with zeros; lists ``u32 count, items``. A section of a number that is not in
the table is counted. Source: Documentation/perf.data-file-format.txt and tools/perf/util/header.c of
Linux 7.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from probescope.errors import FormatError
from probescope.formats.perfdata.attr import Attr, parse_attr
from probescope.formats.perfdata.cursor import Cursor
from probescope.frozen import dataclass

_NAMES = """TRACING_DATA BUILD_ID HOSTNAME OSRELEASE VERSION ARCH NRCPUS CPUDESC CPUID TOTAL_MEM CMDLINE EVENT_DESC
CPU_TOPOLOGY NUMA_TOPOLOGY BRANCH_STACK PMU_MAPPINGS GROUP_DESC AUXTRACE STAT CACHE SAMPLE_TIME MEM_TOPOLOGY CLOCKID
DIR_FORMAT BPF_PROG_INFO BPF_BTF COMPRESSED CPU_PMU_CAPS CLOCK_DATA HYBRID_TOPOLOGY PMU_CAPS CPU_DOMAIN_INFO""".split()
NAMES: Mapping[int, str] = dict(enumerate(_NAMES, 1))
NUMBERS: Mapping[str, int] = {name: number for number, name in NAMES.items()}
WITHOUT_DATA = ("BRANCH_STACK", "STAT")
"""Their presence says it."""
BITS = 256  # of the header's bitmap
MOST_CPUS = 1 << 13


@dataclass(frozen=True, slots=True)
class EventDescription:
    """An event as EVENT_DESC tells it: its name as the user of perf wrote it, and its ids."""

    attr: Attr
    name: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """``leader``: index of its first event; ``members`` counts that one too."""

    name: str
    leader: int
    members: int


@dataclass(frozen=True, slots=True)
class CpuPlace:
    core: int = -1
    socket: int = -1
    die: int = -1


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """Lists of CPUs (``0-3``) that share a core, a thread's siblings, a die; and where each CPU sits."""

    cores: tuple[str, ...]
    threads: tuple[str, ...]
    dies: tuple[str, ...] = ()
    cpus: tuple[CpuPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class NumaNode:
    """Memory in kB, as /sys tells it."""

    node: int
    total: int
    free: int
    cpus: str


@dataclass(frozen=True, slots=True)
class Cache:
    level: int
    line_size: int
    sets: int
    ways: int
    type: str
    size: str
    cpus: str


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """``blocks``: bit numbers of the memory blocks, as one integer; ``block``: bytes of each."""

    node: int
    size: int
    blocks: int
    block: int = 0


@dataclass(frozen=True, slots=True)
class ClockData:
    """The same moment on the recording's clock (``clockid``, ``ns``) and on the wall (``wall_ns`` since 1970)."""

    clockid: int
    wall_ns: int
    ns: int


@dataclass(frozen=True, slots=True)
class Domain:
    cpu: int
    domain: int
    name: str
    mask: str
    cpus: str


def _string(c: Cursor) -> str:
    return c.string()


def _u64(c: Cursor) -> int:
    return c.u64()


def _pair(c: Cursor) -> tuple[int, ...]:
    return c.unpack("II")


def _command(c: Cursor) -> tuple[str, ...]:
    return c.strings()


def _event_desc(c: Cursor) -> tuple[EventDescription, ...]:
    count, size = c.unpack("II")
    if size < 64 or count * size > c.left:
        raise FormatError(f"{count} attributes of {size} bytes in {c.left}", section=c.section, offset=0)
    found: list[EventDescription] = []
    for _ in range(count):
        attr = parse_attr(c.bytes(size), c.order == ">")
        ids = c.u32()
        name = c.string()
        if ids * 8 > c.left:
            raise FormatError(f"{ids} ids in {c.left} bytes", section=c.section, offset=c.at)
        found.append(EventDescription(attr, name, c.unpack(f"{ids}Q")))
    return tuple(found)


def _topology(c: Cursor) -> CpuTopology:
    """Cores and sockets of the CPUs, then lists of dies, then the die of each CPU (from 5.3 on): how many CPUs there
    are is not told, but only one number of them leaves no byte over."""
    cores, threads = c.strings(), c.strings()
    for cpus in range(1, min(c.left // 12, MOST_CPUS) + 1):
        rest = Cursor(c.data[c.at + 8 * cpus :], c.order == ">", c.section)
        try:
            dies = rest.strings()
        except FormatError:
            continue
        if dies and rest.left == 4 * cpus:
            places = [c.unpack("ii") for _ in range(cpus)]
            return CpuTopology(
                cores,
                threads,
                dies,
                tuple(
                    CpuPlace(core, socket, die)
                    for (core, socket), die in zip(places, rest.unpack(f"{cpus}i"), strict=True)
                ),
            )
    return CpuTopology(cores, threads, (), tuple(CpuPlace(*c.unpack("ii")) for _ in range(c.left // 8)))


def _numa(c: Cursor) -> tuple[NumaNode, ...]:
    return tuple(NumaNode(c.u32(), c.u64(), c.u64(), c.string()) for _ in range(c.count(24)))


def _pmus(c: Cursor) -> dict[int, str]:
    return {c.u32(): c.string() for _ in range(c.count(8))}


def _groups(c: Cursor) -> tuple[Group, ...]:
    return tuple(Group(c.string(), c.u32(), c.u32()) for _ in range(c.count(12)))


def _caches(c: Cursor) -> tuple[Cache, ...]:
    _version(c, c.u32())
    return tuple(
        Cache(c.u32(), c.u32(), c.u32(), c.u32(), c.string(), c.string(), c.string()) for _ in range(c.count(28))
    )


def _version(c: Cursor, version: int) -> None:
    if version != 1:
        raise FormatError(f"version {version}, known is 1", section=c.section, offset=0)


def _memory(c: Cursor) -> tuple[MemoryNode, ...]:
    _version(c, c.u64())
    block = c.u64()
    nodes: list[MemoryNode] = []
    for _ in range(min(c.u64(), c.left // 24)):
        node, size, bits = c.unpack("QQQ")
        words = c.unpack(f"{_words(c, bits)}Q")
        nodes.append(MemoryNode(node, size, sum(word << (64 * i) for i, word in enumerate(words)), block))
    return tuple(nodes)


def _words(c: Cursor, bits: int) -> int:
    words = (bits + 63) // 64
    if words * 8 > c.left:
        raise FormatError(f"{bits} bits in {c.left} bytes", section=c.section, offset=c.at)
    return words


def _clock(c: Cursor) -> ClockData:
    _version(c, c.u32())
    return ClockData(c.u32(), c.u64(), c.u64())


def _blobs(c: Cursor) -> tuple[tuple[int, bytes], ...]:
    """BPF_BTF: id and bytes of each."""
    return tuple((c.u32(), c.bytes(c.u32())) for _ in range(c.count(8)))


def _programs(c: Cursor) -> tuple[tuple[bytes, bytes], ...]:
    """BPF_PROG_INFO: ``struct bpf_prog_info`` and the arrays that it points to, offsets in place of pointers."""
    found: list[tuple[bytes, bytes]] = []
    for _ in range(c.count(16)):
        info, data = c.unpack("II")
        c.u64()
        found.append((c.bytes(info), c.bytes(data)))
    return tuple(found)


def _caps(c: Cursor) -> dict[str, str]:
    return {c.string(): c.string() for _ in range(c.count(8))}


def _pmu_caps(c: Cursor) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for _ in range(c.count(8)):
        caps = _caps(c)
        found[c.string()] = caps
    return found


def _hybrid(c: Cursor) -> dict[str, str]:
    return {c.string(): c.string() for _ in range(c.count(8))}


def _domains(c: Cursor) -> tuple[Domain, ...]:
    version, _ = c.unpack("II")
    found: list[Domain] = []
    while c.left >= 8:
        cpu, count = c.unpack("II")
        for _ in range(min(count, c.left)):
            number = c.u32()
            name = c.string() if version >= 17 else ""
            found.append(Domain(cpu, number, name, c.string(), c.string()))
    return tuple(found)


def _present(c: Cursor) -> bool:
    return True


_PARSERS: Mapping[str, Callable[[Cursor], Any]] = {
    "HOSTNAME": _string,
    "OSRELEASE": _string,
    "VERSION": _string,
    "ARCH": _string,
    "NRCPUS": _pair,
    "CPUDESC": _string,
    "CPUID": _string,
    "TOTAL_MEM": _u64,
    "CMDLINE": _command,
    "EVENT_DESC": _event_desc,
    "CPU_TOPOLOGY": _topology,
    "NUMA_TOPOLOGY": _numa,
    "BRANCH_STACK": _present,
    "PMU_MAPPINGS": _pmus,
    "GROUP_DESC": _groups,
    "STAT": _present,
    "CACHE": _caches,
    "SAMPLE_TIME": lambda c: c.unpack("QQ"),
    "MEM_TOPOLOGY": _memory,
    "CLOCKID": _u64,
    "DIR_FORMAT": _u64,
    "BPF_PROG_INFO": _programs,
    "BPF_BTF": _blobs,
    "COMPRESSED": lambda c: c.unpack("IIIII"),
    "CPU_PMU_CAPS": _caps,
    "CLOCK_DATA": _clock,
    "HYBRID_TOPOLOGY": _hybrid,
    "PMU_CAPS": _pmu_caps,
    "CPU_DOMAIN_INFO": _domains,
}


def parse_feature(name: str, data: bytes, big: bool) -> Any:
    """The value of a feature section; its bytes where the feature has no parser (AUXTRACE, unknown ones). Raises
    FormatError."""
    parser = _PARSERS.get(name)
    return data if parser is None else parser(Cursor(data, big, name))


def parse_build_ids(data: bytes, big: bool) -> tuple[list[tuple[int, bytes, str]], bool]:
    """Records of pid, build id and path, and whether all could be read.

        0            8      12                      32     33        36
        header (8)   pid    build id (20)           size   3 bytes   path, padded with zeros

    ``size`` counts with MISC_BUILD_ID_SIZE only ("perf tools: Store build id size", 5.10); without it zeros at the end
    belong to no build id.
    """
    cursor = Cursor(data, big, "BUILD_ID")
    found: list[tuple[int, bytes, str]] = []
    while cursor.left >= 8:
        _, misc, size = cursor.unpack("IHH")
        if size < 36 or size - 8 > cursor.left:
            return found, False
        found.append(build_id_record(cursor.bytes(size - 8), misc, big))
    return found, not cursor.left


def build_id_record(body: bytes, misc: int, big: bool) -> tuple[int, bytes, str]:
    pid = int.from_bytes(body[:4], "big" if big else "little", signed=True)
    size = body[24] if misc & 0x8000 and len(body) > 24 and body[24] <= 20 else 20
    build_id = body[4 : 4 + size]
    if size == 20 and not misc & 0x8000:
        build_id = build_id[:16] if build_id[16:] == b"\0" * 4 else build_id
    return pid, build_id, body[28:].split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
