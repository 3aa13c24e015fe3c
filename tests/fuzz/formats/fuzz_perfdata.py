"""Feeds mutated perf.data to the reader: `python tests/fuzz/formats/fuzz_perfdata.py [SECONDS] [SEED] [FILE...]`.

Everything that a recording offers is asked for; only FormatError may leave the reader. A failure prints the seed of its
input, with which it can be repeated. For coverage-guided fuzzers: ``one(data)``.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import time
import unittest.mock
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import formats_perfmaker as pm

from probescope.errors import FormatError
from probescope.formats.perfdata import mapped
from probescope.formats.perfdata.reader import open_perfdata


def rich_seed(*, big: bool = False, pipe: bool = False, version: int = 2) -> bytes:
    """Samples with every part, side-band of every type, features, rounds."""
    everything = (1 << 25) - 1 & ~pm.WEIGHT_STRUCT
    full = pm.Event(everything, (7, 8), read_format=0b1111, branch=1 << 17, regs_user=0b1011, regs_intr=0b11)
    plain = pm.Event(pm.TID | pm.TIME | pm.IDENTIFIER | pm.ID | pm.CPU, (9,), type=2, config=300)
    m = pm.PerfMaker([full, plain], big=big, pipe=pipe, version=version)
    m.features = {3: m.string("host"), 4: m.string("6.1"), 7: m.pack("II", 4, 4), 11: m.pack("I", 1) + m.string("perf")}
    m.features[17] = m.pack("I", 1) + m.string("{a,b}") + m.pack("II", 0, 2)
    if not pipe:
        m.features[12] = m.pack("II", 1, 136) + full.attr(m.order) + m.pack("I", 2) + m.string("e") + m.pack("QQ", 7, 8)
        m.features[2] = m.record(67, m.pack("i", -1) + bytes(range(20)) + b"\x14\0\0\0" + pm.padded("/bin/x"), 0x8002)
    for i in range(6):
        s = pm.Sample(
            0x1000 + i, 5, 5, 100 + 7 * i % 13, id=7, cpu=1, reads=(1, 2, 3, 7 + i, 7), stack=(1 << 64 - 1, 2, 3)
        )
        s.raw, s.regs, s.regs_intr = b"abcd" * 2 + b"1234", (1, 2, 3), (4, 5)
        s.branches, s.dump, s.dump_used, s.aux = ((1, 2, 3), (4, 5, 6)), bytes(16), 9, bytes(8)
        pm.add_sample(m, full, s)
        pm.add_sample(m, plain, pm.Sample(0, 6, 6, 90 + i, id=9))
        _sides(m, plain, pm.Sample(pid=6, tid=6, time=95 + i, id=9), 1 + i)
        m.round()
    return m.build()


def _sides(m: pm.PerfMaker, e: pm.Event, s: pm.Sample, which: int) -> None:
    end = pm.trailer(m, e, s)
    bodies = {
        1: m.pack("iiQQQ", 6, 6, 0x1000, 0x2000, 0) + pm.padded("/bin/x"),
        2: m.pack("QQ", 7, 3),
        3: m.pack("ii", 6, 6) + pm.padded("name"),
        4: m.pack("iiiiQ", 6, 5, 6, 5, s.time),
        5: m.pack("QQQ", s.time, 7, 7),
        7: m.pack("iiiiQ", 6, 5, 6, 5, s.time),
        10: m.pack("iiQQQIIQQII", 6, 6, 0x1000, 0x2000, 0, 8, 1, 77, 0, 5, 2) + pm.padded("/bin/x"),
        13: m.pack("Q", 4),
        14: b"",
        16: m.pack("iiQQQ", 6, 6, 1, 3, 4),
        17: m.pack("QIHH", 1 << 60, 64, 1, 0) + pm.padded("bpf_prog"),
        19: m.pack("Q", 3) + pm.padded("/a.slice"),
        20: m.pack("QHH", 0x1000, 2, 2) + b"abcd",
        22: m.pack("QQQQ", 5, 2, 1, 2),
        99: b"",
        40000: bytes(24),
    }
    for kind, body in list(bodies.items())[which % 2 :: 2]:
        m.add(kind, body + bytes(-len(body) % 8) + end)


def compressed_seed() -> bytes:
    from backports import zstd

    event = pm.Event(pm.IP | pm.TID | pm.TIME, (7,))
    m = pm.PerfMaker([event])
    inner = pm.PerfMaker([event])
    for i in range(200):
        pm.add_sample(inner, event, pm.Sample(i, 1, 1, 10 + i))
    stream = zstd.ZstdCompressor(1)
    for at in range(0, len(inner.data), 1000):
        piece = stream.compress(bytes(inner.data[at : at + 1000]), zstd.ZstdCompressor.FLUSH_BLOCK)
        m.data += m.pack("IHH", 81, 0, 8 + len(piece)) + piece
        m.round()
    return m.build()


def lanes_seed() -> bytes:
    """So many records that they are walked in lanes, some of which hold what looks like records."""
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.RAW, (7,))
    m = pm.PerfMaker([event])
    fake = m.record(9, bytes(24))
    for i in range(1500):
        pm.add_sample(m, event, pm.Sample(i, 1, 1, 10 + i, raw=b"1234" + fake * (i % 3)))
        if i % 7 == 0:
            m.round()
    return m.build()


def runs_seed() -> bytes:
    """Long runs of samples of one size, with rounds and now and then another record between them."""
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.RAW, (7,))
    m = pm.PerfMaker([event])
    for i in range(1500):
        pm.add_sample(m, event, pm.Sample(i, 1, 1, 10 + i ^ i >> 3 & 3, raw=bytes(12)))
        if i % 5 == 0:
            m.round()
        if i % 400 == 399:
            _sides(m, event, pm.Sample(pid=6, tid=6, time=10 + i, id=7), 3)
    return m.build()


SEEDS = {
    "little": rich_seed(),
    "big": rich_seed(big=True),
    "pipe": rich_seed(pipe=True),
    "big pipe": rich_seed(big=True, pipe=True),
    "version 1": rich_seed(version=1),
    "zstd": compressed_seed(),
    "lanes": lanes_seed(),
    "runs": runs_seed(),
}


def one(data: bytes) -> int:
    """Read all of it; the number of samples."""
    try:
        recording = open_perfdata(io.BytesIO(data))
    except FormatError:
        return 0
    return everything(recording)


def one_mapped(data: bytes) -> int:
    """The same of a file, which is mapped however small it is."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            recording = open_perfdata(file.name)
        except FormatError:
            return 0
        with recording, unittest.mock.patch.object(mapped, "LEAST", 1):
            return everything(recording)


def everything(recording) -> int:
    count = 0
    try:
        for batch in recording.batches():
            count += check(batch)
    except FormatError:
        pass
    assert recording.machine is not None
    assert all(d.count > 0 for d in recording.damage)
    assert recording.stats is not None
    assert len(recording.events) == len(recording.attrs)
    return count


def check(batch) -> int:
    """What every batch promises, whatever the bytes were."""
    n = batch.count
    for column in (batch.event, batch.time, batch.cpu, batch.pid, batch.tid, batch.period, *batch.numbers.values()):
        assert len(column) == n
    pieces = (batch.stacks, batch.raw, batch.registers, batch.stack_dumps, batch.branches, batch.reads)
    for piece in (*pieces, batch.registers_intr):
        if piece is not None:
            assert len(piece.start) == len(piece.size) == n
            assert (piece.size >= 0).all()
            assert (piece.start + piece.size <= len(piece.values)).all() or not piece.size.any()
            assert all(len(piece.piece(i)) == piece.size[i] for i in range(0, n, 1 + n // 8))
    assert [at for at, _ in batch.between] == sorted(at for at, _ in batch.between)
    return n


def mutate(data: bytes, r: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 4, 16))):
        at = r.randrange(len(out)) if out else 0
        what = r.randrange(7)
        if what == 0 and out:
            out[at] ^= 1 << r.randrange(8)
        elif what == 1 and out:
            out[at] = r.choice((0, 1, 7, 8, 9, 0x7F, 0x80, 0xFF))
        elif what == 2:
            del out[at : at + r.choice((1, 3, 8, 64, 1000))]
        elif what == 3:
            piece = out[at : at + r.choice((1, 8, 40, 64, 500))]
            out[at:at] = piece * r.choice((1, 1, 2, 50))
        elif what == 4:
            at &= ~7
            out[at : at + 8] = r.choice((0, 1, 1 << 63, (1 << 64) - 1, 1 << 40, 0xFFFF << 48)).to_bytes(8, "little")
        elif what == 5:
            out[at : at + 2] = r.randrange(1 << 16).to_bytes(2, "little")
        else:
            del out[at:]
    return bytes(out)


def run(name: str, seconds: float, seed: int) -> int:
    """How many inputs were tried."""
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end:
        r = random.Random(f"{name} {seed} {tried}")
        data = mutate(SEEDS[name], r)
        start = time.monotonic()
        try:
            count = one(data)
            if tried % 4 == 0:
                assert one_mapped(data) == count
        except BaseException:
            print(f"failed: {name}, seed {seed}, input {tried}", file=sys.stderr)
            raise
        assert time.monotonic() - start < 20, f"{name}, seed {seed}, input {tried}: slow"
        tried += 1
    return tried


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    for path in sys.argv[3:]:
        SEEDS[path] = Path(path).read_bytes()
    for name in SEEDS:
        print(name, run(name, seconds / len(SEEDS), seed), "inputs", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
