"""What osnoise, timerlat and hwlat sample, summed up by hand."""

from __future__ import annotations

import struct

import numpy as np

from probescope.formats.tracing.event_format import parse_event_format
from probescope.model.recording import EventBatch, Ragged
from probescope.views.latency.samples import samples

COMMON = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"


def event(name: str, fields: list[tuple[str, str, int, int, int]]):
    rows = "".join(f"\tfield:{t} {n};\toffset:{o};\tsize:{s};\tsigned:{g};\n" for t, n, o, s, g in fields)
    return parse_event_format(f"name: {name}\nID: 7\nformat:\n{COMMON}{rows}", "ftrace")


def batch(records: list[tuple[int, bytes]]) -> EventBatch:
    """Of (CPU, record); other events than the one that is asked for are in between."""
    n = len(records)
    data = b"".join(r for _, r in records)
    sizes = np.array([len(r) for _, r in records], np.int64)
    raw = Ragged(np.frombuffer(data, np.uint8), np.cumsum(sizes) - sizes, sizes)
    numbers = np.zeros(n, np.int32)
    cpus = np.array([c for c, _ in records], np.int32)
    return EventBatch(n, numbers, np.arange(n, dtype=np.uint64), cpus, numbers, numbers, numbers, raw=raw)


OSNOISE = event(
    "osnoise",
    [("u64", "noise", 8, 8, 0), ("u64", "runtime", 16, 8, 0), ("u64", "max_sample", 24, 8, 0)]
    + [
        ("unsigned int", f"{c}_count", 32 + 4 * i, 4, 0)
        for i, c in enumerate(("hw", "nmi", "irq", "softirq", "thread"))
    ],
)
TIMERLAT = event(
    "timerlat",
    [("unsigned int", "seqnum", 8, 4, 0), ("int", "context", 12, 4, 1), ("u64", "timer_latency", 16, 8, 0)],
)
HWLAT = event("hwlat", [("u64", "duration", 8, 8, 0), ("u64", "outer_duration", 16, 8, 0)])


def test_noise():
    """Sums of two periods of one CPU; the noisiest period, the longest interruption."""
    found = samples("osnoise", (OSNOISE,))
    rows = [(0, (100, 1000, 60, 1, 0, 5, 2, 3)), (1, (7, 1000, 7, 0, 0, 1, 0, 0)), (0, (300, 1000, 50, 2, 1, 6, 3, 4))]
    found.add(batch([(cpu, struct.pack("<8xQQQ5I", *values)) for cpu, values in rows]))
    first, second = found.documents()
    assert first == {
        "type": "osnoise",
        "cpu": 0,
        "periods": 2,
        "runtime_us": 2000,
        "noise_us": 400,
        "available_percent": 80.0,
        "max_noise_us": 300,
        "max_single_us": 60,
        "hw": 3,
        "nmi": 1,
        "irq": 11,
        "softirq": 5,
        "thread": 7,
    }
    assert (second["cpu"], second["noise_us"]) == (1, 7)
    assert [line.split()[0] for line in found.rows()] == ["cpu", "0", "1"]


def test_timers():
    """Contexts apart, the last one as the current."""
    found = samples("timerlat", (TIMERLAT,))
    rows = [(0, 0, 1000), (0, 1, 5000), (0, 0, 3000), (1, 0, 10), (0, 1, 7000)]
    found.add(batch([(cpu, struct.pack("<8xIiQ", 1, context, ns)) for cpu, context, ns in rows]))
    told = {
        (d["by"]["cpu"], d["by"]["context"]): (d["count"], d["cur_ns"], d["min_ns"], d["max_ns"])
        for d in found.documents()
    }
    assert told == {
        (0, "irq"): (2, 3000, 1000, 3000),
        (0, "thread"): (2, 7000, 5000, 7000),
        (1, "irq"): (1, 10, 10, 10),
    }
    assert sum("|" in line for line in found.rows()) > 3


def test_hardware():
    """The longer of a gap's two numbers counts, which are in us."""
    found = samples("hwlat", (HWLAT,))
    found.add(batch([(0, struct.pack("<8xQQ", 15, 40)), (0, struct.pack("<8xQQ", 22, 3))]))
    (told,) = found.documents()
    assert (told["count"], told["min_ns"], told["max_ns"]) == (2, 22_000, 40_000)
