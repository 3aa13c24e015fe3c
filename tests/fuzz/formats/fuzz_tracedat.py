"""trace.dat mutated: `python tests/fuzz/formats/fuzz_tracedat.py SECONDS`. See coverage_guided.py too."""

from __future__ import annotations

import io
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support")]

import formats_tracemaker as tm
import numpy as np

from probescope.errors import FormatError
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracing.text import Lines, report

SEEDS = {
    "v6": tm.Maker(6).build(("", tm.events(60)), ("inner", tm.events(20))),
    "v6-big-32": tm.Maker(6, True, 4, page_size=1024, lost={0: 3}).build(("", tm.events(60))),
    "v7": tm.Maker(7, page_size=1024).build(("", tm.events(60))),
    "v7-zstd": tm.Maker(7, compression="zstd", lost={1: -1}).build(("", tm.events(60)), ("inner", tm.events(20))),
    "v7-zlib": tm.Maker(7, compression="zlib").build(("", tm.events(60))),
}
WORDS = (
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\x7f",
    b"\x01\0\0\0",
    b"\0\0\x10\0",
    b"%*s",
    b"((((",
    b"REC->n",
)
MOST_EVENTS = 200_000


def one(data: bytes) -> None:
    """Nothing but FormatError leaves the reader; what batches promise holds; all of it has a text."""
    try:
        recording = open_tracedat(io.BytesIO(data))
    except FormatError:
        return
    lines = Lines(recording.events, recording.context(), buffers=tuple(b.name for b in recording.buffers))
    count = last = 0
    for batch in recording.batches():
        assert batch.raw is not None
        assert batch.count == len(batch.time) == len(batch.event) == len(batch.cpu) == len(batch.raw.start)
        if batch.count:
            ends = batch.raw.start + batch.raw.size
            assert int(ends.max()) <= len(batch.raw.values)
            assert int(batch.raw.start.min()) >= 0
            assert int(np.max(batch.event)) < len(recording.events)
        count += batch.count
        assert count < MOST_EVENTS
    text = b"".join(report(lines, recording.batches(), recording.machine.cpus)).decode("utf-8", "surrogateescape")
    assert text.startswith("cpus=")
    assert last >= 0
    list(recording.latency())


def mutated(data: bytes, random_: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(out))
        match random_.randrange(6):
            case 0:
                out[at] ^= 1 << random_.randrange(8)
            case 1:
                out[at : at + 4] = random_.choice(WORDS)
            case 2:
                del out[at : at + random_.randint(1, 64)]
            case 3:
                out[at:at] = out[at : at + random_.randint(1, 64)]
            case 4:
                out[at] = random_.randrange(256)
            case _:
                del out[at:]
        if len(out) < 16:
            break
    return bytes(out)


def run(name: str, seconds: float, seed: int) -> int:
    """How many were tried."""
    random_ = random.Random(seed)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = mutated(SEEDS[name], random_)
        try:
            one(data)
        except BaseException:
            Path("/tmp/fuzz_tracedat.bin").write_bytes(data)
            raise
        count += 1
    return count


if __name__ == "__main__":
    for name in SEEDS:
        print(name, run(name, float(sys.argv[1]) / len(SEEDS), time.time_ns()))
