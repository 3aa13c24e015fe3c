"""The parts of the recorder by themselves: attributes, counts, start state, pace, control, what was hit."""

from __future__ import annotations

import io
import os
import struct
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from probescope.collect.recorder import sizes
from probescope.collect.recorder.behind import BLOCK, Behind
from probescope.collect.recorder.control import Control
from probescope.collect.recorder.files import written_attr
from probescope.collect.recorder.hits import hits_of
from probescope.collect.recorder.opening import Opener, RingEvent
from probescope.collect.recorder.pace import Pace
from probescope.collect.recorder.rings import _count
from probescope.collect.recorder.sampling import Sampling, ring_events
from probescope.collect.recorder.small import hits_of_records
from probescope.collect.recorder.starting import Start
from probescope.errors import KernelError, UsageError
from probescope.formats.perfdata import open_perfdata
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.encode import encode_side, record
from probescope.formats.perfdata.layout import layout_of
from probescope.formats.perfdata.pipe_writer import PipeWriter
from probescope.formats.perfdata.tracing_data import parse_tracing_data
from probescope.formats.perfdata.tracing_write import encode_tracing_data
from probescope.formats.perfdata.writer import PerfDataWriter, WrittenEvent
from probescope.frozen import replace
from probescope.kernel import limits
from probescope.kernel.fake import Call, FakeHost
from probescope.kernel.host import use_host
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.uapi import perf as u
from probescope.model.perf_spec import Term
from probescope.model.recording import MappedFile, Named, Started
from probescope.sources.perf_events import Counter

CLOCK = Counter("cpu-clock", PerfAttr(u.PERF_TYPE_SOFTWARE, u.PERF_COUNT_SW_CPU_CLOCK))
POINT = Counter("sched:sched_switch", PerfAttr(u.PERF_TYPE_TRACEPOINT, 300))


def attrs(*counters: Counter, inherit: bool = True, alone: bool = False, **options: object) -> list[PerfAttr]:
    sampling = Sampling(**options)  # type: ignore[arg-type]
    events = ring_events(counters, sampling, {}, inherit=inherit, machine="x86_64", alone=alone)
    return [e.attr for e in events]


# --- attributes


def test_a_clock_and_a_tracepoint() -> None:
    """As perf record -vv shows its own: 4000 Hz; each hit, raw, with its CPU; the side-band apart."""
    clock, point, side = attrs(CLOCK, POINT)
    base = u.PERF_SAMPLE_IP | u.PERF_SAMPLE_TID | u.PERF_SAMPLE_TIME | u.PERF_SAMPLE_IDENTIFIER
    assert clock.sample_type == base | u.PERF_SAMPLE_PERIOD
    assert (clock.period, bool(clock.flags & u.FLAG_FREQ)) == (4000, True)
    assert point.sample_type == base | u.PERF_SAMPLE_PERIOD | u.PERF_SAMPLE_RAW | u.PERF_SAMPLE_CPU
    assert (point.period, bool(point.flags & u.FLAG_FREQ)) == (1, False)
    assert side.config == u.PERF_COUNT_SW_DUMMY
    assert side.flags & u.FLAG_MMAP2
    assert not clock.flags & u.FLAG_MMAP2
    assert all(a.flags & u.FLAG_INHERIT for a in (clock, point, side))


def test_one_event_of_tasks_brings_the_side_band_itself() -> None:
    (one,) = attrs(POINT, alone=True)
    assert one.flags & u.FLAG_MMAP2
    assert not one.sample_type & u.PERF_SAMPLE_IDENTIFIER


def test_dwarf_stacks() -> None:
    """perf's own: registers 0xff0fff, 8192 bytes, no user frames of the kernel's; data mappings too."""
    one, side = attrs(CLOCK, call_graph="dwarf")
    assert (one.sample_regs_user, one.sample_stack_user) == (0xFF0FFF, 8192)
    assert one.flags & u.FLAG_EXCLUDE_CALLCHAIN_USER
    assert side.flags & u.FLAG_MMAP_DATA


def test_a_group_that_is_read_by_its_leader() -> None:
    """``:S``: only the leader samples, and nothing is inherited."""
    group = [Counter(c.name, c.attr, 0, modifiers="S") for c in (CLOCK, CLOCK)]
    leader, member, _ = attrs(*group)
    assert leader.read_format & u.PERF_FORMAT_GROUP
    assert leader.flags & u.FLAG_DISABLED
    assert (member.period, member.flags & (u.FLAG_FREQ | u.FLAG_DISABLED | u.FLAG_INHERIT)) == (0, 0)


def test_a_frequency_that_was_asked_for_is_of_tracepoints_too() -> None:
    point = attrs(POINT, frequency=99)[0]
    assert (point.period, bool(point.flags & u.FLAG_FREQ)) == (99, True)
    assert attrs(Counter("x", PerfAttr(4, 0, 777)), frequency=99)[0].period == 777


def test_terms_of_an_event() -> None:
    """They go before the options, for that event alone."""
    terms = (Term("call-graph", "dwarf"), Term("stack-size", "1001"), Term("no-inherit"))
    own, other, _ = attrs(replace(CLOCK, terms=terms), CLOCK, call_graph="fp")
    assert (own.sample_stack_user, other.sample_stack_user) == (1008, 0)
    assert not own.flags & u.FLAG_INHERIT
    assert other.flags & u.FLAG_INHERIT
    with pytest.raises(UsageError, match="no call graphs by 'x'"):
        attrs(replace(CLOCK, terms=(Term("call-graph", "x"),)))


# --- opening


def opener(*answers: int) -> tuple[Opener, FakeHost]:
    """Each call of perf_event_open answers with one of these: an error if negative."""
    host = FakeHost({"/proc/sys/kernel/perf_event_paranoid": "2", "/proc/self/status": "\nCapEff:\t0\n"})
    left = list(answers)

    def answer(_: Call) -> int:
        one = left.pop(0)
        if one < 0:
            raise OSError(-one, os.strerror(-one))
        return one

    host.on("perf_event_open", answer)
    attr = PerfAttr(
        u.PERF_TYPE_HARDWARE, 0, 4000, read_format=u.PERF_FORMAT_LOST, flags=u.FLAG_KSYMBOL | u.FLAG_BPF_EVENT
    )
    return Opener([RingEvent("cycles", attr)]), host


def test_what_an_older_kernel_lacks_is_left_out() -> None:
    """EINVAL: the youngest first, until it opens; the next place begins with that."""
    o, host = opener(-22, -22, 50, 51)
    with use_host(host):
        o.open(0, 1, 0, None).detach()
        o.open(0, 1, 1, None).detach()
    attr = o.events[0].attr
    assert (attr.read_format, attr.flags) == (0, u.FLAG_KSYMBOL)
    assert o.notes == []


def test_cycles_become_a_clock_of_user_space() -> None:
    """No counters (ENOENT), then no privileges (EACCES): both are told."""
    o, host = opener(-2, -13, 50)
    with use_host(host):
        o.open(0, 1, 0, None).detach()
    assert o.events[0].name == "cpu-clock:u"
    assert o.events[0].attr.flags & u.FLAG_EXCLUDE_KERNEL
    assert o.notes[0] == "this machine has no cycles: cpu-clock instead"
    assert "without privileges" in o.notes[1]


def test_errors_name_the_event() -> None:
    o, host = opener(-28)
    with use_host(host), pytest.raises(KernelError, match="cycles: perf_event_open failed: ENOSPC"):
        o.open(0, 1, 0, None)


@pytest.mark.parametrize(
    ("values", "read_format", "expected"),
    [
        ((5,), 0, (5, 0)),
        ((5, 99, 3), u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST, (5, 3)),
        ((5, 1, 2, 99, 3), 3 | u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST, (5, 3)),
        ((2, 5, 99, 3, 6, 98, 4), u.PERF_FORMAT_GROUP | u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST, (5, 3)),
        ((2, 1, 2, 5, 99, 3, 6, 98, 4), 3 | u.PERF_FORMAT_GROUP | u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST, (5, 3)),
        ((), u.PERF_FORMAT_GROUP, (0, 0)),
    ],
)
def test_counts(values: tuple[int, ...], read_format: int, expected: tuple[int, int]) -> None:
    """Every read format of perf_event_open(2)."""
    assert _count(values, read_format) == expected


# --- pace


def test_the_clock_is_used_where_events_come_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """An eighth of a ring of 8 MB in 1 ms: as long is slept, and the disk is not waited for any more. Slower: the
    kernel wakes us."""
    now = [100.0]
    slept: list[float] = []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", slept.append)

    class Waited:
        def __init__(self) -> None:
            self.times: list[int] = []

        def wait(self, ms: int) -> None:
            self.times.append(ms)

    rings, pace = Waited(), Pace(8_000_000)
    assert pace.visited(100.001, 1_000_000)
    now[0] = 100.001
    pace.wait(rings, 1.0)  # type: ignore[arg-type]
    assert slept == [pytest.approx(0.001, rel=0.01)]
    assert not pace.visited(100.101, 500_000)
    pace.wait(rings, 1.0)  # type: ignore[arg-type]
    assert rings.times == [1001]


# --- what is written behind


def test_all_is_written_in_order_by_the_thread() -> None:
    """Whatever the pieces and their sizes, and though their memory changes at once."""
    written = bytearray()
    behind = Behind(lambda pieces: [written.extend(p) for p in pieces] and None)
    behind.visit([memoryview(b"first ")])
    behind.begin()
    ring = bytearray(3 * BLOCK // 2)
    expected = bytearray(b"first ")
    for i in range(20):
        ring[:] = bytes([i]) * len(ring)
        expected += ring
        expected += ring[:10]
        behind.visit([memoryview(ring), memoryview(ring)[:10]])
    behind.finish()
    assert written == expected
    assert behind.waiting == 0
    behind.close()


def test_what_waits_is_bounded() -> None:
    """A disk that stands still: the second visit finds no room, and waits until there is."""
    gate, began = threading.Event(), threading.Event()
    sizes: list[int] = []

    def write(pieces: Sequence[memoryview]) -> None:
        began.set()
        gate.wait(30)
        sizes.append(sum(map(len, pieces)))

    behind = Behind(write, most=1000)
    behind.begin()
    behind.visit([memoryview(bytes(600))])
    assert began.wait(30)
    other = threading.Thread(target=behind.visit, args=([memoryview(bytes(600))],))
    other.start()
    assert behind.waiting == 600
    gate.set()
    other.join(30)
    behind.finish()
    assert sizes == [600, 600]
    behind.close()


def test_errors_of_the_disk_are_the_recorders() -> None:
    def write(pieces: Sequence[memoryview]) -> None:
        raise OSError(28, "No space left on device")

    behind = Behind(write)
    behind.begin()
    behind.visit([memoryview(b"x")])
    with pytest.raises(OSError, match="No space left"):
        behind.finish()
    with pytest.raises(OSError, match="No space left"):
        behind.visit([memoryview(b"x")])
    behind.close()


@pytest.mark.parametrize(
    ("cpus", "may", "overwrite", "pages"),
    [
        (2, True, False, 2048),
        (8, True, False, 2048),
        (16, True, False, 1024),
        (64, True, False, 512),
        (128, True, False, 128),
        (2, False, False, 128),
        (2, True, True, 512),
    ],
)
def test_sizes_of_rings(monkeypatch: pytest.MonkeyPatch, cpus: int, may: bool, overwrite: bool, pages: int) -> None:
    """516 KB are what kernels allow each user a CPU."""

    class Privileged:
        def may(self, _: str) -> bool:
            return may

    monkeypatch.setattr(sizes, "online_cpus", lambda: range(cpus))
    monkeypatch.setattr(sizes, "sysctl_int", lambda _: 516)
    monkeypatch.setattr(sizes, "privileges", Privileged)
    assert sizes.default_pages(overwrite=overwrite) == pages


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("MemFree: 1 kB\nMemAvailable:    4194304 kB\n", 512 << 20),
        ("MemAvailable: 99999999999 kB\n", 1 << 30),
        ("MemAvailable: 1000 kB\n", 64 << 20),
        ("MemAvailable: what\n", 64 << 20),
        ("", 64 << 20),
    ],
)
def test_what_may_wait_is_a_part_of_what_is_free(text: str, most: int) -> None:
    """A disk that stands still must neither cost events while there is room, nor all the memory of a small machine."""
    host = FakeHost(files={"/proc/meminfo": text.encode()})
    with use_host(host):
        assert sizes.most_waiting() == most


def test_the_rings_come_before_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under ``chrt -f`` both threads have one priority, and the kernel lets the writer go on until its queue is empty,
    while rings fill up. Ordinary threads share the processor anyway, and stay as they are."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(limits.os, "sched_getparam", lambda _: os.sched_param(7))
    monkeypatch.setattr(limits.os, "sched_setscheduler", lambda _, how, p: told.append((how, p.sched_priority)))
    for policy in (os.SCHED_OTHER, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK):
        monkeypatch.setattr(limits.os, "sched_getscheduler", lambda _, policy=policy: policy)
        limits.ahead()
    assert told == [(os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 8)]


# --- control


def test_commands_and_answers() -> None:
    (ctl, commands), (answers, ack) = os.pipe(), os.pipe()
    try:
        control = Control(f"fd:{ctl},{ack}")
        os.write(commands, b"enable\nnonsense\nenable cpu-clock\nst")
        assert list(control.commands()) == ["enable", "enable cpu-clock"]
        assert not control.stopped
        os.write(commands, b"op\n")
        assert list(control.commands()) == ["stop"]
        assert control.stopped
        control.answer("stop")
        assert os.read(answers, 100) == b"ack\n"
    finally:
        for fd in (ctl, commands, answers, ack):
            os.close(fd)


def test_commands_that_can_come_no_more() -> None:
    """The end of a pipe is there to be read for ever: whoever waits for the descriptor would not wait any more."""
    ctl, to = os.pipe()
    try:
        control = Control(f"fd:{ctl}")
        os.write(to, b"disable\n")
        os.close(to)
        assert list(control.commands()) == ["disable"]
        assert control.fileno() == ctl
        assert list(control.commands()) == []
        assert control.fileno() == -1
        control.close()
    finally:
        os.close(ctl)


@pytest.mark.parametrize(
    "spec", ["x", "fd:", "fd:x", "fd:999999", "fd:99999999999999999999", "fifo:/no/such", "file:/tmp/x"]
)
def test_channels_that_cannot_be_used(spec: str) -> None:
    with pytest.raises(UsageError, match="control channel"):
        Control(spec)


def test_a_file_is_no_channel(tmp_path: Path) -> None:
    """Nobody can wait for one: epoll(7) refuses it."""
    path = tmp_path / "commands"
    path.write_text("enable\n")
    with path.open() as f:
        for spec in (f"fd:{f.fileno()}", f"fifo:{path}", "fifo:/dev/null"):
            with pytest.raises(UsageError, match="no pipe, socket or terminal"):
                Control(spec)


# --- what there was before

MAPS = """55d0c0000000-55d0c0001000 r--p 00000000 fe:01 7                          /bin/it
55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 7                          /bin/it
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
"""
PROC = {
    "/proc/41/stat": "41 (it) S 1 41 41 0",
    "/proc/41/comm": "it\n",
    "/proc/41/maps": MAPS,
    "/proc/41/task/41/comm": "it\n",
    "/proc/41/task/42/comm": "worker (x)\n",
    "/proc/kallsyms": "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81200000 T _etext\n",
    "/proc/modules": "nf_tables 8000 0 - Live 0xffffffffc0000000\n",
}
ATTR = Attr(type=1, sample_type=1 << 1 | 1 << 2 | 1 << 16, flags=1 << 18)


def test_start_state() -> None:
    """Read back as the records that the kernel would have written: kernel and modules, parents and threads, names,
    what can be executed."""
    start = Start(layout_of(ATTR), 7)
    with use_host(FakeHost(PROC)):
        told = [*start.kernel(), *start.tasks([41])]
    file = io.BytesIO()
    writer = PerfDataWriter(file, [WrittenEvent(ATTR, "x", (7,))])
    writer.write(b"".join(told))
    writer.finish()
    found = [side for batch in open_perfdata(io.BytesIO(file.getvalue())).batches() for _, side in batch.between]
    maps = [(m.pid, m.start, m.size, m.offset, m.path) for m in found if isinstance(m, MappedFile)]
    assert maps == [
        (-1, 0xFFFFFFFF81000000, 0x200000, 0xFFFFFFFF81000000, "[kernel.kallsyms]_text"),
        (-1, 0xFFFFFFFFC0000000, 8192, 0, "[nf_tables]"),
        (41, 0x55D0C0001000, 0x2000, 0x1000, "/bin/it"),
        (41, 0x7F0000000000, 0x1000, 0, "//anon"),
    ]
    assert [(n.pid, n.tid, n.comm) for n in found if isinstance(n, Named)] == [(41, 41, "it"), (41, 42, "worker (x)")]
    assert [(s.pid, s.tid, s.parent) for s in found if isinstance(s, Started)] == [(41, 41, 1), (41, 42, 41)]


def test_nothing_of_the_kernel_where_addresses_are_hidden() -> None:
    hidden = "0000000000000000 T _stext\n0000000000000000 T _text\n0000000000000000 T _etext\n"
    with use_host(FakeHost({"/proc/kallsyms": hidden})):
        assert list(Start(layout_of(ATTR), 7).kernel()) == []


# --- files


def test_descriptions_of_tracepoints_come_back() -> None:
    text = b"name: sched_switch\nID: 300\nformat:\n"
    data = encode_tracing_data({"sched": [text]}, header_page=b"page", header_event=b"event", printk=b"0x1 : x\n")
    found = parse_tracing_data(data)
    assert found.formats == {300: ("sched", text.decode())}
    assert (found.printk, found.page_size, found.complete) == ("0x1 : x\n", 4096, True)


@pytest.mark.parametrize("level", [0, 3])
def test_a_pipe_comes_back(level: int) -> None:
    file = io.BytesIO()
    writer = PipeWriter(file, [WrittenEvent(ATTR, "cpu-clock:u", (7, 8))], {"HOSTNAME": "here"}, level=level)
    writer.visit([memoryview(encode_side(Named(13, -1, 5, 6, "name"), layout_of(ATTR), 7))])
    writer.finish()
    recording = open_perfdata(io.BytesIO(file.getvalue()))
    sides = [side for batch in recording.batches() for _, side in batch.between]
    assert [s.comm for s in sides if isinstance(s, Named)] == ["name"]
    assert [event.name for event in recording.events] == ["cpu-clock:u"]
    assert recording.machine.hostname == "here"
    assert recording.damage == ()


def test_a_raw_file_may_take_less_than_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """writev(2) is asked again for what is left."""
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda fd, pieces: real(fd, [pieces[0][:5]]))
    path = tmp_path / "perf.data"
    with io.FileIO(str(path), "w") as file:
        writer = PerfDataWriter(file, [WrittenEvent(ATTR, "x", (7,))])
        one = encode_side(Named(13, -1, 5, 6, "name"), layout_of(ATTR), 7)
        writer.visit([memoryview(one[:7]), memoryview(one[7:])])
        writer.finish()
    with open_perfdata(str(path)) as recording:
        assert [s.comm for b in recording.batches() for _, s in b.between if isinstance(s, Named)] == ["name"]


def test_hits(tmp_path: Path) -> None:
    """Samples and frames, in what their process or its mother had mapped; the rest has no file."""
    chains = Attr(type=1, sample_type=1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 16, flags=1 << 18)
    layout = layout_of(chains)
    path = tmp_path / "perf.data"

    def sample(pid: int, time: int, *frames: int) -> bytes:
        body = struct.pack("<QQiiQQ", 7, frames[0], pid, pid, time, len(frames)) + struct.pack(
            f"<{len(frames)}Q", *frames
        )
        return record(r.SAMPLE, 2, body)

    with io.FileIO(str(path), "w") as file:
        writer = PerfDataWriter(file, [WrittenEvent(chains, "x", (7,))])
        for side in (
            MappedFile(1, -1, -1, 0, 1 << 63, 1 << 20, 0, "[kernel.kallsyms]_text"),
            MappedFile(2, -1, 5, 5, 0x1000, 0x1000, 0x4000, "/bin/mother", inode=3, protection=5, flags=2),
            MappedFile(2, -1, 5, 5, 0x9000, 0x1000, 0, "/bin/unhit", inode=4, protection=5, flags=2),
            Started(3, -1, 6, 6, 5, 5),
        ):
            writer.write(encode_side(side, layout, 7))
        user, kernel = (1 << 64) - 512, (1 << 64) - 128
        writer.write(sample(6, 10, user, 0x1010, 0x8000) + sample(6, 11, kernel, (1 << 63) + 5, user, 0x1020))
        writer.finish()
    found = hits_of(str(path))
    records = path.read_bytes()[writer.data_at : writer.data_at + writer.data_size]
    few = hits_of_records(records, {7: layout})  # which has no use for the times of mappings
    assert [replace(m, time=0) for m in found.modules] == few.modules
    few.modules = found.modules
    assert few == found
    assert [(f.path, f.offsets, f.pids) for f in found.files] == [("/bin/mother", (0x4010, 0x4020), (6,))]
    assert [f.path for f in found.unhit] == ["/bin/unhit"]
    assert found.kernel == ((1 << 63) + 5,)
    assert found.jits == {6: (0x8000,)}
    assert (found.samples, found.times) == (2, (10, 11))


def test_attributes_of_files_are_those_of_the_kernel() -> None:
    """Field by field: the same bytes."""
    attr = PerfAttr(1, 2, 3, 4, 5, 6, 7, 3, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)
    assert written_attr(attr).pack(size=136) == bytes(attr.pack())
