"""Which programs leave the pairing of events to the kernel: worked out on this host's own events, not run."""

from __future__ import annotations

import pytest

from probescope.api import Request
from probescope.collect.latency.pairing import paired
from probescope.collect.latency.synthetic import described
from probescope.front import lower
from probescope.ir.rules import problems
from probescope.ir.text import to_text

WAKING = "tracepoint:sched:sched_waking { @s[args.pid] = nsecs; }"
SWITCH = """tracepoint:sched:sched_switch /@s[args.next_pid]/
            { @h[args.next_comm] = hist(nsecs - @s[args.next_pid]); delete(@s, args.next_pid); }"""
CLEAR = "end { clear(@s); }"


def pairs(text: str):
    program, _ = lower(Request(text, via="ftrace"))
    return program, *paired(program, described)


def test_from_waking_to_running():
    """The start's clause is gone; the end's has the difference and its fields from the synthetic event."""
    _, made, (step,) = pairs(f"{WAKING} {SWITCH} {CLEAR}")
    assert step.fields == "u64 latency; char comm[16]; char by0[16]"
    assert step.start == "hist:keys=pid:ts=common_timestamp:size=32768:clock=boot"
    assert ":onmatch(sched.sched_waking).trace({name},$lat,next_comm,next_comm)" in step.end
    text = to_text(made)
    assert "sched_waking" not in text
    assert "nsecs" not in text
    assert "(MapUpdate h (Field str16 by0)" in " ".join(text.split())
    assert not list(problems(made))


def test_predicates_are_filters():
    """What they say besides the question for the start; by thread."""
    text = """tracepoint:syscalls:sys_enter_read /comm == "x"/ { @s[tid] = nsecs; }
              tracepoint:syscalls:sys_exit_read /@s[tid] && args.ret > 0/
              { $d = nsecs - @s[tid]; @ = max($d / 1000); @r = sum(args.ret); delete(@s, tid); }"""
    _, _, (step,) = pairs(f"{text} {CLEAR}")
    assert step.start.endswith(' if COMM == "x"')
    assert step.end.endswith(" if ret > 0")
    assert step.start.startswith("hist:keys=common_pid:")
    assert step.fields == "u64 latency; long by0"


@pytest.mark.parametrize(
    "text",
    [
        f"{WAKING} {SWITCH}",
        f"{WAKING} {SWITCH} {CLEAR} interval:s:1 {{ print(@s); }}",
        f"{WAKING} {SWITCH.replace('delete(@s, args.next_pid);', '')} {CLEAR}",
        f"{WAKING} {SWITCH.replace('nsecs - @s', 'nsecs + @s')} {CLEAR}",
        f"{WAKING} {SWITCH.replace('delete', '@x = nsecs; delete')} {CLEAR}",
        f"{WAKING.replace('nsecs', 'nsecs / 1000')} {SWITCH} {CLEAR}",
        f"{WAKING.replace('{', '/pid == 3/ {', 1)} {SWITCH} {CLEAR}",
        f"{WAKING} {WAKING} {SWITCH} {CLEAR}",
        f"{WAKING} {SWITCH.replace('@h[args.next_comm]', '@h[kstack(3), numaid]')} {CLEAR}",
    ],
)
def test_others_stay_as_they_are(text):
    """Maps that are used in other ways, times that are more than a difference, predicates that are no filters."""
    before, after, steps = pairs(text)
    assert steps == ()
    assert after is before
