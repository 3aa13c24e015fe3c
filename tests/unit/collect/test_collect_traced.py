"""Stacks of a trace.dat, or of its text, as programs and reports get them."""

from __future__ import annotations

import formats_tracetext as texts
import pytest

from probescope.collect.recorded.along import KERNEL_MARK
from probescope.collect.recorded.kernel_stacks import KernelStacks
from probescope.collect.recorded.traced import Traced

OWN = ["syscall_trace_enter", "do_syscall_64"]


@pytest.mark.parametrize(
    "tracer", [[], ["__traceiter_sys_enter"], ["trace_event_raw_event_sys_enter", "__traceiter_sys_enter"]]
)
def test_stacks_begin_with_the_function_that_the_event_is_in(tracer: list[str]) -> None:
    """Not with the tracer's, of which a kernel shows as many as it likes: BPF, perf and live ftrace have none."""
    stack = "".join(f" => {name}\n" for name in (*tracer, *OWN))
    recording = texts.of_trace(
        "# tracer: nop\n#\n"
        "            work-7       [000] .....     1.000001: sys_enter: NR 0 (3, 7f00, 10, 0, 0, 0)\n"
        f"            work-7       [000] .....     1.000002: <stack trace>\n{stack}"
    )
    (batch,) = Traced(recording).batches()
    assert batch.stacks is not None
    mark, *chain = batch.stacks.piece(0).tolist()
    assert mark == KERNEL_MARK
    assert [KernelStacks(recording).frame(address).name for address in chain] == OWN
