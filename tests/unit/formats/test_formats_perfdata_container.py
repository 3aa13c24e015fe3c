"""The outside of perf.data: versions, byte orders, sizes of attributes, features, unfinished and damaged files."""

from __future__ import annotations

import io
import struct

import formats_perfmaker as pm
import pytest

from probescope.errors import FormatError
from probescope.formats.perfdata import open_perfdata
from probescope.formats.perfdata.container import feature_numbers

EVENT = pm.Event(pm.IP | pm.TID | pm.TIME, (5,), type=0, config=1)


def opened(m: pm.PerfMaker):
    return open_perfdata(io.BytesIO(m.build()))


def one_sample(m: pm.PerfMaker, event: pm.Event = EVENT) -> pm.PerfMaker:
    return pm.add_sample(m, event, pm.Sample(0x1234, 10, 11, 77))


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(("version", "pipe"), [(1, False), (2, False), (2, True)])
def test_versions_and_byte_orders(big: bool, version: int, pipe: bool) -> None:
    """The same file in each layout says the same."""
    m = pm.PerfMaker([EVENT], big=big, version=version, pipe=pipe)
    m.features = {3: m.string("here"), 6: m.string("s390x" if big else "x86_64"), 7: m.pack("II", 8, 4)}
    recording = opened(one_sample(m))
    (batch,) = recording.batches()
    assert (batch.pid[0], batch.tid[0], batch.time[0], batch.numbers["ip"][0]) == (10, 11, 77, 0x1234)
    assert recording.machine.big_endian is big
    assert (recording.machine.hostname, recording.machine.cpus) == ("here", 8)
    assert [event.name for event in recording.events] == ["instructions:HG"]
    assert recording.damage == ()


@pytest.mark.parametrize("size", [64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200])
@pytest.mark.parametrize("pipe", [False, True])
def test_every_size_of_attributes(size: int, pipe: bool) -> None:
    """Kernels have had ten sizes; later ones will be longer, and what they add is skipped, and counted if used."""
    event = pm.Event(pm.TID | pm.TIME, (5,), size=size, tail=b"\1\0\0\0\0\0\0\0" if size == 200 else b"")
    recording = opened(one_sample(pm.PerfMaker([event], pipe=pipe), event))
    (batch,) = recording.batches()
    assert batch.tid.tolist() == [11]
    assert recording.attrs[0].size == size
    assert [d.kind for d in recording.damage] == (["attr-tail"] if size == 200 else [])


def test_flags_are_bit_fields() -> None:
    """A big-endian compiler begins bit fields at the highest bit: the flags come out the same."""
    flags = pm.SAMPLE_ID_ALL | 1 << 5 | 1 << 33
    little, big = (opened(pm.PerfMaker([pm.Event(flags=flags)], big=b)).attrs[0].flags for b in (False, True))
    assert little == big == flags


def test_unfinished_files_are_read_to_their_end() -> None:
    """A recorder that was killed leaves data size 0 and no features."""
    recording = opened(one_sample(one_sample(pm.PerfMaker([EVENT], unfinished=True))))
    assert sum(batch.count for batch in recording.batches()) == 2
    assert [d.kind for d in recording.damage] == ["unfinished"]


def test_cut_files_give_what_is_there() -> None:
    m = one_sample(one_sample(pm.PerfMaker([EVENT])))
    recording = open_perfdata(io.BytesIO(m.build()[:-10]))
    assert sum(batch.count for batch in recording.batches()) == 1
    assert [d.kind for d in recording.damage] == ["cut"]


@pytest.mark.parametrize("data", [b"", b"PERF", b"\x7fELF" + bytes(200), b"PERFILE2" + bytes(96)])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        open_perfdata(io.BytesIO(data))


def test_a_pipe_is_read_once() -> None:
    """What cannot be sought is streamed; asking again is an error and not an empty answer."""

    class Pipe(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.inner = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, into) -> int:
            data = self.inner.read(min(len(into), 5))
            into[: len(data)] = data
            return len(data)

        def read(self, size: int = -1) -> bytes:
            return self.inner.read(size)

    recording = open_perfdata(Pipe(one_sample(pm.PerfMaker([EVENT], pipe=True)).build()))
    assert len(recording.events) == 1
    assert sum(batch.count for batch in recording.batches()) == 1
    with pytest.raises(FormatError, match="once"):
        list(recording.batches())


def test_features_become_values() -> None:
    """Layouts of tools/perf/util/header.c, packed by hand."""
    m = pm.PerfMaker([EVENT])
    p, s = m.pack, m.string
    m.features = {
        11: p("I", 2) + s("perf") + s("record"),
        10: p("Q", 1024),
        12: p("II", 1, 136) + EVENT.attr("<") + p("I", 1) + s("cycles:ppp") + p("Q", 5),
        13: p("I", 1)
        + s("0-1")
        + p("I", 2)
        + s("0")
        + s("1")
        + p("4I", 3, 0, 4, 1)
        + p("I", 1)
        + s("0-1")
        + p("2I", 7, 8),
        14: p("IIQQ", 1, 0, 100, 50) + s("0-1"),
        16: p("II", 1, 9) + s("breakpoint"),
        17: p("I", 1) + s("{a,b}") + p("II", 0, 2),
        20: p("IIIIII", 1, 1, 1, 64, 128, 8) + s("Data") + s("32K") + s("0"),
        21: p("QQ", 5, 9),
        22: p("QQQ", 1, 1 << 27, 1) + p("QQQQ", 0, 1 << 30, 70, 5) + p("Q", 1),
        29: p("IIQQ", 1, 4, 1_700_000_000_000_000_000, 5),
        28: p("I", 1) + s("branches") + s("32"),
        30: p("I", 1) + s("cpu_core") + s("0-7"),
        31: p("II", 1, 1) + s("a") + s("b") + s("cpu"),
        32: p("IIII", 17, 2, 0, 1) + p("I", 0) + s("MC") + s("3") + s("0-1"),
        25: p("I", 1) + p("IIQ", 4, 2, 0) + b"infoda",
        26: p("II", 1, 9) + p("I", 3) + b"btf",
        63: b"later",
    }
    recording = opened(one_sample(m))
    got = recording.features
    assert recording.machine.command == ("perf", "record")
    assert recording.machine.memory == 1 << 20
    assert [e.name for e in recording.events] == ["cycles:ppp"]
    assert [(c.core, c.socket, c.die) for c in got["CPU_TOPOLOGY"].cpus] == [(3, 0, 7), (4, 1, 8)]
    assert got["NUMA_TOPOLOGY"][0].cpus == "0-1"
    assert got["PMU_MAPPINGS"] == {9: "breakpoint"}
    assert [(g.name, g.leader, g.members) for g in recording.groups] == [("{a,b}", 0, 2)]
    assert (got["CACHE"][0].line_size, got["CACHE"][0].size) == (64, "32K")
    assert got["SAMPLE_TIME"] == (5, 9)
    assert got["MEM_TOPOLOGY"][0].blocks == 5 + (1 << 64)
    assert got["CLOCK_DATA"].clockid == 4
    assert got["CPU_PMU_CAPS"] == {"branches": "32"}
    assert got["HYBRID_TOPOLOGY"] == {"cpu_core": "0-7"}
    assert got["PMU_CAPS"] == {"cpu": {"a": "b"}}
    assert (got["CPU_DOMAIN_INFO"][0].name, got["CPU_DOMAIN_INFO"][0].cpus) == ("MC", "0-1")
    assert got["BPF_PROG_INFO"] == ((b"info", b"da"),)
    assert got["BPF_BTF"] == ((9, b"btf"),)
    assert recording.unknown_features == {63: 5}
    assert [d.kind for d in recording.damage] == ["unknown-feature"]


def test_damaged_features_are_counted() -> None:
    """A feature that cannot be read takes nothing else with it."""
    m = pm.PerfMaker([EVENT], features={3: b"\xff\xff\xff\xffx", 13: b"\xff" * 8, 6: b"\4\0\0\0arm\0"})
    recording = opened(one_sample(m))
    assert recording.machine.arch == "arm"
    assert {d.kind: d.count for d in recording.damage} == {"feature": 2}


def test_build_ids() -> None:
    """With a size (5.10) as many bytes as it says; without, zeros at the end belong to no id."""
    m = pm.PerfMaker([EVENT])
    new = m.record(67, m.pack("i", -1) + bytes(range(20)) + b"\x10\0\0\0" + pm.padded("/lib/x"), 0x8002)
    old = m.record(67, m.pack("i", 3) + bytes(range(1, 21)) + bytes(4) + pm.padded("/lib/y"), 2)
    m.features = {2: new + old}
    recording = opened(one_sample(m))
    assert [(b.pid, b.build_id, b.path) for b in recording.build_ids] == [
        (-1, bytes(range(16)), "/lib/x"),
        (3, bytes(range(1, 21)), "/lib/y"),
    ]


def test_feature_bits_of_32_bit_machines() -> None:
    """A big-endian machine with 32-bit longs writes its bitmap in swapped halves (HOSTNAME is always there)."""
    bits = struct.pack(">8I", 1 << 3 | 1 << 6, 1 << 0, 0, 0, 0, 0, 0, 0)
    assert feature_numbers(bits, big=True) == [3, 6, 32]
    assert feature_numbers(struct.pack(">4Q", 1 << 3 | 1 << 32, 0, 0, 0), big=True) == [3, 32]


def test_what_is_none_says_what_would_be(tmp_path) -> None:
    """A text that nobody prints; a folder without a recording in it."""
    with pytest.raises(FormatError) as text:
        open_perfdata(io.BytesIO(b"this is a letter\n"))
    assert any("perf script, trace-cmd report" in hint for hint in text.value.hints)
    with pytest.raises(FormatError) as other:
        open_perfdata(io.BytesIO(bytes(range(64))))
    assert not other.value.hints
    with pytest.raises(IsADirectoryError, match="perf record --threads"):
        open_perfdata(str(tmp_path))
