"""Parts of samples and side-band records, in both byte orders, against values packed by hand."""

from __future__ import annotations

import io

import formats_perfmaker as pm
import pytest

from probescope.formats.perfdata import open_perfdata
from probescope.model.recording import (
    Ended,
    LostEvents,
    MappedFile,
    Named,
    OtherRecord,
    Started,
    Switched,
)

ALL = (1 << 25) - 1 & ~pm.WEIGHT_STRUCT
FULL = pm.Event(ALL, (7,), read_format=0b011, branch=1 << 17 | 1 << 19, regs_user=0b1011, regs_intr=0b11)
SAMPLE = pm.Sample(
    ip=0xFFFF_8000_0000_1234,
    pid=10,
    tid=-1,
    time=1 << 40,
    addr=5,
    id=7,
    stream_id=9,
    cpu=3,
    period=100,
    reads=(1, 2, 3),
    stack=((1 << 64) - 128, 0xFFFF_8000_0000_1234, (1 << 64) - 512, 0x55),
    raw=b"\x01\x02raw bytes-",
    branches=((1, 2, 0), (3, 4, 0)),
    hw_index=77,
    counters=(1, 2),
    regs=(1, 2, 3),
    dump=bytes(range(16)),
    dump_used=10,
    weight=11,
    data_src=12,
    transaction=13,
    regs_intr=(4, 5),
    phys_addr=14,
    cgroup=15,
    data_page=4096,
    code_page=2048,
    aux=bytes(8),
)
SIDE = pm.Event(pm.TID | pm.TIME | pm.CPU | pm.IDENTIFIER, (7,))
WHERE = pm.Sample(pid=20, tid=21, time=500, cpu=1, id=7)


def batches(m: pm.PerfMaker):
    recording = open_perfdata(io.BytesIO(m.build()))
    return list(recording.batches()), recording


@pytest.mark.parametrize("big", [False, True])
def test_every_part_of_a_sample(big: bool) -> None:
    """All parts at once, each found at its running place behind the ones before it."""
    m = pm.PerfMaker([FULL], big=big)
    for _ in range(3):
        pm.add_sample(m, FULL, SAMPLE, misc=1)
    (batch,), recording = batches(m)
    assert recording.damage == ()
    assert batch.count == 3
    assert (batch.pid[1], batch.tid[1], batch.cpu[1], batch.time[1], batch.period[1]) == (10, -1, 3, 1 << 40, 100)
    numbers = {name: int(column[2]) for name, column in batch.numbers.items()}
    assert numbers == {
        "misc": 1,
        "ip": 0xFFFF_8000_0000_1234,
        "addr": 5,
        "id": 7,
        "identifier": 7,
        "stream_id": 9,
        "branch_hw_index": 77,
        "regs_abi": 2,
        "weight": 11,
        "data_src": 12,
        "transaction": 13,
        "phys_addr": 14,
        "cgroup": 15,
        "data_page_size": 4096,
        "code_page_size": 2048,
        "aux_size": 8,
    }
    assert batch.reads.piece(1).tolist() == [1, 2, 3]
    assert batch.stacks.piece(1).tolist() == list(SAMPLE.stack)
    assert batch.raw.piece(1).tobytes() == SAMPLE.raw
    assert batch.branches.piece(2)[:, :2].tolist() == [[1, 2], [3, 4]]
    assert batch.registers.piece(1).tolist() == [1, 2, 3]
    assert batch.registers_intr.piece(1).tolist() == [4, 5]
    assert batch.stack_dumps.piece(1).tolist() == list(range(10))
    assert recording.events[0].sampled >= {"ip", "callchain", "stack_user"}


def test_branch_flags_of_both_byte_orders() -> None:
    """mispredicted, cycles 5, type 2, privilege 1: the first bit field is the lowest bit or the highest one."""
    little = 1 | 5 << 4 | 2 << 20 | 1 << 30
    big = 1 << 63 | 5 << 44 | 2 << 40 | 1 << 31
    event = pm.Event(pm.BRANCH, (7,))
    for order, flags in ((False, little), (True, big)):
        m = pm.add_sample(pm.PerfMaker([event], big=order), event, pm.Sample(branches=((1, 2, flags),)))
        (batch,), _ = batches(m)
        assert batch.branches.piece(0).tolist() == [[1, 2, little]]


@pytest.mark.parametrize("big", [False, True])
def test_grouped_reads(big: bool) -> None:
    """A group's values: their number, enabled, running, then value, id and lost of each. Every member that counted
    something since the sample before becomes a sample of its own; ids that no event has are left out and counted."""
    leader = pm.Event(pm.READ | pm.PERIOD | pm.TIME | pm.IDENTIFIER, (7,), read_format=0b11111)
    member = pm.Event(pm.READ | pm.PERIOD | pm.TIME | pm.IDENTIFIER, (8,), read_format=0b11111, config=2)
    m = pm.PerfMaker([leader, member], big=big)
    pm.add_sample(m, leader, pm.Sample(time=1, period=4, reads=(2, 8, 9, 100, 7, 0, 200, 8, 1), id=7))
    m.add(3, m.pack("ii", 6, 6) + pm.padded("name") + pm.trailer(m, leader, pm.Sample(time=2, id=7)))
    pm.add_sample(m, leader, pm.Sample(time=3, period=4, reads=(2, 8, 9, 150, 7, 0, 200, 8, 1), id=7))
    pm.add_sample(m, leader, pm.Sample(time=4, period=4, reads=(0, 8, 9), id=7))
    pm.add_sample(m, leader, pm.Sample(time=5, period=4, reads=(3, 8, 9, 160, 7, 0, 205, 8, 1, 5, 99, 0), id=7))
    (batch,), recording = batches(m)
    assert batch.time.tolist() == [1, 1, 3, 5, 5]
    assert batch.event.tolist() == [0, 1, 0, 0, 1]
    assert batch.period.tolist() == [100, 200, 50, 10, 5]
    assert [at for at, _ in batch.between] == [2]
    assert {d.kind: d.count for d in recording.damage} == {"unknown-event": 1}


def test_reads_of_single_events() -> None:
    """value, enabled, running, id: the period is what was counted since the last time."""
    event = pm.Event(pm.READ | pm.TIME, (7,), read_format=0b111)
    m = pm.PerfMaker([event])
    for time, value in ((1, 10), (2, 15), (3, 15)):
        pm.add_sample(m, event, pm.Sample(time=time, reads=(value, 1, 1, 7)))
    (batch,), _ = batches(m)
    assert (batch.time.tolist(), batch.period.tolist()) == ([1, 2], [10, 5])


def test_events_of_different_layouts() -> None:
    """Samples of several events lie among each other; what one of them does not record is empty or -1."""
    first = pm.Event(pm.IDENTIFIER | pm.TIME | pm.IP | pm.CALLCHAIN | pm.PERIOD, (7, 8))
    second = pm.Event(pm.IDENTIFIER | pm.TIME | pm.TID | pm.BRANCH, (9,), type=2, config=3, period=50)
    m = pm.PerfMaker([first, second])
    pm.add_sample(m, first, pm.Sample(id=8, time=1, ip=5, stack=(5, 6), period=3))
    pm.add_sample(m, second, pm.Sample(id=9, time=2, pid=1, tid=2, branches=((1, 2, 3),)))
    pm.add_sample(m, first, pm.Sample(id=7, time=3, ip=7, stack=(7,), period=4))
    pm.add_sample(m, second, pm.Sample(id=12345, time=4))
    (batch,), recording = batches(m)
    assert batch.event.tolist() == [0, 1, 0]
    assert batch.tid.tolist() == [-1, 2, -1]
    assert batch.period.tolist() == [3, 50, 4]
    assert batch.numbers["ip"].tolist() == [5, 0, 7]
    assert [batch.stacks.piece(i).tolist() for i in range(3)] == [[5, 6], [], [7]]
    assert [len(batch.branches.piece(i)) for i in range(3)] == [0, 1, 0]
    assert {d.kind: d.count for d in recording.damage} == {"unknown-event": 1}


def test_samples_that_are_too_short_are_dropped_and_counted() -> None:
    """A chain longer than its record, a record shorter than its fixed part: the others stay."""
    event = pm.Event(pm.IP | pm.TIME | pm.CALLCHAIN, (7,))
    m = pm.PerfMaker([event])
    m.add(9, m.pack("QQQQ", 1, 1, 1000, 5))
    m.add(9, m.pack("Q", 1))
    pm.add_sample(m, event, pm.Sample(ip=9, time=2, stack=(3,)))
    (batch,), recording = batches(m)
    assert batch.numbers["ip"].tolist() == [9]
    assert {d.kind: d.count for d in recording.damage} == {"sample": 2}


def test_ids_decide_which_event() -> None:
    """As perf has it: without ids in trailers everything is of the first event; id 0 is too."""
    first, second = (pm.Event(pm.ID | pm.TIME, (n,), config=n - 1, period=n) for n in (1, 2))
    m = pm.PerfMaker([first, second])
    for n in (1, 2, 0):
        pm.add_sample(m, first, pm.Sample(id=n, time=5))
    (batch,), _ = batches(m)
    assert batch.event.tolist() == [0, 1, 0]


@pytest.mark.parametrize("big", [False, True])
def test_side_band(big: bool) -> None:
    """Each kind of record that is not a sample, with its trailer."""
    m = pm.PerfMaker([SIDE], big=big)
    p, end = m.pack, pm.trailer(m, SIDE, WHERE)
    m.add(1, p("iiQQQ", -1, 0, 0x1000, 0x2000, 0x10) + pm.padded("[kernel.kallsyms]_text") + end, 1)
    m.add(10, p("iiQQQIIQQII", 5, 6, 1, 2, 3, 8, 1, 77, 4, 5, 2) + pm.padded("/bin/x") + end, 2)
    m.add(
        10,
        p("iiQQQ", 5, 6, 1, 2, 3) + b"\x03\0\0\0abc".ljust(24, b"\0") + p("II", 5, 2) + pm.padded("/y") + end,
        1 << 14,
    )
    m.add(3, p("ii", 5, 6) + pm.padded("name") + end, 1 << 13)
    m.add(7, p("iiiiQ", 8, 5, 9, 6, 400) + end)
    m.add(4, p("iiiiQ", 8, 5, 9, 6, 400) + end)
    m.add(2, p("QQ", 7, 33) + end)
    m.add(13, p("Q", 34) + end)
    m.add(15, p("ii", 1, 2) + end, 1 << 13 | 1 << 14)
    m.add(14, end)
    m.add(16, p("iiQQQ", 5, 6, 1, 3, 4) + end)
    m.add(17, p("QIHH", 0x99, 64, 1, 0) + pm.padded("bpf_x") + end)
    m.add(20, p("QHH", 0x1000, 2, 2) + b"abcd" + end)
    m.add(22, p("QQQQ", 3, 2, 8, 9) + end)
    m.add(5, p("QQQ", 450, 7, 7) + end)
    (batch,), recording = batches(m)
    got = [record for _, record in batch.between]
    at = (500, 1)
    assert recording.damage == ()
    assert got == [
        MappedFile(*at, -1, 0, 0x1000, 0x2000, 0x10, "[kernel.kallsyms]_text"),
        MappedFile(*at, 5, 6, 1, 2, 3, "/bin/x", device=(8, 1), inode=77, generation=4, protection=5, flags=2),
        MappedFile(*at, 5, 6, 1, 2, 3, "/y", protection=5, flags=2, build_id=b"abc"),
        Named(*at, 5, 6, "name", exec=True),
        Started(*at, 8, 9, 5, 6),
        Ended(*at, 8, 9, 5, 6),
        LostEvents(*at, 20, 21, 33, 0, "lost"),
        LostEvents(*at, 20, 21, 34, 0, "lost_samples"),
        Switched(*at, 20, 21, out=True, preempted=True, other_pid=1, other_tid=2),
        Switched(*at, 20, 21),
        OtherRecord(*at, 5, 6, "NAMESPACES", {"namespaces": ((3, 4),)}),
        OtherRecord(*at, 20, 21, "KSYMBOL", {"addr": 0x99, "len": 64, "ksym_type": 1, "flags": 0, "name": "bpf_x"}),
        OtherRecord(*at, 20, 21, "TEXT_POKE", {"addr": 0x1000, "old": b"ab", "new": b"cd"}),
        OtherRecord(*at, 20, 21, "CALLCHAIN_DEFERRED", {"cookie": 3, "stack": (8, 9)}),
        OtherRecord(*at, 20, 21, "THROTTLE", {"time": 450, "id": 7, "stream_id": 7}),
    ]


def test_records_of_the_future_are_counted() -> None:
    """Types that no kernel of today writes, and simpleperf's own, are skipped."""
    event = pm.Event(pm.TIME, (7,))
    m = pm.PerfMaker([event])
    m.add(60, bytes(16)).add(90, bytes(8)).add(40000, bytes(64)).add(40000)
    pm.add_sample(m, event, pm.Sample(time=3))
    (batch,), recording = batches(m)
    assert batch.count == 1
    assert {d.kind: d.count for d in recording.damage} == {"unknown-record": 4}
    assert recording.stats == {"SAMPLE": 1, "UNKNOWN_60": 1, "UNKNOWN_90": 1, "SIMPLEPERF_32768": 2}


def test_fork_without_trailers_has_its_own_time() -> None:
    """Before sample_id_all only FORK and EXIT told a time."""
    event = pm.Event(pm.TIME, (7,), flags=0)
    m = pm.PerfMaker([event]).add(7, pm.PerfMaker([event]).pack("iiiiQ", 8, 5, 9, 6, 400))
    (batch,), _ = batches(m)
    assert batch.between == ((0, Started(400, -1, 8, 9, 5, 6)),)
