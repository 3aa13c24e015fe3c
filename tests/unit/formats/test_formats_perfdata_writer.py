"""What is written is read again: records, side-band, features, in both byte orders, compressed or not."""

from __future__ import annotations

import io

import pytest

from probescope.errors import InternalError
from probescope.formats.perfdata import open_perfdata
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.encode import encode_feature, encode_side, record
from probescope.formats.perfdata.features import ClockData, CpuPlace, CpuTopology, Group, NumaNode
from probescope.formats.perfdata.layout import layout_of
from probescope.formats.perfdata.meta import BuildId
from probescope.formats.perfdata.writer import PerfDataWriter, WrittenEvent
from probescope.model.recording import (
    Ended,
    LostEvents,
    MappedFile,
    Named,
    OtherRecord,
    SideRecord,
    Started,
    Switched,
)

ATTR = Attr(type=1, sample_type=1 << 1 | 1 << 2 | 1 << 7 | 1 << 16, flags=1 << 18)  # tid, time, cpu, identifier
SIDES: tuple[SideRecord, ...] = (
    MappedFile(10, 1, -1, 0, 1 << 63, 4096, 0, "[kernel.kallsyms]_text"),
    MappedFile(11, 1, 5, 6, 4096, 8192, 0, "/bin/ä", device=(8, 1), inode=7, generation=1, protection=5, flags=2),
    MappedFile(12, 1, 5, 6, 4096, 8192, 0, "/bin/y", protection=5, flags=2, build_id=bytes(range(20))),
    Named(13, 1, 5, 6, "name", exec=True),
    Started(14, 1, 7, 7, 5, 6),
    LostEvents(15, 1, 5, 6, 44, 0, "lost"),
    LostEvents(16, 1, 5, 6, 45, 0, "lost_samples"),
    Switched(17, 1, 5, 6, out=True, preempted=True),
    Switched(18, 1, 5, 6, out=True, other_pid=8, other_tid=9),
    Ended(19, 1, 7, 7, 5, 6),
)
FEATURES = {
    "HOSTNAME": "here",
    "NRCPUS": (4, 2),
    "TOTAL_MEM": 1024,
    "CMDLINE": ("perf", "record", ""),
    "CPU_TOPOLOGY": CpuTopology(("0-1",), ("0", "1"), ("0-1",), (CpuPlace(0, 1, 2), CpuPlace(3, 4, 5))),
    "NUMA_TOPOLOGY": (NumaNode(0, 100, 50, "0-1"),),
    "PMU_MAPPINGS": {1: "software", 9: "uprobe"},
    "GROUP_DESC": (Group("{a}", 0, 2),),
    "SAMPLE_TIME": (1, 2),
    "CLOCK_DATA": ClockData(1, 2, 3),
    "CPU_PMU_CAPS": {"branches": "32"},
}


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("level", [0, 3])
def test_everything_comes_back(big: bool, level: int) -> None:
    file = io.BytesIO()
    writer = PerfDataWriter(file, [WrittenEvent(ATTR, "cpu-clock:u", (7, 8))], big=big, level=level)
    layout = layout_of(ATTR)
    for side in SIDES:
        writer.write(encode_side(side, layout, 7, big=big))
        writer.round()
    build_ids = (BuildId(-1, bytes(range(20)), "[kernel.kallsyms]"), BuildId(-1, bytes(range(16)), "/bin/x"))
    writer.finish(FEATURES, build_ids=build_ids)
    recording = open_perfdata(io.BytesIO(file.getvalue()))
    assert [side for batch in recording.batches() for _, side in batch.between] == list(SIDES)
    assert recording.damage == ()
    assert {name: recording.features[name] for name in FEATURES} == FEATURES
    assert recording.build_ids == build_ids
    assert [event.name for event in recording.events] == ["cpu-clock:u"]
    assert recording.ids == {7: 0, 8: 0}
    assert recording.attrs[0].sample_type == ATTR.sample_type
    assert recording.stats["FINISHED_ROUND"] == len(SIDES)


def test_attributes_are_as_long_as_perf_knows_them() -> None:
    """perf 6.1 refuses attributes of more than 128 bytes: longer ones only where they hold something."""
    for attr, size in ((Attr(), 128), (Attr(config3=1), 136), (Attr(config4=1), 144)):
        file = io.BytesIO()
        PerfDataWriter(file, [WrittenEvent(attr, "x")]).finish()
        assert open_perfdata(io.BytesIO(file.getvalue())).attrs[0].size == size


def test_a_writer_that_dies_leaves_a_file_that_is_read() -> None:
    """Until finish the header says: not finished."""
    file = io.BytesIO()
    writer = PerfDataWriter(file, [WrittenEvent(ATTR, "x", (7,))])
    writer.write(encode_side(SIDES[3], layout_of(ATTR), 7))
    recording = open_perfdata(io.BytesIO(file.getvalue()))
    assert [side for batch in recording.batches() for _, side in batch.between] == [SIDES[3]]
    assert [d.kind for d in recording.damage] == ["unfinished"]


def test_much_is_compressed_in_many_records() -> None:
    """More than what is compressed at once, and output that one record cannot hold."""
    import random

    noise = random.Random(1)
    attr = Attr(type=1, sample_type=1 << 2 | 1 << 10, flags=1 << 18)
    file = io.BytesIO()
    writer = PerfDataWriter(file, [WrittenEvent(attr, "x", (7,))], level=1)
    for i in range(1, 1500):
        body = i.to_bytes(8, "little") + (812).to_bytes(4, "little") + noise.randbytes(812)
        writer.write(record(r.SAMPLE, 2, body))
    writer.finish()
    recording = open_perfdata(io.BytesIO(file.getvalue()))
    assert [t for batch in recording.batches() for t in batch.time.tolist()] == list(range(1, 1500))
    assert recording.damage == ()
    assert recording.stats["COMPRESSED"] > 4


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(InternalError):
        encode_side(OtherRecord(kind="CGROUP"), layout_of(ATTR), 7)
    with pytest.raises(InternalError):
        encode_feature("CACHE", ())
    with pytest.raises(InternalError):
        record(r.SAMPLE, 0, bytes(70000))
    assert encode_feature("CACHE", b"as it is") == b"as it is"
