"""perf_event_open(2), both rings and tracefs on this kernel."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import struct
import subprocess
import sys
import time

import pytest
from work import instructions

from probescope.errors import KernelError
from probescope.kernel import bpf_link, bpf_map, leftovers, machine, perf_attr, perf_event, tracefs
from probescope.kernel.fds import forget_fds, open_fds
from probescope.kernel.features.tiny import RETURN_0, call, insn, load, mov
from probescope.kernel.host import host
from probescope.kernel.perfbuf import PerfBuffer
from probescope.kernel.perfring import PerfRing, walk
from probescope.kernel.ringbuf import RingBuffer
from probescope.kernel.uapi import bpf as u
from probescope.kernel.uapi import perf as p

SECOND = 1000  # milliseconds, for waits that end as soon as something comes


@pytest.fixture(autouse=True)
def no_descriptor_is_leaked():
    """Every Fd made by a test is closed by it."""
    forget_fds()
    yield
    assert [str(f) for f in open_fds()] == []


@pytest.fixture
def on_cpu_0():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    yield
    os.sched_setaffinity(0, before)


def only_this_process(body: bytes) -> bytes:
    head = insn(0xBF, 6, 1) + call(14) + insn(0x77, 0, imm=32)
    return head + insn(0x15, 0, off=2, imm=os.getpid()) + RETURN_0 + body


def emit_time(helper: int, map_fd: int, size: int = 8) -> bytes:
    """Puts ktime_get_ns() and zeros, ``size`` bytes in all, into a ring (helper 130) or a perf buffer (25)."""
    code = call(5)
    for at in range(8, size + 8, 8):
        code += insn(0x7A, 10, off=-at)
    code += insn(0x7B, 10, 0, -size)
    ring = insn(0x18, 1 if helper == 130 else 2, u.BPF_PSEUDO_MAP_FD, imm=map_fd) + insn(0)
    if helper == 130:  # (ring, data, size, flags)
        return (
            code + ring + insn(0xBF, 2, 10) + insn(0x07, 2, imm=-size) + mov(3, size) + mov(4, 0) + call(130) + RETURN_0
        )
    # (ctx, map, BPF_F_CURRENT_CPU, data, size)
    code += insn(0xBF, 1, 6) + ring + insn(0x18, 3, imm=-1) + insn(0) + insn(0xBF, 4, 10)
    return code + insn(0x07, 4, imm=-size) + mov(5, size) + call(25) + RETURN_0


# --- the BPF ring
# ----------------------------------------------------------------------------------------------------------


def test_ring_buffer_delivers_in_order_and_wakes():
    """All records of this process, times rising; wait() returns as soon as there is one."""
    size = 1 << 16
    with bpf_map.map_create(u.BPF_MAP_TYPE_RINGBUF, 0, 0, size) as m, RingBuffer(m, size) as ring:
        code = only_this_process(emit_time(130, m.fileno()))
        with load("raw_tracepoint", code) as prog, bpf_link.raw_tracepoint_open(prog, "sys_enter"):
            for _ in range(100):
                os.getppid()
            assert ring.wait(SECOND)
        times = [struct.unpack("=Q", v)[0] for v in ring.consume()]
        assert len(times) >= 100
        assert times == sorted(times)
        assert ring.available() == 0


def test_ring_buffer_over_many_rounds_loses_nothing_that_fits(on_cpu_0):
    """Wraps around dozens of times: the count that the producer made is the count that we read."""
    size = 4096
    with (
        bpf_map.map_create(u.BPF_MAP_TYPE_RINGBUF, 0, 0, size) as m,
        RingBuffer(m, size) as ring,
        bpf_map.map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1) as counts,
    ):
        # if ringbuf_output() == 0: counters[0] += 1
        code = only_this_process(emit_time(130, m.fileno(), 24))[: -len(RETURN_0)]
        value = insn(0x18, 1, u.BPF_PSEUDO_MAP_VALUE, imm=counts.fileno()) + insn(0)
        code += insn(0x15, 0, off=2) + RETURN_0 + value + mov(2, 1) + insn(0xDB, 1, 2) + RETURN_0
        got = 0
        with load("raw_tracepoint", code) as prog, bpf_link.raw_tracepoint_open(prog, "sys_enter"):
            for _ in range(200):
                for _ in range(20):
                    os.getppid()
                got += len(ring.consume())
        got += len(ring.consume())
        produced = struct.unpack("=Q", counts.lookup(bytes(4)))[0]
        assert got == produced >= 4000


def test_ring_buffer_throughput():
    """Reading a full megabyte of equal records is a copy, not a loop: fewer instructions of Python than records."""
    size = 1 << 20
    with bpf_map.map_create(u.BPF_MAP_TYPE_RINGBUF, 0, 0, size) as m, RingBuffer(m, size) as ring:
        with load("raw_tracepoint", only_this_process(emit_time(130, m.fileno(), 32))) as prog:
            for _ in range(20_000):
                prog_run(prog)
        found = []
        work = instructions(lambda: found.append(ring.consume()))
        (records,) = found
        assert (len(records), records.stride) == (20_000, 40)
        assert work < 20_000


def prog_run(prog) -> None:
    from probescope.kernel.bpf_prog import prog_test_run

    prog_test_run(prog, ctx=bytes(16))


# --- perf buffers and rings
# --------------------------------------------------------------------------------------------------


def test_perf_buffer_delivers_and_counts_losses(on_cpu_0):
    """received + lost == produced, with a ring of one page that cannot hold them all."""
    cpus = len(machine.possible_cpus())
    with (
        bpf_map.map_create(u.BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, cpus) as array,
        PerfBuffer(array, pages=1) as buffer,
        load("raw_tracepoint", only_this_process(emit_time(25, array.fileno()))) as prog,
    ):
        for _ in range(500):
            prog_run(prog)
        assert buffer.wait(SECOND)
        first = buffer.consume()
        prog_run(prog)  # the loss is told with the next record that fits
        second = buffer.consume()
    received = sum(len(r) for r in first + second)
    lost = sum(r.lost for r in first + second)
    assert received + lost == 501
    assert lost > 0
    times = [struct.unpack_from("=Q", v)[0] for r in first for v in r]
    assert times == sorted(times)


def test_sampling_a_tracepoint_through_a_perf_ring(on_cpu_0):
    number = tracefs.event_id("syscalls", "sys_enter_getppid")
    attr = perf_attr.tracepoint_attr(number, sample_type=p.PERF_SAMPLE_TID | p.PERF_SAMPLE_TIME)
    with perf_event.perf_event_open(attr, pid=0) as event, PerfRing(event, 8) as ring:
        assert event.id() > 0
        for _ in range(7):
            os.getppid()
        data = ring.consume()
    found = [struct.unpack_from("=II", data, at + 8) for kind, _, at, _ in walk(data) if kind == p.PERF_RECORD_SAMPLE]
    assert len(found) == 7
    assert {pid for pid, _ in found} == {os.getpid()}


def test_filters_are_checked_by_the_kernel():
    number = tracefs.event_id("syscalls", "sys_enter_getpgid")
    with perf_event.perf_event_open(perf_attr.tracepoint_attr(number), pid=0) as event:
        event.set_filter("pid == 0")
        os.getpgid(0)
        os.getpgid(os.getpid())
        assert event.read_values() == (1,)
        with pytest.raises(KernelError, match="EEXIST") as e:
            event.set_filter("pid == 1")
        assert "one filter" in e.value.hints[0]
    with perf_event.perf_event_open(perf_attr.tracepoint_attr(number), pid=0) as event:
        with pytest.raises(KernelError, match="EINVAL") as e:
            event.set_filter("nosuch == 1")
        assert "a field" in e.value.hints[0]


def test_counting_enabling_disabling():
    attr = perf_attr.PerfAttr(p.PERF_TYPE_SOFTWARE, p.SOFTWARE_EVENTS["page-faults"], flags=p.FLAG_DISABLED)
    with perf_event.perf_event_open(attr, pid=0) as event:
        assert event.read_values() == (0,)
        event.enable()
        # fresh pages from the kernel: an allocator may hand out memory that has been touched before
        block = mmap.mmap(-1, 1 << 22)
        block[:: mmap.PAGESIZE] = bytes(len(block) // mmap.PAGESIZE)
        event.disable()
        counted = event.read_values()[0]
        assert counted > 100
        block.close()
        event.reset()
        assert event.read_values() == (0,)


def test_a_watchpoint_counts_writes():
    watched = ctypes.c_uint64(0)
    attr = perf_attr.breakpoint_attr(ctypes.addressof(watched), 8, p.HW_BREAKPOINT_W)
    with perf_event.perf_event_open(attr, pid=0) as event:
        for i in range(7):
            watched.value = i
        assert event.read_values() == (7,)


def test_a_program_on_the_clock():
    """cpu-clock at 1 kHz runs a program while this process burns CPU."""
    with bpf_map.map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1) as m:
        value = insn(0x18, 1, u.BPF_PSEUDO_MAP_VALUE, imm=m.fileno()) + insn(0)
        code = value + mov(2, 1) + insn(0xDB, 1, 2) + RETURN_0
        attr = perf_attr.software_attr(p.PERF_COUNT_SW_CPU_CLOCK, frequency=1000)
        with load("perf_event", code) as prog, perf_event.perf_event_open(attr, pid=0) as event:
            event.set_bpf(prog)
            deadline = time.monotonic() + 120
            while not any(m.lookup(bytes(4))) and time.monotonic() < deadline:
                sum(range(10_000))
        assert struct.unpack("=Q", m.lookup(bytes(4)))[0] > 0


def test_no_such_file_names_it():
    with pytest.raises(KernelError) as e:
        perf_event.perf_event_open(perf_attr.uprobe_attr("/no/such/file", 0), pid=0)
    assert "/no/such/file" in " ".join(e.value.hints)


# --- tracefs
# -----------------------------------------------------------------------------------------------------------------


def test_events_agree_with_the_folders():
    events = tracefs.available_events()
    assert len(events) == len(set(events)) > 100
    assert ("sched", "sched_switch") in events
    assert "field:pid_t next_pid" in tracefs.event_format("sched", "sched_switch")


def test_a_mistake_in_a_filter_is_told_in_the_kernels_words():
    with tracefs.Instance("test") as instance, pytest.raises(KernelError) as e:
        instance.write("events/sched/sched_switch/filter", "nosuch == 1")
    assert "Field not found" in e.value.where


def test_a_dead_owner_s_leftovers_are_reaped_and_nobody_else_s():
    """A child makes an instance and a uprobe event under its own name and is killed; a neighbour's event stays."""
    make = (
        "import os, signal\n"
        "from probescope.kernel import tracefs, leftovers\n"
        "tracefs.Instance('dead')\n"
        "tracefs.write('uprobe_events', f'p:{leftovers.owner_prefix()}u/x /bin/true:0x1000')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    env = os.environ | {"PYTHONPATH": "src"}
    subprocess.run([sys.executable, "-c", make], env=env, check=False, timeout=300)
    alive = leftovers.owner_prefix() + "u/y"
    tracefs.write("uprobe_events", f"p:{alive} /bin/true:0x1001")
    try:
        gone = leftovers.reap()
        assert sorted(item.kind for item in gone) == ["event", "instance"]
        assert [item.name for item in leftovers.leftovers()] == [alive]
    finally:
        tracefs.write("uprobe_events", f"-:{alive}")
    assert leftovers.leftovers() == []


def test_files_of_tracefs_can_be_mapped_or_say_why_not():
    """Python's own mmap refuses them for their size of 0 with ValueError: ours reaches the kernel, which answers for
    itself."""
    with tracefs.Instance("map") as instance:
        fd = host().open(instance.path + "/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        try:
            page = 0
            with contextlib.suppress(OSError), host().mmap(fd, host().page_size) as mapping:
                page = struct.unpack_from("=I", mapping.view)[0]
            assert page in {0, host().page_size}
        finally:
            host().close(fd)


def test_a_mapping_stays_readable_as_long_as_a_slice_of_it():
    """Closing must not pull the memory from under a decoder."""
    with bpf_map.map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1, flags=u.BPF_F_MMAPABLE) as m:
        m.update(bytes(4), b"12345678")
        mapping = m.mmap()
        piece = mapping.view[:8]
        mapping.close()
        assert bytes(piece) == b"12345678"
