"""The reader of perf.data on mutated bytes: for a few seconds at random, and every byte of small files in turn."""

from __future__ import annotations

import io
import os
import struct
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import formats_perfmaker as pm
import fuzz_perfdata

from probescope.errors import FormatError
from probescope.formats.perfdata import open_perfdata

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10")) / len(fuzz_perfdata.SEEDS)


@pytest.mark.parametrize("name", sorted(fuzz_perfdata.SEEDS))
def test_mutated_recordings_give_typed_errors_or_partial_results(name: str) -> None:
    """A malformed recording must never crash or hang the tool: nothing but FormatError leaves the reader, and every
    batch keeps what batches promise."""
    assert fuzz_perfdata.run(name, SECONDS, seed=20_251_128) > 20


@pytest.mark.parametrize("name", sorted(fuzz_perfdata.SEEDS))
def test_seeds_are_sound(name: str) -> None:
    """Fuzzing from a file that is rejected at its first byte would prove nothing: all samples of a seed are read."""
    recording = open_perfdata(io.BytesIO(fuzz_perfdata.SEEDS[name]))
    count = sum(batch.count for batch in recording.batches())
    assert count == recording.stats["SAMPLE"] == {"zstd": 200, "lanes": 1500, "runs": 1500}.get(name, 12)
    assert {d.kind for d in recording.damage} <= {"unknown-record"}


def small(big: bool = False, pipe: bool = False) -> bytes:
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.CALLCHAIN | pm.RAW, (7,))
    m = pm.PerfMaker([event], big=big, pipe=pipe, features={3: b"\1\0\0\0x"})
    for i in range(3):
        pm.add_sample(m, event, pm.Sample(i, 1, 1, 5 + i, stack=(1, 2), raw=b"abcd"))
    m.add(3, m.pack("ii", 1, 1) + pm.padded("x") + pm.trailer(m, event, pm.Sample(pid=1, tid=1, time=6)))
    return m.round().build()


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("pipe", [False, True])
def test_every_byte_of_a_small_recording(big: bool, pipe: bool) -> None:
    """Each byte of it set to several values, left out, given twice; and the file cut behind it."""
    data = small(big, pipe)
    for at in range(len(data)):
        for value in {0, 1, 0x7F, 0xFF, data[at] ^ 8, data[at] ^ 0x80} - {data[at]}:
            fuzz_perfdata.one(data[:at] + bytes([value]) + data[at + 1 :])
        fuzz_perfdata.one(data[:at] + data[at + 1 :])
        fuzz_perfdata.one(data[:at] + data[at : at + 1] + data[at:])
        fuzz_perfdata.one(data[:at])


def test_events_that_share_their_ids_are_read_in_linear_time() -> None:
    """60,000 events that all claim the same 60,000 numbers, in a file of 9 MB: found by atheris in small. No file has
    more ids than there is room for in it."""
    entry = 144
    count = 60_000
    attrs_at = 104
    ids_at = attrs_at + count * entry
    attrs = bytearray()
    for i in range(count):
        attr = struct.pack("<IIQQQQQ", 1, 128, i % 9, 1, 7, 0, 0).ljust(128, b"\0")
        attrs += attr + struct.pack("<QQ", ids_at, 8 * count)
    ids = struct.pack(f"<{count}Q", *range(1, count + 1))
    end = ids_at + len(ids)
    header = b"PERFILE2" + struct.pack("<12Q", 104, entry, attrs_at, len(attrs), end, 0, 0, 0, 0, 0, 0, 0)
    begun = time.process_time()
    recording = open_perfdata(io.BytesIO(header + attrs + ids))
    assert time.process_time() - begun < 20
    assert any(d.kind == "ids" for d in recording.damage)


def test_nothing_at_all() -> None:
    with pytest.raises(FormatError, match="there is nothing in it"):
        open_perfdata(io.BytesIO(b""))


def test_a_bomb_of_zeros_is_read_in_bounded_memory() -> None:
    """A few kilobytes of zstd that inflate to 256 MB of nothing: the reader stops at the first record of no size, and
    never holds more than a few pieces."""
    import resource

    from backports import zstd

    m = pm.PerfMaker([pm.Event()])
    packed = zstd.compress(bytes(256 << 20), 19)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for at in range(0, len(packed), 60000):
        piece = packed[at : at + 60000]
        m.data += m.pack("IHH", 81, 0, 8 + len(piece)) + piece
    recording = open_perfdata(io.BytesIO(m.build()))
    assert sum(batch.count for batch in recording.batches()) == 0
    assert any(d.kind == "size" for d in recording.damage)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10  # kB; the test itself made 256 MB
