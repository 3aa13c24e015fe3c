"""Random programs compiled for kernels of every age, without one: they compile to the same bytes each time, or are
refused with a diagnostic. Nothing else happens."""

from __future__ import annotations

import random

import pytest
from bpf_object import MODERN, unit
from ir_random import random_program

from probescope.bpf.compile import compile_program
from probescope.bpf.disasm import disassemble
from probescope.bpf.unit import Options
from probescope.errors import LimitError, ScriptError
from probescope.model.arch import AARCH64, X86_64
from probescope.model.features import BASELINE_6_1, Features

LACKING_IN_5_10 = frozenset(
    {
        "helper:loop",
        "helper:for_each_map_elem",
        "helper:map_lookup_percpu_elem",
        "helper:get_attach_cookie",
        "isa:atomic_fetch",
        "isa:may_goto",
        "isa:v4",
        "map:no_prealloc",
    }
)
KERNELS = {
    "5.4": Features(frozenset({"isa:v3"}), LACKING_IN_5_10 | {"map:ringbuf", "helper:ktime_get_boot_ns"}),
    "5.10": Features(BASELINE_6_1.yes - LACKING_IN_5_10, LACKING_IN_5_10),
    "6.1": BASELINE_6_1,
    "modern": MODERN,
    "nothing known": Features(),
}


@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.parametrize("seed", range(40))
def test_compiles_or_is_refused(name, seed):
    program = random_program(random.Random(10_000 + seed), 5 + seed % 20)
    told = []
    for arch in (X86_64, AARCH64):
        options = Options(features=KERNELS[name], arch=arch, cpus=2 + 60 * (seed % 2))
        try:
            obj = compile_program(program, (unit(),), options)
        except ScriptError as refused:
            told.append(refused.diagnostics[0].message)
            continue
        except LimitError as refused:
            told.append(" ".join(refused.hints))
            continue
        assert compile_program(program, (unit(),), options) == obj
        calls = {text for _, text in disassemble(obj.programs[0].insns) if "call bpf_" in text}
        missing = {f.removeprefix("helper:") for f in KERNELS[name].no if f.startswith("helper:")}
        assert not {c for c in calls for m in missing if f"bpf_{m}#" in c}
    assert all(told)
