"""Time off the CPU: the records that perf record --off-cpu would have written, and whom the program counts."""

from __future__ import annotations

import struct

from probescope.cli.record_off_cpu import script
from probescope.collect.recorder.off_cpu import SAMPLED, Waited, counter, sampled, samples
from probescope.kernel.uapi import perf as u

COMMON = u.PERF_SAMPLE_IDENTIFIER | u.PERF_SAMPLE_IP | u.PERF_SAMPLE_TID | u.PERF_SAMPLE_TIME | u.PERF_SAMPLE_CPU


def test_a_record_is_laid_as_perf_lays_it() -> None:
    """Parts in the order of perf_event_open(2); the stack begins with PERF_CONTEXT_USER; times are dummies that only
    grow; what never waited is no sample."""
    found = [Waited(7, 9, 1500, (0x10, 0x20), 77), Waited(1, 1, 0), Waited(3, 4, 2, (), 5)]
    first, second = samples(sampled(COMMON, cgroups=True), 42, found)
    pid_tid = struct.unpack("=Q", struct.pack("=II", 7, 9))[0]
    user = (1 << 64) - 512
    assert struct.unpack("=IHH", first[:8]) == (9, 2, len(first))
    time = 0xFFFFFFFF00000000
    assert struct.unpack("=11Q", first[8:]) == (42, 0x10, pid_tid, time, 0, 1500, 3, user, 0x10, 0x20, 77)
    assert struct.unpack("=9Q", second[8:])[1:8:2] == (0, time + 2, 2, user)


def test_only_parts_that_are_known_are_asked_for() -> None:
    """What the option -d, say, adds to all events, these samples do not have."""
    assert sampled(COMMON | u.PERF_SAMPLE_ADDR | u.PERF_SAMPLE_WEIGHT, cgroups=False) & ~SAMPLED == 0
    assert counter().attr.config == 10  # PERF_COUNT_SW_BPF_OUTPUT of include/uapi/linux/perf_event.h


def test_the_program_counts_whom_it_is_asked_to() -> None:
    """Processes with their threads, threads, CPUs and a cgroup; children only where they are inherited."""
    everybody = script((), (), inherit=True, cgroups=False)
    assert "task_newtask" not in everybody
    assert "BEGIN" not in everybody
    some = script((5,), (6,), cpus=(0, 2), cgroup=99, inherit=True, cgroups=True)
    assert "BEGIN { @p[5] = 1; @t[6] = 1; }" in some
    assert "(@p[pid] || @t[tid]) && (cpu == 0 || cpu == 2) && cgroup == 99" in some
    assert "task_newtask" in some
    assert "task_newtask" not in script((5,), (), inherit=False, cgroups=False)
