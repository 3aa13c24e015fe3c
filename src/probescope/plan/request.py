"""What a plan is made from, besides the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from probescope.bpf.unit import Unit
from probescope.frozen import dataclass
from probescope.model.plan import Plan
from probescope.plan.mechanism import Offers

if TYPE_CHECKING:
    from probescope.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """``via`` auto lets user space run what it can; bpf forces everything into the kernel. ``pid``: only this
    process, 0 for all. ``cpus``: online CPUs. ``native_syscalls``: the architecture whose system call numbers
    hold."""

    offers: Offers
    via: Literal["auto", "bpf", "perf", "ftrace"] = "auto"
    pid: int = 0
    cpus: tuple[int, ...] = (0,)
    cookies: bool = True  # bpf_get_attach_cookie on perf links (5.15)


@dataclass(frozen=True, slots=True)
class BpfPlan:
    """A plan and the units to compile for it. ``warnings``: probes that it goes without, because the script says so."""

    plan: Plan
    units: tuple[Unit, ...]
    warnings: tuple[Diagnostic, ...] = ()
