"""bpftrace's own scripts compiled here: PROBESCOPE_BPFTRACE_SRC names a checkout.

Its tools compile against this kernel; the tests of its language, which are scripts that compare with expected values
and return 1 where they differ, run in user space and find nothing.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bt_host import environment, lower

from probescope.diagnostics import Source, render_all
from probescope.errors import ScriptError
from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.evaluate.world import Blank
from probescope.host_types import kernel_types
from probescope.ir.rules import problems
from probescope.lang.bt.compiler import compile_text
from probescope.model.probe import ProbeSpec
from probescope.model.site import KprobeAttach, Site, UprobeAttach
from probescope.sources import registry
from probescope.sources.context import ResolveContext

ROOT = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")

pytestmark = pytest.mark.skipif(not ROOT, reason="PROBESCOPE_BPFTRACE_SRC names no checkout of bpftrace")


def scripts(folder: str) -> list[Path]:
    return sorted(Path(p) for p in glob.glob(f"{ROOT}/{folder}/*.bt")) if ROOT else []


# --- tools ------------------------------------------------------------------------------------------------------------


@cache
def context(fields: bool) -> ResolveContext:
    return ResolveContext(types=kernel_types() if fields else None, need_fields=fields)


def permissive(spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
    """Every kernel function and every function of a binary exists; tracepoints and the rest are those of this host."""
    ret = spec.source.endswith("retprobe")
    match spec.source:
        case "kprobe" | "kretprobe":
            return [Site(str(spec), spec.source, KprobeAttach(spec.name, ret=ret), func=spec.name)]
        case "uprobe" | "uretprobe":
            return [Site(str(spec), spec.source, UprobeAttach(spec.target, 0, ret=ret), func=spec.name)]
        case _:
            return registry.resolve(spec, context(need_fields))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: formats of tracepoints")
@pytest.mark.skipif(not kernel_types().present, reason="this kernel has no BTF")
@pytest.mark.parametrize("path", scripts("tools"), ids=lambda p: p.stem)
def test_published_tools_compile(path):
    """Protects what people run every day."""
    host = environment(resolve=permissive, types=kernel_types(), kaddr=lambda _: 0xFFFF_FFFF_8100_0000, unsafe=True)
    try:
        program = compile_text(Source(path.name, path.read_text()), host)
    except ScriptError as e:
        pytest.fail(render_all(e.diagnostics))
    assert list(problems(program)) == []
    assert program.clauses


# --- tests of the language --------------------------------------------------------------------------------------------

WRONG = 77


class Nothing(Blank):
    """A test probe that fires."""

    def context(self, name: str, arg: str) -> Any:
        return {"probe": "test", "pid": 1, "tid": 1, "comm": b"test"}[name]


@pytest.mark.parametrize("path", scripts("tests/self"), ids=lambda p: p.stem)
def test_the_language_computes_what_its_tests_expect(path):
    """Protects the meaning of programs: integers of every width, strings, tuples, records, maps, blocks."""
    text, places = re.subn(r"return 1;", f"print({WRONG}); return 1;", path.read_text())
    assert places
    program = lower(text, mode="test", unsafe=True)
    assert program.clauses
    for clause in program.clauses:
        seen: list[tuple[int, tuple[Any, ...]]] = []
        machine = Machine(program, MemoryStore(program), lambda i, v, to=seen: to.append((i, v)), types=program.types)
        assert machine.run(clause.id, Nothing())
        assert seen == [], clause.sites[0].name
        assert machine.errors == {}
