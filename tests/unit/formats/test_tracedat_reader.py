"""trace.dat of both versions, byte orders, widths of longs and compressions, made by hand: the same events in all.

What is expected is what was put in; the lines are worked out by eye from trace-cmd's format.
"""

from __future__ import annotations

import gc
import io
import struct
import weakref

import formats_tracemaker as tm
import formats_traces as traces
import pytest

from probescope.errors import FormatError, UsageError
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.reader import TraceDat
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat
from probescope.formats.tracing.text import Lines, report
from probescope.model.recording import LostEvents

SHAPES = [
    (v, big, long, c) for v in (6, 7) for big in (False, True) for long in (4, 8) for c in ("none", "zlib", "zstd")
]
SHAPES = [shape for shape in SHAPES if shape[0] == 7 or shape[3] == "none"]


def opened(data: bytes) -> TraceDat:
    return open_tracedat(io.BytesIO(data))


def rows(recording: TraceDat) -> list[tuple[int, int, int, int]]:
    found = []
    for b in recording.batches():
        assert b.raw is not None
        order = "big" if recording.machine.big_endian else "little"
        numbers = [int.from_bytes(b.raw.piece(i)[8:12].tobytes(), order) for i in range(b.count)]  # type: ignore[arg-type]
        found += list(zip(b.cpu.tolist(), b.time.tolist(), b.tid.tolist(), numbers, strict=True))
    return found


@pytest.mark.parametrize(("version", "big", "long_size", "compression"), SHAPES)
def test_every_shape_of_file(version: int, big: bool, long_size: int, compression: str) -> None:
    """Events come out as they went in, merged by time, across pages and time extensions."""
    wanted = tm.events(700)
    with opened(tm.Maker(version, big, long_size, compression).build(("", wanted))) as recording:
        assert rows(recording) == wanted
        assert rows(recording) == wanted
        assert recording.damage == ()
        machine = recording.machine
        assert (machine.big_endian, machine.long_size, machine.cpus, machine.clock) == (big, long_size, 2, "local")
        assert recording.comms == {7: "seven", 8: "eight"}


def test_lines() -> None:
    """Flags, depth, padding of names and numbers, unknown threads, dynamic strings, symbols."""
    with opened(tm.Maker().build(("", tm.events(4)))) as recording:
        assert traces.ours(recording) == [
            "cpus=2",
            "           seven-7     [000] .....     1.000000: tick:                 n=0 small=0 name=tick 0 kind=even",
            "           eight-8     [001] d..1.     1.000001: tick:                 n=1 small=-1 name=tick 1 kind=odd",
            "           <...>-9     [000] d....     1.000002: tick:                 n=2 small=-2 name=tick 2 kind=even",
            "           seven-7     [001] ...1.     2.000003: tick:                 n=3 small=-3 name=tick 3 kind=odd",
        ]


@pytest.mark.parametrize("version", [6, 7])
def test_instances(version: int) -> None:
    """Events of several buffers in one order, each with its buffer's index."""
    wanted = tm.events(100)
    top, inner = [e for e in wanted if e[3] % 4], [e for e in wanted if not e[3] % 4]
    with opened(tm.Maker(version).build(("", top), ("inner", inner))) as recording:
        assert [b.name for b in recording.buffers] == ["", "inner"]
        assert rows(recording) == wanted
        index = [i for b in recording.batches() for i in b.numbers["buffer"].tolist()]
        assert index == [0 if e[3] % 4 else 1 for e in wanted]
        assert traces.ours(recording)[1].startswith("inner:            seven-7 ")
        assert traces.ours(recording)[2].startswith("                  eight-8 ")


@pytest.mark.parametrize(("count", "shown"), [(5, "CPU:1 [5 EVENTS DROPPED]"), (-1, "CPU:1 [EVENTS DROPPED]")])
def test_lost_events_stand_in_their_place(count: int, shown: str) -> None:
    """What the kernel could not keep is told before the event that came next on its CPU."""
    with opened(tm.Maker(lost={1: count}).build(("", tm.events(6)))) as recording:
        batch = next(recording.batches())
        assert [(i, type(r), r.cpu) for i, r in batch.between] == [(1, LostEvents, 1)]
        assert traces.ours(recording)[2] == shown


def test_times_are_corrected() -> None:
    """OFFSET adds ns, DATE us; TSC2NSEC multiplies and shifts first; TIME_SHIFT is each CPU's own."""
    shift = struct.pack("<QII", 1, 0, 2) + struct.pack("<IQqQ", 1, 0, 10, 1) * 2
    options = (
        (o.OFFSET, b"-5\0"),
        (o.DATE, b"0x2\0"),
        (o.TSC2NSEC, struct.pack("<IIQ", 6, 1, 0)),
        (o.TIME_SHIFT, shift),
    )
    with opened(tm.Maker(options=options).build(("", [(0, 1000, 7, 0)]))) as recording:
        assert [int(t) for b in recording.batches() for t in b.time] == [(1000 + 10) * 3 - 5 + 2000]


def test_times_of_guests() -> None:
    """Between two samples the offset is interpolated where a flag says so; scaling comes before it, with its fraction;
    each CPU has its own."""

    def shift(flags: int, *cpus: list[tuple[int, int, int, int]]) -> bytes:
        out = struct.pack("<QII", 7, flags, len(cpus))
        for samples in cpus:
            times, offsets, scalings, _ = zip(*samples, strict=True)
            n = len(samples)
            out += struct.pack(f"<I{n}Q{n}q{n}Q", n, *times, *offsets, *scalings)
        return out + b"".join(struct.pack("<Q", sample[3]) for samples in cpus for sample in samples)

    first = [(1000, 100, 3, 1), (2000, 300, 3, 1)]
    second = [(0, -50, 1, 0), (5000, -50, 1, 0)]
    events = [(0, 1500, 7, 0), (1, 1500, 8, 1)]
    for flags, wanted in ((1, {1500 * 3 // 2 + 200, 1450}), (0, {1500 * 3 // 2 + 100, 1450})):
        made = tm.Maker(options=((o.TIME_SHIFT, shift(flags, first, second)),))
        with opened(made.build(("", events))) as recording:
            assert {int(t) for b in recording.batches() for t in b.time} == wanted


def test_options_of_others_are_counted() -> None:
    """What newer ones hold is no damage, and not passed over in silence."""
    options = ((o.GUEST, b"guest\0"), (o.BTF_FILE, bytes(8)), (o.MODULES_FILE, b"ext4"), (99, b""), (99, b""))
    with opened(tm.Maker(options=options).build(("", tm.events(9)))) as recording:
        assert sum(b.count for b in recording.batches()) == 9
        assert recording.damage == ()
        found = {k: n for k, n in recording.unused.items() if k != "STRINGS"}
        assert found == {"GUEST": 1, "BTF_FILE": 1, "MODULES_FILE": 1, "option 99": 2}


def test_what_is_no_longer_used_is_freed_at_once() -> None:
    """Nothing of a recording or its text refers to itself: who reads thousands does not wait for Python's search."""
    gc.collect()
    gc.disable()
    try:
        with opened(tm.Maker().build(("", tm.events(9)))) as recording:
            lines = Lines(recording.events, recording.context())
            assert b"".join(report(lines, recording.batches(), 2)).count(b"\n") == 10
        kept = [weakref.ref(recording), weakref.ref(lines)]
        del recording, lines
        assert [k() for k in kept] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("big", [False, True])
def test_machines_have_cpus_without_events(big: bool) -> None:
    """As many as the file tells of, and those that buffers are of, as trace-cmd 3.3.1's "cpus=" has it."""
    told = ((o.CPUCOUNT, (4).to_bytes(4, "big" if big else "little")),)
    for options, cpu, wanted in ((told, 0, 4), ((), 0, 1), ((), 5, 6), (told, 5, 6)):
        with opened(tm.Maker(big=big, options=options).build(("", [(cpu, 10**9, 7, 1)]))) as recording:
            assert recording.machine.cpus == wanted


def test_a_clock_that_counts() -> None:
    """Times of a counter are no nanoseconds: printed as they are."""
    with opened(tm.Maker(clock="counter").build(("", [(0, 1000, 7, 0)]))) as recording:
        assert "[000] .....        1000: tick:" in traces.ours(recording)[1]


def test_files_that_are_none() -> None:
    for data in (b"", b"\x17\x08", b"\x17\x08\x44tracing8\0", b"PERFILE2" + bytes(100), bytes(1000)):
        with pytest.raises(FormatError):
            opened(data)


def test_unfinished_version_7() -> None:
    """No options can be found where the recorder was killed: what is described is read section by section."""
    data = tm.Maker().build(("", tm.events(10)))
    place = data.index(b"none\0\0") + 6
    recording = opened(data[:place] + bytes(8) + data[place + 8 :])
    assert {e.name for e in recording.events} == {"ftrace:print", "test:tick", "unknown"}
    assert "unfinished" in {d.kind for d in recording.damage}
    assert list(recording.batches()) == []


def test_cut_pages_cost_themselves() -> None:
    """A file cut in its last page gives the events before, and says so."""
    data = tm.Maker(6).build(("", tm.events(700, 1)))
    recording = opened(data[:-100])
    found = rows(recording)
    assert 0 < len(found) < 700
    assert found == tm.events(700, 1)[: len(found)]
    assert "cut" in {d.kind for d in recording.damage}


def test_events_of_no_known_kind_are_kept_and_counted() -> None:
    data = tm.Maker().build(("", tm.events(5))).replace(b"ID: 300", b"ID: 301")
    recording = opened(data)
    assert [recording.events[i].name for b in recording.batches() for i in b.event.tolist()] == ["unknown"] * 5
    assert [(d.kind, d.count) for d in recording.damage] == [("event", 5)]
    assert traces.ours(recording)[1].endswith("(NULL): [UNKNOWN EVENT]") or "UNKNOWN" in traces.ours(recording)[1]


def test_what_cannot_be_written() -> None:
    for head, pages in ((Head(version=5), [Pages("", {})]), (Head(compression="xz"), [Pages("", {})]), (Head(), [])):
        with pytest.raises(UsageError):
            write_tracedat(io.BytesIO(), head, pages)  # type: ignore[arg-type]


LATENCY = "# tracer: irqsoff\n#\n  bash-1  0d... 1us : trace_hardirqs_off\n"


def test_latency_tracers_are_text() -> None:
    """Version 6 has the text where the pages would be, up to the end of the file."""
    data = tm.Maker(6).build(("", []))
    with opened(data[: data.index(b"flyrecord\0")] + b"latency  \0" + LATENCY.encode()) as recording:
        assert "".join(recording.latency()) == LATENCY
        assert list(recording.batches()) == []
        assert recording.buffers[0].latency


@pytest.mark.parametrize("compression", ["none", "zlib", "zstd"])
def test_latency_tracers_of_version_7(compression: str) -> None:
    """An option of its own says where the text is; it may be in chunks."""
    import zlib

    from backports import zstd

    packers = {"none": lambda data: data, "zlib": zlib.compress, "zstd": zstd.compress}
    packed = packers[compression](LATENCY.encode())
    body = LATENCY.encode()
    if compression != "none":
        body = struct.pack("<III", 1, len(packed), len(LATENCY)) + packed
    section = struct.pack("<HHIQ", o.BUFFER_TEXT, compression != "none", 0, len(body)) + body
    option = (o.BUFFER_TEXT, struct.pack("<Q", 1 << 16) + b"\0local\0")
    data = tm.Maker(7, compression=compression, options=(option,)).build(("", []))
    with opened(data.ljust(1 << 16, b"\0") + section) as recording:
        assert "".join(recording.latency()) == LATENCY
