"""What this kernel, these privileges and this user can do: a report of JSON-able values.

In: nothing. Out: the report that ``probescope doctor`` prints. Nothing is changed; whatever cannot be looked at is told
as unknown, with the privilege that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from probescope.collect.remedies import Circumstances, reason, remedies
from probescope.errors import KernelError, PermissionDenied, ProbescopeError

Progress = Callable[[int, int, str], None]

HEADLINES: tuple[tuple[str, str], ...] = (
    ("attach:tracepoint", "tracepoints"),
    ("attach:raw_tracepoint", "raw tracepoints"),
    ("attach:tp_btf", "BTF tracepoints"),
    ("attach:kprobe", "kprobes"),
    ("attach:kprobe_multi", "kprobes, many at once"),
    ("attach:fentry", "fentry and fexit"),
    ("attach:uprobe", "uprobes"),
    ("attach:uprobe_multi", "uprobes, many at once"),
    ("attach:uprobe_ref_ctr", "USDT with semaphores"),
    ("attach:perf_event", "sampling by time"),
    ("perf:hardware", "hardware counters"),
    ("perf:breakpoint", "watchpoints"),
    ("attach:iter", "iterators"),
    ("map:ringbuf", "BPF ring buffer"),
    ("attach:perf_link", "BPF links, cookies"),
    ("kernel:btf", "kernel types (BTF)"),
    ("kernel:kallsyms", "kernel symbols"),
    ("kernel:bpf_stats", "BPF run times"),
    ("ftrace:instances", "ftrace events"),
    ("ftrace:function", "function tracer"),
    ("ftrace:function_graph", "function graphs"),
    ("ftrace:hist", "hist triggers"),
)
"""Features that stand for a mechanism, and its name for people."""

SETTINGS: tuple[tuple[str, str], ...] = (
    ("kernel.perf_event_paranoid", "who may use perf events: 2 and more, root for the kernel and other users"),
    ("kernel.unprivileged_bpf_disabled", "0: everybody may load simple BPF programs"),
    ("kernel.kptr_restrict", "0: kernel addresses are shown to those with CAP_SYSLOG; 2: to nobody"),
    ("kernel.perf_event_max_stack", "frames of a stack"),
    ("kernel.perf_event_max_sample_rate", "samples a second that profile may take"),
    ("kernel.perf_event_mlock_kb", "memory for perf rings, of users without CAP_IPC_LOCK"),
    ("kernel.ftrace_enabled", "0: no function tracer, no fentry"),
    ("net.core.bpf_jit_enable", "0: BPF programs are interpreted, slowly"),
    ("vm.memfd_noexec", "2: explain --measure cannot run its loop"),
)


def checkup(*, everything: bool = False, progress: Progress = lambda _d, _n, _w: None) -> dict[str, Any]:
    """``everything``: all features that are known, some 300 tries; else those of ``HEADLINES``. Raises nothing that a
    lack of privileges can cause."""
    from probescope._version import __version__
    from probescope.kernel.host import host
    from probescope.kernel.machine import kernel_config
    from probescope.kernel.privileges import privileges

    p = privileges()
    circumstances = Circumstances(p, kernel_config(), host().machine)
    return {
        "probescope": __version__,
        "kernel": host().release,
        "machine": host().machine,
        "uid": p.uid,
        "can_trace_with_bpf": p.can_trace_with_bpf,
        "missing_capabilities": list(p.missing),
        "lockdown": p.lockdown,
        "tracefs": _tracefs(),
        "kernel_config_known": bool(circumstances.config),
        "settings": {name: {"value": _setting(name), "about": about} for name, about in SETTINGS},
        "features": list(_features(circumstances, everything, progress)),
        "leftovers": _leftovers(),
        "started": _started(),
    }


def _features(c: Circumstances, everything: bool, progress: Progress) -> Iterator[dict[str, Any]]:
    from probescope.kernel.features import Answer, describe, every, probe
    from probescope.kernel.features.try_helpers import LOUD

    labels = dict(HEADLINES)
    names = list(labels)
    if everything:
        names += [f.name for f in every() if f.name not in labels]
    for done, name in enumerate(names):
        progress(done, len(names), name)
        answer = (
            Answer(name, None, "asking would write a warning into the kernel's log") if name in LOUD else probe(name)
        )
        feature = describe(name)
        yield {
            **answer.to_json(),
            "label": labels.get(name, ""),
            "reason": reason(feature, answer, c),
            "remedies": [r.to_json() for r in remedies(feature, answer, c)],
            "purpose": feature.purpose,
            "get": feature.get,
            "since": feature.since,
        }


def _setting(name: str) -> str | None:
    from probescope.kernel.machine import sysctl

    return sysctl(name)


def _tracefs() -> dict[str, str]:
    """``state``: readable, denied or absent."""
    from probescope.kernel.tracefs import find_root

    try:
        return {"path": find_root(), "state": "readable"}
    except PermissionDenied:
        return {"path": "", "state": "denied"}
    except ProbescopeError:
        return {"path": "", "state": "absent"}


def _leftovers() -> list[dict[str, Any]]:
    from probescope.kernel.leftovers import leftovers

    try:
        return [{"kind": x.kind, "name": x.name, "pid": x.pid, "alive": x.alive} for x in leftovers()]
    except KernelError:
        return []


def _started() -> list[dict[str, Any]]:
    """Traces that `ftrace start` began, and that stand until `ftrace reset`."""
    from probescope.kernel.started import all_started

    try:
        return [{"instance": x.instance, "top": x.top} for x in all_started()]
    except KernelError:
        return []
