"""Damaged recordings converted, split, dumped and printed with every option; filters put together at random: a typed
error, or a result, and never anything else."""

from __future__ import annotations

import io
import random

import pytest
from formats_tracemaker import Maker, events

from probescope.cli.ftrace_dump import facts
from probescope.errors import ProbescopeError
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat.convert import convert
from probescope.formats.tracedat.split import Rule, split
from probescope.views.tracecmd.filter_text import parse
from probescope.views.tracecmd.filtering import Filters
from probescope.views.tracecmd.lines import Look, ReportLines

ROUNDS = 40
WORDS = "tick: test/ n==1 && || ! ( ) \"a\" 'b' =~ !~ << >> 0x5 foo , / * . + - % ^ COMM CPU".split()


def damaged(r):
    version = r.choice([6, 7])
    maker = Maker(version, r.random() < 0.3, compression=r.choice(["none", "zlib", "zstd"]) if version == 7 else "none")
    data = bytearray(maker.build(("", events(60)), ("x", events(9, 1))))
    for _ in range(r.randrange(1, 6)):
        at, size = r.randrange(len(data)), r.randrange(1, 50)
        kind = r.randrange(3)
        if kind == 0:
            data[at] = r.randrange(256)
        elif kind == 1:
            del data[at : at + size]
        else:
            data[at:at] = data[at : at + size]
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_recordings(tmp_path, seed):
    r = random.Random(seed)
    whole = 0
    for _ in range(ROUNDS):
        try:
            with open_tracedat(io.BytesIO(damaged(r))) as recording:
                facts(recording)
                convert(recording, io.BytesIO(), r.choice([6, 7]), r.choice(["none", "zlib"]))
                split(recording, Rule(events=r.choice([7, 1 << 30]), repeat=True), lambda n: str(tmp_path / f"{n}"))
                filters = Filters([], [".*: common_pid & 1 || COMM == 'x'"], recording.events, recording.context())
                lines = ReportLines(recording.events, recording.context(), Look(raw=("*",), differences=True))
                for batch in recording.batches():
                    assert len(filters.mask(batch)) == batch.count
                    lines.data(batch)
                whole += 1
        except ProbescopeError:
            continue
    assert whole > ROUNDS // 10


def test_filters_of_random_words():
    r = random.Random(1)
    fine = 0
    for _ in range(5000):
        try:
            parse(" ".join(r.choice(WORDS) for _ in range(r.randrange(1, 12))), {"test"})
            fine += 1
        except ProbescopeError:
            continue
    assert fine > 10
