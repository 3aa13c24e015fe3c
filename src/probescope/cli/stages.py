"""The stages that a program goes through, as text: ``run -d STAGE`` and ``run --emit STAGE``.

ast    the script after macros, imports and parameters
ir     the typed program
plan   which mechanism serves which probes, and the steps in the kernel
bpf    the compiled programs, with the script's lines above them
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probescope.api import Built

STAGES = ("ast", "ir", "plan", "bpf")


def stage_text(stage: str, built: Built) -> str:
    """``stage``: one of ``STAGES``. Raises what compiling raises."""
    return {"ast": _ast, "ir": _ir, "plan": _plan, "bpf": _bpf}[stage](built)


def _ast(built: Built) -> str:
    from probescope.diagnostics import Source
    from probescope.front import script_options
    from probescope.lang.bt.frontend import read_script
    from probescope.lang.bt.printer import program_text

    request = built.request
    return program_text(read_script(Source(request.name, request.text), script_options(request)).program)


def _ir(built: Built) -> str:
    from probescope.ir.text import to_text

    return to_text(built.program).rstrip("\n") + "\n"


def _plan(built: Built) -> str:
    return "".join(line + "\n" for line in _plan_lines(built))


def _plan_lines(built: Built) -> Iterator[str]:
    from probescope.plan.explanation import step_text

    plan = built.plan.plan
    for choice in plan.choices:
        names = [plan.sites[n] for n in choice.sites]
        where = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        yield f"clause {choice.clause}: {choice.mechanism} ({choice.collector}) at {where}: {choice.reason}"
        for r in choice.rejected:
            yield f"  not {r.mechanism}: {r.reason}"
    for n, step in enumerate(plan.steps, 1):
        yield f"{n:>4}  {step_text(step)}"
    for note in (*plan.notes, *plan.warnings):
        yield f"note: {note}"


def _bpf(built: Built) -> str:
    from probescope.bpf.compile import compile_program
    from probescope.bpf.listing import list_object
    from probescope.collect.host import compile_options
    from probescope.plan.request import BpfPlan

    if not isinstance(built.plan, BpfPlan) or not built.plan.units:
        return "; nothing of this program runs in the kernel\n"
    options = compile_options(built.program, built.plan, 0)
    return list_object(compile_program(built.program, built.plan.units, options), built.program.source)
