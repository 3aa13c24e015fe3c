"""Text of traces mutated: `python tests/fuzz/formats/fuzz_tracetext.py SECONDS`."""

from __future__ import annotations

import gzip
import io
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support")]

import formats_tracemaker as tm

from probescope.errors import FormatError
from probescope.formats.tracetext import open_tracetext
from probescope.formats.tracetext.reader import TraceText
from probescope.formats.tracing.event_format import parse_event_format
from probescope.formats.tracing.fields import Records, own_fields
from probescope.formats.tracing.text import Lines, report
from probescope.model.recording import EventType, Ragged

TICK = parse_event_format(tm.TICK, "test")
SAMPLES = ROOT / "tests" / "oracle" / "formats" / "s390x"


def lines_of(name: str) -> bytes:
    text = gzip.decompress((SAMPLES / f"{name}.report.txt.gz").read_bytes())
    return b"\n".join(text.split(b"\n")[:60]) + b"\n"


KERNEL = b"""# tracer: nop
#  entries-in-buffer/entries-written: 5/5   #P:4
            bash-1234    [002] d..2.  2084.021659: tick: n=3 small=-1 name=tick 3 kind=odd
            bash-1234    (   1230) [002] dNs4.  2084.021660: tick: n=4 small=0 name=x kind=even
            bash-1234    [002] d..2.  2084.021700: <stack trace>
 => __schedule
 => vfs_read+0x1/0x2 [ext4] <ffffffff81000000>
CPU:1 [LOST 12 EVENTS]
          <idle>-0       [001] .....  2084.021800: tracing_mark_write: hello: world
          <idle>-0       [001] .....  2084.021900: vfs_write <-ksys_write
            bash-1234    [002] .....  2084.021950: sys_openat(dfd: ffffff9c, filename: 7f00)
            bash-1234    [002] .....  2084.021951: sys_openat -> 0x3
            bash-1234      2d..2.  174us+: schedule <-do_idle
            bash  1234   2 0 d..2. 00000000 00000012 [0000beef]  174.123ms (+0.001ms): schedule <-do_idle
"""
GRAPH = b"""# tracer: function_graph
# CPU  DURATION                  FUNCTION CALLS
 0)    bash-7    =>   ls-8
 0)               |  ksys_read() {
 0)   2.928 us    |    __fget_light();
 0)               |    /* sched_waking: comm=x pid=3 */
 0) + 15.235 us   |    } /* = 0x0 */
 2084.021659 |   0)   bash-1234    |   0.523 us    |    mutex_unlock(a=1);
 1) ! 147.483 us  |  } /* outside */
"""
PERF = b"""# hostname : box
ls -l   100/101   [002]   10.500000:     250000 cpu-clock:u:
\t    7f04f3464b70 main+0x10 (/usr/bin/ls)
\t    7f04f3464b70 inner (inlined)
\tffffffff8177539a elf_load+0x28a ([kernel.kallsyms])

a task     7  [000]    10.500001: test:tick: n=3 small=-1 name=tick 3 kind=odd
ls   100/100   [002]   10.500002:  1 page-faults:      ee137 [unknown] (/lib/libc.so.6)
"""
SEEDS = {
    "kernel": KERNEL,
    "graph": GRAPH,
    "perf": PERF,
    "report": lines_of("events6"),
    "stacks": lines_of("stacks"),
}
WORDS = (b"=", b": ", b"\n", b" [000] ", b"99999999999999999999", b"-1", b"|", b"=> ", b"\0", b"\xff\xfe", b"(", b"{")


def known(name: str) -> EventType | None:
    return TICK if name.rpartition(":")[2] == "tick" else None


def one(data: bytes, *, knows: bool = True) -> None:
    """Nothing but FormatError leaves the reader; what batches promise holds; all of it has a text and fields."""
    try:
        recording = open_tracetext(io.BytesIO(data), known if knows else None)
    except FormatError:
        return
    for batch in recording.batches():
        assert batch.raw is not None
        assert batch.count == len(batch.time) == len(batch.event) == len(batch.cpu) == len(batch.raw.start)
        assert (batch.time[1:] >= batch.time[:-1]).all()
        assert all(0 <= i <= batch.count for i, _ in batch.between)
        for i in range(batch.count):
            event = recording.events[int(batch.event[i])]
            if event.fields:
                raw = Ragged(batch.raw.values, batch.raw.start[i : i + 1], batch.raw.size[i : i + 1])
                own_fields(Records(raw), event)
    if isinstance(recording, TraceText):
        lines = Lines(recording.events, recording.context(), buffers=tuple(b.name for b in recording.buffers))
        assert b"".join(report(lines, recording.batches(), recording.machine.cpus)).startswith(b"cpus=")


def mutated(data: bytes, random_: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(random_.randint(1, 6)):
        if not out:
            break
        at = random_.randrange(len(out))
        match random_.randrange(7):
            case 0:
                out[at] ^= 1 << random_.randrange(8)
            case 1:
                out[at : at + random_.randint(0, 4)] = random_.choice(WORDS)
            case 2:
                del out[at : at + random_.randint(1, 64)]
            case 3:
                out[at:at] = out[at : at + random_.randint(1, 64)]
            case 4:
                out[at] = random_.randrange(32, 127)
            case 5:
                out[at:at] = bytes([random_.choice(b" 0a:-=|")]) * random_.randint(1, 300)
            case _:
                to = random_.randrange(len(out))
                out[at:at] = out[to : to + 80]
    return bytes(out)


def run(name: str, seconds: float, seed: int) -> int:
    """How many were tried."""
    random_ = random.Random(seed)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = mutated(SEEDS[name], random_)
        begun = time.monotonic()
        try:
            one(data, knows=bool(count % 2))
            assert time.monotonic() - begun < 20, "a short text takes long"
        except BaseException:
            Path("/tmp/fuzz_tracetext.bin").write_bytes(data)
            raise
        count += 1
    return count


if __name__ == "__main__":
    for name in SEEDS:
        print(name, run(name, float(sys.argv[1]) / len(SEEDS), time.time_ns()))
