"""When a program unwinds user stacks itself, and what it is compiled to then; without a kernel."""

from __future__ import annotations

import pytest

from probescope.bpf.compile import compile_program
from probescope.bpf.unit import Object, Options, Unit
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Clause, MapDecl, Program
from probescope.model import unwind as u
from probescope.model.arch import AARCH64, X86_64
from probescope.model.features import BASELINE_6_1, Features
from probescope.model.types import Agg, Opaque

FEATURES = Features(BASELINE_6_1.yes | {"helper:task_pt_regs", "map:hash_of_maps", "map:no_prealloc"})


def compiled(*stacks: Opaque, kind: str = "kprobe", features: Features = FEATURES, **options: object) -> Object:
    updates = tuple(s.MapUpdate(f"m{i}", x.Stack(t)) for i, t in enumerate(stacks))
    maps = tuple(MapDecl(f"m{i}", t, Agg("count")) for i, t in enumerate(stacks))
    program = Program((Clause(0, (), updates),), maps)
    unit = Unit("t", 0, kind, (0,), in_user=kind == "kprobe")  # type: ignore[arg-type]
    return compile_program(program, [unit], Options(features, unwind=True, **options))  # type: ignore[arg-type]


def functions(obj: Object) -> list[str]:
    return [name for p in obj.programs for _, name in p.functions]


USTACK = Opaque("ustack", "bpftrace", 127)


def test_a_user_stack_brings_its_maps_and_functions():
    """Tables by process and by number, the wanted ones, and stacks of the depth that was asked."""
    obj = compiled(USTACK)
    names = {m.name: m for m in obj.maps}
    assert {"unwind_pids", "unwind_tables", "unwind_wanted", "unwound_127", "stacks_u127"} <= set(names)
    assert names["unwound_127"].value_size == 16 + 8 * 127
    assert names["unwind_pids"].inner is not None
    assert names["unwind_pids"].inner.value_size == u.MAPPING.size
    assert len(functions(obj)) == 3


def test_one_walk_serves_all_stacks_of_a_depth():
    """Three stacks of two depths: two walks, each a function and the callback of its loop."""
    obj = compiled(USTACK, USTACK, Opaque("ustack", "perf", 9))
    assert len(functions(obj)) == 1 + 2 * 2
    assert {"unwound_127", "unwound_9"} <= {m.name for m in obj.maps}


@pytest.mark.parametrize(
    "lacking", ["helper:loop", "helper:task_pt_regs", "helper:get_current_task_btf", "map:hash_of_maps"]
)
def test_a_kernel_that_lacks_something_walks_by_frame_pointers(lacking):
    """And the explanation says so."""
    obj = compiled(USTACK, features=Features(FEATURES.yes - {lacking}, frozenset({lacking})))
    assert not any(m.name.startswith("unw") for m in obj.maps)
    assert len(functions(obj)) == 1
    assert any("frame pointers alone" in n and lacking.partition(":")[2] in n for n in obj.notes)


@pytest.mark.parametrize(
    ("stack", "kind", "options"),
    [
        (Opaque("kstack", "bpftrace", 127), "kprobe", {}),
        (USTACK, "kprobe", {"arch": AARCH64}),
        (USTACK, "iter", {}),
        (USTACK, "kprobe", {"unwind": False}),
    ],
)
def test_other_stacks_are_left_to_the_kernel(stack, kind, options):
    features = FEATURES
    updates = (s.MapUpdate("m", x.Stack(stack)),)
    program = Program((Clause(0, (), updates),), (MapDecl("m", stack, Agg("count")),))
    unit = Unit("t", 0, kind, (0,), in_user=kind == "kprobe")
    obj = compile_program(program, [unit], Options(features, **{"unwind": True, "arch": X86_64, **options}))
    assert not any(m.name.startswith("unw") for m in obj.maps)


def test_registers_come_from_the_task_where_the_context_has_others():
    """A kprobe's or tracepoint's context holds registers of the kernel, if any."""
    by_task = compiled(USTACK, kind="tracepoint").programs[0].insns
    by_context = compiled(USTACK).programs[0].insns
    call = (175).to_bytes(4, "little")  # bpf_task_pt_regs
    calls = [by_task[i + 4 : i + 8] for i in range(0, len(by_task), 8) if by_task[i] == 0x85]
    assert call in calls
    assert call not in [by_context[i + 4 : i + 8] for i in range(0, len(by_context), 8) if by_context[i] == 0x85]
