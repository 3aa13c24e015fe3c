"""Probes that no mechanism of this machine serves: findings at their places in the script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probescope.diagnostics import Diagnostic, Severity, Span
from probescope.errors import ScriptError
from probescope.frozen import dataclass
from probescope.ir.program import Program
from probescope.model.plan import Rejected
from probescope.model.site import Site


@dataclass(frozen=True, slots=True)
class Refused:
    """``span``: where the probe is written; ``rejected``: every mechanism, and why not."""

    site: Site
    span: Span
    rejected: tuple[Rejected, ...]

    @property
    def why(self) -> str:
        return self.site.reason or "; ".join(f"{r.mechanism}: {r.reason}" for r in self.rejected)


def without(program: Program, refused: Sequence[Refused], *, alone: bool) -> tuple[Diagnostic, ...]:
    """What the program's ``missing_probes`` makes of them: nothing, warnings, or, raised, a ScriptError. It is raised
    as well if nothing else is left (``alone``): such a program would wait for ever."""
    policy = program.settings.missing_probes
    severity: Severity = "error" if policy == "error" or alone else "warning"
    found = tuple(_findings(program, refused, severity))
    if found and severity == "error":
        raise ScriptError(found)
    return found if policy == "warn" else ()


def _findings(program: Program, refused: Sequence[Refused], severity: Severity) -> Iterable[Diagnostic]:
    """One for all that are written in one place and share a reason: a pattern may stand for thousands."""
    groups: dict[tuple[Span, str], list[Site]] = {}
    for r in refused:
        groups.setdefault((r.span, r.why), []).append(r.site)
    for (span, why), sites in groups.items():
        first = sites[0]
        some = first.name if len(sites) == 1 else f"{first.name} and {len(sites) - 1} more"
        hints = [f"probescope explain '{first.name}' says what works instead, probescope doctor how to get it"]
        if severity == "error" and program.settings.missing_probes == "error":
            hints.append("config = { missing_probes = warn } goes on without it")
        message = f"{some} cannot be used here: {why}"
        yield Diagnostic(severity, message, span, (*first.notes, *hints), program.source)
