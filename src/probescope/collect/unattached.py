"""Probes that the kernel refuses: which ones, why, and whether the program goes on without them.

A name can exist and still be out of bounds: functions that ftrace must not touch, inlined halves, addresses between two
instructions, symbols that several functions share. Only attaching tells.
"""

from __future__ import annotations

import errno
from typing import Any

from probescope.diagnostics import NOWHERE, Diagnostic, Severity, Span
from probescope.errors import KernelError, PermissionDenied, ScriptError
from probescope.frozen import dataclass, replace
from probescope.ir.program import Program
from probescope.model import plan as steps

_NOT_ABOUT_THE_PROBE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})


@dataclass(frozen=True, slots=True)
class Failure:
    """Sites that are not attached, and what to tell of them: ``None`` if nothing."""

    sites: tuple[int, ...]
    warning: Diagnostic | None


def about_the_probe(e: KernelError) -> bool:
    """Whether another probe may well succeed; missing privileges and full tables hit all alike."""
    return not isinstance(e, PermissionDenied) and e.errno not in _NOT_ABOUT_THE_PROBE


def failure(program: Program, step: Any, e: KernelError) -> Failure:
    """What to do about a refused step: nothing, a warning, or, raised, a ScriptError at the probe's place in the
    script. Raises ``e`` itself if it is not about the probe."""
    if not about_the_probe(e):
        raise e
    policy = program.settings.missing_probes
    severity: Severity = "error" if policy == "error" else "warning"
    found = _diagnostic(program, step, e, severity)
    if policy == "error":
        raise ScriptError([found]) from e
    return Failure(step.sites, found if policy == "warn" else None)


def _diagnostic(program: Program, step: Any, e: KernelError, severity: Severity) -> Diagnostic:
    names = [program.sites[n].name for n in step.sites] or [str(step)]
    some = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    hints = [*_reasons(step, e), *e.hints]
    if severity == "error":
        hints.append("config = { missing_probes = warn } goes on without it")
    end = "" if severity == "error" else ". Skipping."
    message = f"Unable to attach probe: {some}: {e.what}{end}"
    return Diagnostic(severity, message, _span(program, step.sites), tuple(hints), program.source)


def _span(program: Program, sites: tuple[int, ...]) -> Span:
    """Where the first of the sites is written: the attach point, or the whole clause if that is not known."""
    at = 0
    for c in program.clauses:
        if sites and at <= sites[0] < at + len(c.sites):
            return c.points[sites[0] - at] if c.points else c.span
        at += len(c.sites)
    return NOWHERE


def halves(step: Any) -> tuple[Any, ...]:
    """A step of many places as two; nothing if it is of one."""
    match step:
        case steps.AttachKprobeMulti(symbols=places) | steps.AttachUprobeMulti(offsets=places) if len(places) > 1:
            cut = len(places) // 2
            return _part(step, slice(cut)), _part(step, slice(cut, None))
        case _:
            return ()


def _part(step: Any, part: slice) -> Any:
    lists = (
        ("symbols", "cookies", "sites")
        if isinstance(step, steps.AttachKprobeMulti)
        else ("offsets", "ref_ctrs", "cookies", "sites")
    )
    return replace(step, **{name: getattr(step, name)[part] for name in lists})


# --- why --------------------------------------------------------------------------------------------------------------


def _reasons(step: Any, e: KernelError) -> list[str]:
    """What the error number does not say."""
    symbol = step.symbols[0] if isinstance(step, steps.AttachKprobeMulti) else getattr(step, "symbol", "")
    if not symbol:
        return []
    if e.errno == errno.EADDRNOTAVAIL:  # 6.7, "tracing/kprobes: Return EADDRNOTAVAIL when func matches several symbols"
        return [f"several functions are called {symbol}: kprobe:MODULE:{symbol}, or an address with --unsafe, is one"]
    if e.errno == errno.EINVAL and not _traceable(symbol):
        return [f"the kernel keeps tracers away from {symbol}: it is not in available_filter_functions"]
    return []


def _traceable(symbol: str) -> bool:
    """True also where it cannot be told."""
    from probescope.sources import kernel_functions

    module, _, name = symbol.rpartition(":")
    try:
        return kernel_functions.traceable().has(name, module)
    except KernelError:
        return True
