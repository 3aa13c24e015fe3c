"""Programs on mutated recordings: typed errors or partial results, in bounded time; never another exception."""

from __future__ import annotations

import io
import os
import random
import struct
import sys
import time
from pathlib import Path

from probescope.api import Request
from probescope.errors import ProbescopeError
from probescope.formats.perfdata import open_perfdata
from probescope.formats.perfdata.tracing_write import encode_tracing_data
from probescope.recorded import build_on

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import formats_perfmaker as pm

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10"))
FORMAT = b"""name: open
ID: 7
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u32 size;\toffset:8;\tsize:4;\tsigned:0;
\tfield:char name[8];\toffset:12;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] where;\toffset:20;\tsize:4;\tsigned:0;
\tfield:u16 parts[4];\toffset:24;\tsize:8;\tsigned:0;

print fmt: "%u", REC->size
"""
PROGRAM = """
begin { @begun = nsecs; }
tracepoint:demo:open { @n[comm, args.name, args.where] = count(); @s = stats(args.size / args.parts[1]);
    @h = hist(args.parts[args.size % 5]); @k[kstack(3), ustack] = count(); @mx[tid, cpu] = max(nsecs); }
tracepoint:demo:open /args.size > 3/ { @last[tid] = nsecs - @last[tid]; printf("%s %d %s\\n", comm, pid, args.where); }
interval:ms:1 { print(@n); clear(@n); }
end { printf("%d\\n", elapsed); }
"""
COLUMNS = pm.IP | pm.TID | pm.TIME | pm.CPU | pm.CALLCHAIN | pm.RAW


def seed(rng: random.Random) -> bytes:
    event = pm.Event(COLUMNS, (7,), type=2, config=7)
    tracing = encode_tracing_data({"demo": [FORMAT]}, header_page=b"", header_event=b"", printk=b"", commands=b"")
    m = pm.PerfMaker([event], features={1: tracing})
    m.add(3, m.pack("ii", 1, 1) + pm.padded("worker") + pm.trailer(m, event, pm.Sample(pid=1, tid=1, time=1)))
    for i in range(30):
        raw = struct.pack("<HHiI8sI4H", 7, 0, 1, rng.randrange(9), b"abc\0defg", 5 << 16 | 32, 1, i, 0, 9) + b"/tmp\0"
        stack = ((1 << 64) - 128, 0xFFFFFFFF81000000 + i % 3, (1 << 64) - 512, 0x400000)
        one = pm.Sample(1, i % 4, i % 4, 10**6 * i, cpu=i % 2, stack=stack, raw=raw)
        pm.add_sample(m, event, one)
    return m.round().build()


def run(data: bytes) -> tuple[int, str]:
    """How many outputs there were, and the name of the error."""
    said: list[object] = []
    try:
        recording = open_perfdata(io.BytesIO(data))
        built = build_on(Request(PROGRAM, input="fuzz.data", environment={}), recording)
        built.session(said.append).run()
    except ProbescopeError as e:
        return len(said), type(e).__name__
    return len(said), ""


def test_the_seed_is_answered():
    """Fuzzing from what is refused would prove nothing."""
    count, error = run(seed(random.Random(1)))
    assert (count > 50, error) == (True, "")


def test_mutated_recordings_are_answered_in_part_or_refused():
    """Flipped, cut and repeated bytes; times far apart; what is left is a recording of strangers."""
    rng = random.Random(20_251_128)
    until, answered, done = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < until:
        data = bytearray(seed(rng))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    data[at : at + 8] = struct.pack("<Q", rng.choice((0, 1 << 63, (1 << 64) - 1, rng.getrandbits(64))))
                case 2:
                    del data[at : at + rng.randrange(1, 64)]
                case _:
                    data[at:at] = data[at : at + rng.randrange(1, 200)]
        begun = time.monotonic()
        answered += not run(bytes(data))[1]
        assert time.monotonic() - begun < 20
        done += 1
    assert done > 5
    assert answered > done // 20
