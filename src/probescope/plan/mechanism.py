"""The mechanisms there are: what each needs of the kernel, what a hit costs, what it is known for.

Costs are nanoseconds added to one hit by an empty program, measured on a 2-core x86-64 machine with Linux 6.18;
``explain --measure`` measures them anew. ``stability``: how likely the probe is to be there on the next kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from probescope.bpf.unit import ProgKind
from probescope.frozen import dataclass

State = Literal["yes", "no", "unknown"]


class Offers(Protocol):
    """What this kernel can do, asked by name (see ``model/features.py``), at the moment it matters."""

    def state(self, name: str) -> State: ...


@dataclass(frozen=True, slots=True)
class Mechanism:
    """``features``: all must be there. ``kind`` and the numbers of prog_type and attach_type: how programs are
    loaded."""

    name: str
    kind: ProgKind
    prog_type: int
    attach_type: int
    cost_ns: int
    features: tuple[str, ...]
    about: str


MECHANISMS: dict[str, Mechanism] = {
    m.name: m
    for m in (
        Mechanism("tp_btf", "tp_btf", 26, 23, 55, ("attach:tp_btf",), "BTF-typed raw tracepoint: cheapest there is"),
        Mechanism(
            "raw_tracepoint",
            "raw_tracepoint",
            17,
            0,
            87,
            ("attach:raw_tracepoint",),
            "raw tracepoint: no record is built",
        ),
        Mechanism(
            "tracepoint",
            "tracepoint",
            5,
            0,
            140,
            ("attach:tracepoint",),
            "tracepoint through perf: the record's fields",
        ),
        Mechanism("fentry", "fentry", 26, 24, 60, ("attach:fentry",), "trampoline at the function's entry"),
        Mechanism("fexit", "fexit", 26, 25, 80, ("attach:fentry",), "trampoline around the function"),
        Mechanism(
            "kprobe_session",
            "kprobe",
            2,
            56,
            110,
            ("attach:kprobe_session", "kfunc:bpf_session_is_return"),
            "entry and return of the same functions in one program and one link",
        ),
        Mechanism("kprobe_multi", "kprobe", 2, 42, 110, ("attach:kprobe_multi",), "many functions in one link"),
        Mechanism("kprobe", "kprobe", 2, 0, 130, ("attach:kprobe",), "breakpoint or jump at an instruction"),
        Mechanism(
            "uprobe_multi", "kprobe", 2, 48, 700, ("attach:uprobe_multi",), "many places of one file in one link"
        ),
        Mechanism("uprobe", "kprobe", 2, 0, 700, ("attach:uprobe",), "breakpoint in a program's code"),
        Mechanism("perf_event", "perf_event", 7, 0, 150, ("attach:perf_event",), "a counter or clock that overflows"),
        Mechanism("iter", "iter", 26, 28, 0, ("attach:iter",), "a walk over kernel objects, once"),
        Mechanism("test_run", "syscall", 31, 0, 0, ("prog:syscall",), "run once by probescope inside the kernel"),
    )
}


FEATURE_WORDS: dict[str, str] = {
    "attach:kprobe": "kprobes",
    "attach:kprobe_multi": "kprobe_multi links",
    "attach:kprobe_session": "kprobe sessions",
    "kfunc:bpf_session_is_return": "way to tell entry from return in kprobe sessions",
    "attach:fentry": "fentry and fexit",
    "attach:uprobe": "uprobes",
    "attach:uprobe_multi": "uprobe_multi links",
    "attach:uprobe_multi_pid": "uprobe_multi links for one process with all its threads",
    "attach:uprobe_ref_ctr": "USDT semaphores",
    "attach:tracepoint": "tracepoints through perf",
    "attach:raw_tracepoint": "raw tracepoints",
    "attach:tp_btf": "BTF tracepoints",
    "attach:perf_event": "programs on perf events",
    "attach:iter": "iterators",
    "perf:hardware": "hardware counters",
    "perf:breakpoint": "hardware breakpoints",
    "prog:syscall": "programs that run on request",
    "ftrace:tracefs": "tracefs",
    "ftrace:function": "function tracer",
    "ftrace:function_graph": "function_graph tracer",
    "ftrace:hist": "hist triggers",
    "ftrace:kprobe_events": "kprobe events",
    "ftrace:uprobe_events": "uprobe events",
}


def missing(features: Iterable[str], offers: Offers) -> str:
    """The first of ``features`` that the kernel lacks, in words; empty if all can be tried (unknown never means
    no)."""
    for name in features:
        if offers.state(name) == "no":
            return f"this kernel has no {FEATURE_WORDS.get(name) or name.partition(':')[2]}"
    return ""
