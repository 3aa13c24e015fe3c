"""The table behind ``advice``, most telling first."""

from __future__ import annotations

import errno as e
from collections.abc import Iterator

from probescope.kernel.advice import ENOTSUPP, Rule, Situation
from probescope.kernel.uapi import perf as u

_DENIED = (e.EPERM, e.EACCES)
_ABSENT = (e.EOPNOTSUPP, ENOTSUPP)
_HARDWARE = frozenset((u.PERF_TYPE_HARDWARE, u.PERF_TYPE_HW_CACHE, u.PERF_TYPE_RAW))
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")


def _capabilities(s: Situation) -> Iterator[str]:
    names = ", ".join(s.privileges.missing).upper()
    yield f"run it as root: sudo probescope ... ({names} missing)"
    yield (
        "or keep your user and grant the capabilities: sudo setpriv --reuid $USER --regid $USER --init-groups "
        "--inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon probescope ..."
    )
    if tuple(s.privileges.missing) == ("cap_bpf",):
        yield "or without BPF: probescope run --via perf ... has perf sample the events, and evaluates them itself"


def _container(_: Situation) -> Iterator[str]:
    yield (
        "inside a container: docker run --cap-add BPF --cap-add PERFMON --cap-add SYS_ADMIN "
        "--security-opt seccomp=unconfined --pid host ..."
    )


def _filtered(s: Situation) -> bool:
    """Whether a filter of system calls (seccomp mode 2) holds for this process, as proc_pid_status(5) shows it."""
    return s.privileged and s.filtered


_FILTER = "a filter of system calls may forbid it: seccomp of a container, or SystemCallFilter= of a systemd unit"


def _in_container(s: Situation) -> bool:
    return any(s.exists(p) for p in _CONTAINERS)


def _lockdown(s: Situation) -> Iterator[str]:
    yield (
        f"kernel lockdown is '{s.privileges.lockdown}' and forbids it: cat /sys/kernel/security/lockdown; "
        "boot with lockdown=none or without Secure Boot"
    )


def _paranoid(s: Situation) -> Iterator[str]:
    level = s.privileges.perf_event_paranoid
    wanted = -1 if s.get("type") == u.PERF_TYPE_TRACEPOINT else 0 if s.get("pid") == -1 else 1
    yield f"or lower kernel.perf_event_paranoid, now {level}: sudo sysctl kernel.perf_event_paranoid={wanted}"


def _too_paranoid(s: Situation) -> bool:
    level = s.privileges.perf_event_paranoid
    return not s.privileges.may("perfmon") and level is not None and level > -1


def _rate(s: Situation) -> Iterator[str]:
    most = s.setting("kernel.perf_event_max_sample_rate")
    yield f"the kernel allows {most} samples a second at most: sudo sysctl kernel.perf_event_max_sample_rate=100000"


def _pmu(s: Situation) -> Iterator[str]:
    name = s.text("pmu")
    config = {"kprobe": "CONFIG_KPROBES and CONFIG_KPROBE_EVENTS", "uprobe": "CONFIG_UPROBES and CONFIG_UPROBE_EVENTS"}
    if name in config:
        yield f"this kernel was built without {name}s: it needs {config[name]}"
    else:
        yield f"this machine has no event source '{name}': ls /sys/bus/event_source/devices"
    if name == "kprobe":
        yield "tracepoints may answer the same question: probescope list 'tracepoint:*'"


def _memlock(s: Situation) -> Iterator[str]:
    yield "locked memory may be too small for this kernel: ulimit -l unlimited, or as root"


def _old_memlock(s: Situation) -> bool:
    import resource

    return s.privileged and resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY


def _locked_pages(s: Situation) -> Iterator[str]:
    kib = s.setting("kernel.perf_event_mlock_kb")
    yield f"use a smaller buffer: without CAP_IPC_LOCK a user may lock {kib} KiB"
    yield "or raise that: sudo sysctl kernel.perf_event_mlock_kb=65536"


def _verifier(s: Situation) -> Iterator[str]:
    said = s.text("log")
    if "too large" in said or "too many" in said or ("insn" in said and "limit" in said):
        yield "the program is too complex for the verifier: fewer probes in one clause, shorter loops and strings"
    elif "stack" in said and ("exceed" in said or "too large" in said or "depth" in said):
        yield "the 512-byte stack is full: shorter strings (config max_strlen), fewer large variables"
    elif any(sign in said for sign in ("unknown func", "invalid func", "cannot use helper")):
        yield f"this kernel does not let {s.text('prog')} programs call it: probescope doctor lists the helpers"
    elif "is not allowed" in said:
        yield f"this kernel does not allow that function in {s.text('prog')} programs"


RULES: tuple[Rule, ...] = (
    # --- privileges
    Rule("bpf(", _DENIED, _capabilities, lambda s: not s.privileged),
    Rule("perf_event_open", _DENIED, _capabilities, lambda s: not s.privileges.may("perfmon")),
    Rule("perf_event_open", _DENIED, _paranoid, _too_paranoid),
    Rule(
        "perf_event_open",
        _DENIED,
        # 6.16 and stable kernels: "perf: Revert to requiring CAP_SYS_ADMIN for uprobes"
        "a uprobe through perf needs CAP_SYS_ADMIN here: add +sys_admin to the capabilities, or run as root",
        lambda s: bool(s.get("path")) and s.privileges.may("perfmon") and not s.privileges.may("sys_admin"),
    ),
    Rule("mmap(perf event)", (e.EPERM,), _locked_pages),
    Rule("bpf(", _DENIED, _lockdown, lambda s: s.privileges.lockdown in {"integrity", "confidentiality"}),
    Rule("perf_event_open", _DENIED, _lockdown, lambda s: s.privileges.lockdown in {"integrity", "confidentiality"}),
    Rule("bpf(", _DENIED, _container, _in_container),
    Rule("perf_event_open", _DENIED, _container, _in_container),
    Rule("bpf(", (*_DENIED, e.ENOSYS), _FILTER, _filtered),
    Rule("perf_event_open", (*_DENIED, e.ENOSYS), _FILTER, _filtered),
    Rule("bpf(BPF_MAP_CREATE)", (e.EPERM,), _memlock, _old_memlock),
    Rule(
        "bpf(BPF_PROG_LOAD)",
        (e.EPERM,),
        "this kernel refuses such programs even to root: probescope doctor says which kinds it takes",
        lambda s: s.privileged,
    ),
    # --- programs and maps
    Rule("verifier", (), _verifier),
    Rule("bpf(", (e.ENOSYS,), "this kernel has no bpf(2): it needs CONFIG_BPF_SYSCALL"),
    Rule("bpf(BPF_PROG_LOAD)", (e.E2BIG,), "the program has more instructions than this kernel takes: split it"),
    Rule("bpf(BPF_PROG_LOAD)", (e.EINVAL,), "this kernel does not know this kind of program: probescope doctor"),
    Rule("bpf(BPF_MAP_CREATE)", (e.EINVAL,), "this kernel does not know this kind of map: probescope doctor"),
    Rule("bpf(BPF_MAP_CREATE)", (e.E2BIG, e.ENOMEM), "ask for fewer keys (config max_map_keys) or smaller values"),
    Rule("bpf(BPF_MAP_UPDATE_ELEM)", (e.E2BIG, e.ENOSPC), "the map is full: raise config max_map_keys"),
    Rule("bpf(BPF_PROG_TEST_RUN)", (ENOTSUPP,), "no kernel runs programs of this kind on request"),
    # --- links
    Rule("bpf(BPF_RAW_TRACEPOINT_OPEN)", (e.ENOENT,), "no such tracepoint: probescope list 'rawtracepoint:*'"),
    Rule(
        "bpf(BPF_RAW_TRACEPOINT_OPEN)",
        (e.EINVAL, e.E2BIG),
        "this kernel has no cookies for raw tracepoints (6.10): one program a probe",
        lambda s: bool(s.get("cookie")),
    ),
    Rule(
        "bpf(BPF_LINK_CREATE)",
        (e.EINVAL, *_ABSENT),
        "this kernel has no such link: kprobes one by one work without it",
        lambda s: s.get("link") in {"kprobe_multi", "kprobe_session"},
    ),
    Rule(
        "bpf(BPF_LINK_CREATE)",
        (e.ESRCH, e.ENOENT),
        "one of the functions cannot be traced: grep it in /sys/kernel/tracing/available_filter_functions",
        lambda s: s.get("link") in {"kprobe_multi", "kprobe_session"},
    ),
    Rule(
        "bpf(BPF_LINK_CREATE)",
        (e.EINVAL, *_ABSENT),
        "this kernel has no such link (6.6, sessions 6.13), or an offset is not in the file's code",
        lambda s: s.get("link") in {"uprobe_multi", "uprobe_session"},
    ),
    Rule(
        "bpf(BPF_LINK_CREATE)",
        (e.EINVAL,),
        "links on perf events need Linux 5.15: without them there are no cookies",
        lambda s: s.get("link") == "perf_event",
    ),
    Rule("bpf(BPF_LINK_CREATE)", (e.EBUSY,), "another program holds this hook: bpftool link shows which"),
    # --- perf events
    Rule(
        "perf_event_open",
        (e.ENOENT,),
        "no hardware counters here (usual in virtual machines): cpu-clock, or profile:hz:99, samples by clock instead",
        lambda s: s.get("type") in _HARDWARE,
    ),
    Rule(
        "perf_event_open",
        (e.ENOENT,),
        lambda s: [f"no such file or symbol: {s.text('path')}"],
        lambda s: bool(s.get("path")),
    ),
    Rule(
        "perf_event_open",
        (e.ENOSPC,),
        "all hardware breakpoints are in use (4 on x86-64): watch fewer places, or end other debuggers",
        lambda s: bool(s.get("breakpoint")),
    ),
    Rule(
        "perf_event_open",
        (e.EBUSY,),
        "another user holds the counter; often the NMI watchdog: sudo sysctl kernel.nmi_watchdog=0",
    ),
    Rule("perf_event_open", (e.EINVAL,), _rate, lambda s: bool(s.get("frequency"))),
    Rule("perf_event_open", _ABSENT, "this event cannot be sampled like that here: count it, or use cpu-clock"),
    Rule("perf_event_open", (e.ENODEV,), "the CPU is offline, or has no such event"),
    Rule("perf_event_open", (e.ESRCH,), "no such process"),
    Rule("perf_event_open", (e.EILSEQ,), "no instruction begins at this offset: objdump -d shows where they do"),
    Rule("pmu", (), _pmu),
    Rule("ioctl(PERF_EVENT_IOC_SET_BPF)", (e.EEXIST,), "one program an event: open a second event"),
    Rule("ioctl(PERF_EVENT_IOC_SET_BPF)", (e.E2BIG,), "64 programs sit on this tracepoint already"),
    Rule("ioctl(PERF_EVENT_IOC_SET_FILTER)", (e.EEXIST,), "an event takes one filter: open it anew for another"),
    Rule(
        "ioctl(PERF_EVENT_IOC_SET_FILTER)",
        (e.EINVAL,),
        "the filter names a field that the event does not have, or is not written FIELD == VALUE",
    ),
    # --- tracefs and /proc
    Rule("open tracefs", (e.ENOENT,), "mount it: sudo mount -t tracefs nodev /sys/kernel/tracing"),
    Rule("open tracefs", (e.ENOENT,), "if that fails, the kernel was built without CONFIG_TRACING"),
    Rule("open tracefs", _DENIED, "tracefs is readable by root alone: sudo probescope ..."),
    Rule(
        "open tracefs",
        _DENIED,
        "or for a group: sudo mount -o remount,gid=$(id -g),mode=0750 /sys/kernel/tracing",
    ),
    *(
        Rule(f"{call} /", (e.EROFS,), hint)
        for call in ("mkdir", "write")
        for hint in (
            "tracefs is mounted read-only: sudo mount -o remount,rw /sys/kernel/tracing",
            "probescope record -e 'sched:*' needs no more than to read it",
        )
    ),
    Rule("write /", (e.EBUSY,), "it is in use by another tracer, or by events that are still enabled"),
    Rule("write /", _DENIED, "needs root: sudo probescope ...", lambda s: s.privileges.uid != 0),
    Rule("write /", _DENIED, "this kernel forbids it even to root", lambda s: s.privileges.uid == 0),
    Rule("read /", _DENIED, "needs root: sudo probescope ...", lambda s: s.privileges.uid != 0),
    Rule("read /", _DENIED, "this kernel forbids it even to root", lambda s: s.privileges.uid == 0),
    Rule(
        "open /sys",
        (e.ENOENT,),
        "is sysfs mounted? sudo mount -t sysfs nodev /sys",
        lambda s: not s.exists("/sys/kernel"),
    ),
    Rule(
        "read addresses",
        _DENIED,
        "CAP_SYSLOG shows them, unless kernel.kptr_restrict is 2: add +syslog to the capabilities, or run as root",
    ),
    Rule("open /proc", _DENIED, "another user's process: run as root, or as that user (kernel.yama.ptrace_scope)"),
    # --- anything
    Rule("", (e.EMFILE,), "too many open descriptors: ulimit -n 65536"),
    Rule("", (e.ENFILE,), "the machine is out of descriptors: sudo sysctl fs.file-max=1000000"),
    Rule("", (e.ENOMEM,), "the kernel is short of memory: smaller buffers, fewer keys"),
)
