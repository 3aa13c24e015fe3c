"""Each refusal that users meet comes with a line that they can act on."""

from __future__ import annotations

import errno

import pytest

from probescope.errors import KernelError, PermissionDenied, Unsupported
from probescope.kernel.advice import hints_for, kernel_error
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.kernel.uapi import perf as p

FILTERED = {"/proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t2\nSeccomp_filters:\t1\n"}
ROOT = "Name:\tx\nCapEff:\t000001ffffffffff\n"
USER = "Name:\tx\nCapEff:\t0000000000000000\n"


def hints(files: dict[str, str], call: str, number: int, **context) -> str:
    with use_host(FakeHost(files)):
        return "\n".join(hints_for(call, number, **context))


@pytest.mark.parametrize(
    ("files", "call", "number", "context", "says"),
    [
        ({"/proc/self/status": USER}, "bpf(BPF_MAP_CREATE)", errno.EPERM, {}, "CAP_BPF, CAP_PERFMON missing"),
        (FILTERED, "bpf(BPF_MAP_CREATE)", errno.EPERM, {}, "filter of system calls"),
        (FILTERED, "perf_event_open", errno.ENOSYS, {}, "filter of system calls"),
        ({}, "perf_event_open", errno.EILSEQ, {"pmu": "kprobe"}, "no instruction begins at this offset"),
        ({"/proc/self/status": USER}, "bpf(BPF_PROG_LOAD)", errno.EPERM, {}, "--ambient-caps +bpf,+perfmon"),
        (
            {"/proc/self/status": USER, "/proc/sys/kernel/perf_event_paranoid": "3\n"},
            "perf_event_open",
            errno.EACCES,
            {"pid": 0},
            "now 3: sudo sysctl kernel.perf_event_paranoid=1",
        ),
        (
            {"/proc/self/status": USER, "/proc/sys/kernel/perf_event_paranoid": "2\n"},
            "perf_event_open",
            errno.EACCES,
            {"pid": -1},
            "kernel.perf_event_paranoid=0",
        ),
        (
            {"/proc/self/status": ROOT, "/sys/kernel/security/lockdown": "none integrity [confidentiality]\n"},
            "bpf(BPF_PROG_LOAD)",
            errno.EPERM,
            {},
            "lockdown is 'confidentiality'",
        ),
        ({"/proc/self/status": USER, "/.dockerenv": ""}, "bpf(BPF_MAP_CREATE)", errno.EPERM, {}, "docker run"),
        (  # since 6.16 CAP_PERFMON (bit 38) is not enough for a uprobe through perf
            {"/proc/self/status": "Name:\tx\nCapEff:\t000000c000000000\n"},
            "perf_event_open",
            errno.EACCES,
            {"path": "/bin/sh"},
            "needs CAP_SYS_ADMIN",
        ),
        ({}, "read addresses in /proc/kallsyms", errno.EACCES, {}, "CAP_SYSLOG"),
        ({}, "mmap(perf event)", errno.EPERM, {}, "kernel.perf_event_mlock_kb"),
        ({}, "open tracefs", errno.ENOENT, {}, "mount -t tracefs"),
        ({}, "perf_event_open", errno.ENOENT, {"type": p.PERF_TYPE_HARDWARE}, "no hardware counters"),
        ({}, "perf_event_open", errno.ENOENT, {"path": "/bin/x"}, "no such file or symbol: /bin/x"),
        ({}, "perf_event_open", errno.ENOSPC, {"breakpoint": True}, "hardware breakpoints are in use"),
        ({}, "perf_event_open", errno.EBUSY, {}, "nmi_watchdog=0"),
        (
            {"/proc/sys/kernel/perf_event_max_sample_rate": "5000\n"},
            "perf_event_open",
            errno.EINVAL,
            {"frequency": 9999},
            "5000 samples",
        ),
        ({}, "perf_event_open", errno.EMFILE, {}, "ulimit -n"),
        ({}, "bpf(BPF_LINK_CREATE)", errno.ESRCH, {"link": "kprobe_multi"}, "available_filter_functions"),
        ({}, "bpf(BPF_LINK_CREATE)", errno.EOPNOTSUPP, {"link": "kprobe_multi"}, "one by one"),
        ({}, "bpf(BPF_RAW_TRACEPOINT_OPEN)", errno.EINVAL, {"cookie": True}, "one program a probe"),
        ({}, "bpf(BPF_RAW_TRACEPOINT_OPEN)", errno.ENOENT, {}, "no such tracepoint"),
        ({}, "ioctl(PERF_EVENT_IOC_SET_BPF)", errno.E2BIG, {}, "64 programs"),
        ({}, "verifier", errno.EINVAL, {"log": "unknown func bpf_loop#181", "prog": "kprobe"}, "kprobe programs"),
        ({}, "verifier", errno.E2BIG, {"log": "BPF program is too large. Processed 1000001 insn"}, "too complex"),
        ({}, "pmu", errno.ENOENT, {"pmu": "uprobe"}, "CONFIG_UPROBES"),
    ],
)  # fmt: skip
def test_what_to_do(files, call, number, context, says):
    """(situation -> a line that names the command, option or limit)"""
    assert says in hints(files, call, number, **context)


def test_root_is_not_told_to_become_root():
    """The classic useless hint."""
    assert "sudo probescope" not in hints({"/proc/self/status": ROOT}, "bpf(BPF_PROG_LOAD)", errno.EPERM)


def test_no_more_than_four_lines():
    files = {"/proc/self/status": USER, "/.dockerenv": "", "/proc/sys/kernel/perf_event_paranoid": "3\n"}
    files["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n"
    assert 1 < len(hints(files, "perf_event_open", errno.EACCES).splitlines()) <= 4


@pytest.mark.parametrize(
    ("number", "kind", "name"),
    [
        (errno.EPERM, PermissionDenied, "EPERM"),
        (errno.EACCES, PermissionDenied, "EACCES"),
        (errno.ENOSYS, Unsupported, "ENOSYS"),
        (errno.EOPNOTSUPP, Unsupported, "EOPNOTSUPP"),
        (524, Unsupported, "ENOTSUPP"),
        (errno.EINVAL, KernelError, "EINVAL"),
        (99999, KernelError, "99999"),
    ],
)
def test_errors_are_typed_and_named(number, kind, name):
    """524 is the kernel's own ENOTSUPP; user space has no name for it."""
    with use_host(FakeHost({"/proc/self/status": ROOT})):
        error = kernel_error("bpf(BPF_X)", number, "a place", prog="kprobe")
    assert type(error) is kind
    assert (error.errno_name, error.what, error.where) == (name, f"bpf(BPF_X) failed: {name}", "a place")


def test_sysfs_is_to_be_mounted_only_where_it_is_not():
    """A file that this kernel's tracefs lacks is no reason to mount anything."""
    path = "open /sys/kernel/tracing/per_cpu/cpu99/trace"
    assert "mount -t sysfs" in hints({}, path, errno.ENOENT)
    assert "mount" not in hints({"/sys/kernel": ""}, path, errno.ENOENT)
