"""In which order to attach, so that clauses on one place run in the order of the script.

The kernel runs tracepoints, raw tracepoints and perf events in the order in which they were attached. Of uprobes,
kprobes, fentry and fexit it runs the last one first: consumers and trampoline programs are put at the head of a list
(``list_add_rcu`` in kernel/events/uprobes.c, ``hlist_add_head`` in kernel/bpf/trampoline.c, ``add_to_list`` of
aggregated kprobes).
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.model.plan import (
    AttachKprobe,
    AttachKprobeMulti,
    AttachTracing,
    AttachUprobe,
    AttachUprobeMulti,
    Step,
)

BPF_TRACE_RAW_TP = 23  # enum bpf_attach_type: a tracepoint; the others are trampolines


def in_order(attaches: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps: those that fire in order, then the others, the last program's first."""
    programs: dict[str, list[Step]] = {}
    for s in attaches:
        if last_first(s):
            programs.setdefault(s.program, []).append(s)  # type: ignore[attr-defined]
    late = (s for group in reversed(programs.values()) for s in group)
    return (*(s for s in attaches if not last_first(s)), *late)


def last_first(step: Step) -> bool:
    """Whether what is attached last fires first."""
    match step:
        case AttachUprobe() | AttachUprobeMulti():
            return True
        case AttachKprobe(ret=ret) | AttachKprobeMulti(ret=ret):
            return not ret
        case AttachTracing(attach_type=kind):
            return kind != BPF_TRACE_RAW_TP
        case _:
            return False
