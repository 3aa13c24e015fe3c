"""``script -D``: the order in which perf delivers records, and records that are cut."""

from __future__ import annotations

import random
import struct

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.views.dump import Dump, Found

ATTR = Attr(sample_type=0x2FFFFFF & ~0x10 | 1 << 16, period=7, sample_regs_user=0x180, sample_regs_intr=0x100)


def view() -> Dump:
    return Dump("x", [ATTR], {}, "x86_64", big=False)


def found(time: int, kind: int = r.SAMPLE) -> Found:
    return Found(0, kind, b"", time, 0)


def test_what_has_a_time_waits_for_the_second_end_of_a_round() -> None:
    """tools/perf/util/ordered-events.c: the end of a round delivers what is not newer than the newest of the round
    before; what has no time comes at once; the rest at the end."""
    end = found(-1, r.FINISHED_ROUND)
    given = [found(5), found(3), found(-1, r.COMM), end, found(4), found(9), end, found(8)]
    assert [(f.kind, f.time) for f in Dump.ordered(iter(given))] == [
        (r.COMM, -1),
        (r.FINISHED_ROUND, -1),
        (r.FINISHED_ROUND, -1),
        (r.SAMPLE, 3),
        (r.SAMPLE, 4),
        (r.SAMPLE, 5),
        (r.SAMPLE, 8),
        (r.SAMPLE, 9),
    ]


def test_bytes_in_rows_of_sixteen() -> None:
    data = struct.pack("<IHH", r.FINISHED_INIT, 0, 8) + b"abc\0defghijkl"
    assert view().raw(Found(0x10, r.FINISHED_INIT, data, -1)) == (
        "\n0x10@x [0x15]: event: 82\n.\n. ... raw event: size 21 bytes\n"
        ".  0000:  52 00 00 00 00 00 08 00 61 62 63 00 64 65 66 67  R.......abc.defg\n"
        ".  0010:  68 69 6a 6b 6c                                   hijkl           \n\n"
    )


def test_any_bytes_have_a_text() -> None:
    """Records of every type with random bodies of every length: never an exception."""
    chance = random.Random(1)
    dump = view()
    for _ in range(4000):
        kind = chance.choice([*range(1, 24), *range(64, 90)])
        body = chance.randbytes(8 * chance.randrange(40))
        if chance.random() < 0.5:  # small numbers, that could be sizes
            body = struct.pack(f"<{len(body) // 8}Q", *(chance.randrange(6) for _ in range(len(body) // 8)))
        data = struct.pack("<IHH", kind, chance.randrange(1 << 16), 8 + len(body)) + body
        records = [(kind, data), (r.FINISHED_ROUND, struct.pack("<IHH", 68, 0, 8))]
        for one in dump.ordered(dump.found(iter(records), 0)):
            assert "PERF_RECORD_" in dump.text(one)
