"""Time in functions as counted stacks, for a flame graph: what each path of calls took by itself, asleep or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.views.flame.stacks import StackSamples

if TYPE_CHECKING:
    from probescope.collect.graph.request import FunctionNames
    from probescope.formats.tracing.call_totals import CallTotals

_KERNEL = "_[k]"


def stacks(totals: CallTotals, names: FunctionNames) -> StackSamples:
    """Weights in ns. Where a program's functions are among them, the kernel's are marked as folded stacks have it."""
    paths = [(functions, own) for functions, _, own in totals.paths() if own]
    mixed = any(not names.of_kernel(f) for functions, _ in paths for f in functions)
    samples = StackSamples(unit="ns")
    for functions, own in paths:
        path = [names.function(f) + (_KERNEL if mixed and names.of_kernel(f) else "") for f in functions]
        samples.add(samples.node(path), own)
    return samples
