"""What an explanation says, as data: printable, JSON-able, the same for a probe and for a program."""

from __future__ import annotations

from probescope.frozen import dataclass, fields
from probescope.kernel.uapi.bpf import ATTACH_TYPES, PROG_TYPES
from probescope.model.plan import Load, Step
from probescope.plan.equivalents import Equivalent
from probescope.plan.explain_rows import Row
from probescope.plan.instead import Instead
from probescope.plan.knowledge import Interface
from probescope.plan.mechanism import State


@dataclass(frozen=True, slots=True)
class Variant:
    """What a probe alone would be served by, if the program asked for more: ``asks`` in words."""

    asks: str
    mechanism: str
    cost_ns: int
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is told of some sites that are served alike. ``line``: of the clause in the program's text, 0 for a probe
    alone. ``reason`` is empty, or says why nothing here can serve them. ``mechanism``: the one that is taken."""

    clause: int
    line: int
    probe: str
    sites: tuple[str, ...]
    mechanism: str
    reason: str
    asks: tuple[str, ...]
    rows: tuple[Row, ...]
    variants: tuple[Variant, ...]
    interface: Interface
    stability: str
    kernel: str
    arguments: tuple[str, ...]
    notes: tuple[str, ...]
    instead: tuple[Instead, ...]
    equivalents: tuple[tuple[Equivalent, State], ...]

    @property
    def usable(self) -> bool:
        return not self.reason

    def to_json(self) -> dict[str, object]:
        return {
            "clause": self.clause,
            "line": self.line,
            "probe": self.probe,
            "sites": list(self.sites),
            "usable": self.usable,
            "reason": self.reason,
            "mechanism": self.mechanism,
            "asks": list(self.asks),
            "mechanisms": [r.to_json() for r in self.rows],
            "variants": [
                {"asks": v.asks, "mechanism": v.mechanism, "cost_ns": v.cost_ns, "why": v.why} for v in self.variants
            ],
            "interface": self.interface,
            "stability": self.stability,
            "kernel": self.kernel,
            "arguments": list(self.arguments),
            "notes": list(self.notes),
            "instead": [{"probe": i.probe, "why": i.why} for i in self.instead],
            "equivalents": [
                {"tool": e.tool, "command": e.command, "gives": e.about, "here": here} for e, here in self.equivalents
            ],
        }


@dataclass(frozen=True, slots=True)
class Explained:
    """The whole answer. ``steps``: the exact kernel steps, in order; where nothing can serve the probe here, those of
    a kernel that has what it takes (``elsewhere``). ``setup_ms``: what attaching and letting go take, about. ``setup``:
    what comes before the steps, in words. ``whole``: how the peers run the whole program."""

    parts: tuple[Explanation, ...]
    steps: tuple[Step, ...]
    setup_ms: tuple[float, float]
    notes: tuple[str, ...] = ()
    elsewhere: bool = False
    setup: tuple[str, ...] = ()
    whole: tuple[Equivalent, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "parts": [p.to_json() for p in self.parts],
            "setup": list(self.setup),
            "steps": [step_json(s) for s in self.steps],
            "steps_hold_elsewhere": self.elsewhere,
            "attach_ms": round(self.setup_ms[0], 1),
            "detach_ms": round(self.setup_ms[1], 1),
            "notes": list(self.notes),
            "equivalents": [{"tool": e.tool, "command": e.command, "gives": e.about} for e in self.whole],
        }


def step_json(step: Step) -> dict[str, object]:
    values = {f.name: getattr(step, f.name) for f in fields(step)}
    return {"step": type(step).__name__, "text": step_text(step), **values}


def step_text(step: Step) -> str:
    """As the plan has it; a load with the types that BPF_PROG_LOAD is given."""
    if not isinstance(step, Load):
        return str(step)
    kind = PROG_TYPES[step.prog_type] if step.prog_type < len(PROG_TYPES) else str(step.prog_type)
    names = {number: name for name, number in ATTACH_TYPES.items()}
    attach = f", attach type {names.get(step.attach_type, step.attach_type)}" if step.attach_type else ""
    return f"{step}: type {kind}{attach}{', sleepable' if step.sleepable else ''}"
