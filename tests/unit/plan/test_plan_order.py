"""Steps are attached so that clauses fire in the order of the script."""

from __future__ import annotations

from probescope.model.plan import (
    AttachKprobe,
    AttachKprobeMulti,
    AttachRaw,
    AttachTracepoint,
    AttachTracing,
    AttachUprobe,
)
from probescope.plan.order import BPF_TRACE_RAW_TP, in_order

FENTRY = 24


def test_plan_what_fires_last_first_is_attached_backwards() -> None:
    """Uprobes, kprobes and trampolines from the last to the first; tracepoints and returns of kprobes as they are."""
    steps = [
        AttachUprobe("a", "/x", 1),
        AttachTracepoint("b", "c:e", 1),
        AttachUprobe("c", "/x", 1),
        AttachKprobe("d", "f"),
        AttachKprobe("e", "f", ret=True),
        AttachTracing("f", FENTRY, "f"),
        AttachTracing("g", BPF_TRACE_RAW_TP, "t"),
        AttachRaw("h", "t"),
        AttachKprobeMulti("i", ("f",)),
    ]
    assert [s.program for s in in_order(steps)] == ["b", "e", "g", "h", "i", "f", "d", "c", "a"]


def test_plan_places_of_one_program_stay_in_order() -> None:
    """Only programs change places: the steps of one have nothing to do with each other."""
    steps = [AttachUprobe("a", "/x", 1), AttachUprobe("a", "/y", 2), AttachUprobe("b", "/x", 1)]
    assert [(s.program, s.offset) for s in in_order(steps)] == [("b", 1), ("a", 1), ("a", 2)]
