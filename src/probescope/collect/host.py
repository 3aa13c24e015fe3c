"""This machine as the planner and the compiler want to know it: features asked lazily, CPUs, types, namespaces."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Literal

from probescope.bpf.unit import Options
from probescope.collect.options import SessionOptions
from probescope.ir.expr import Call
from probescope.ir.program import Program
from probescope.ir.walk import clause_nodes
from probescope.kernel import machine
from probescope.kernel.host import host
from probescope.model.arch import X86_64, Arch, by_name
from probescope.model.features import Features
from probescope.model.site import UprobeAttach
from probescope.plan.request import BpfPlan, PlanRequest

RING_BYTES = 4 << 20
MOST_RING = 1 << 30
INITIAL_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO of include/linux/proc_ns.h

if TYPE_CHECKING:
    from probescope.debuginfo.kallsyms import Kallsyms
    from probescope.errors import KernelError

State = Literal["yes", "no", "unknown"]


class HostFeatures(Features):
    """``Features`` that ask this kernel at the moment a name is wanted: a program pays for what it uses."""

    __slots__ = ()

    def __init__(self) -> None:
        from probescope.kernel.features import set_btf_finder

        set_btf_finder(_btf_id)
        super().__init__()

    def has(self, name: str) -> bool:
        return self.state(name) == "yes"

    def lacks(self, name: str) -> bool:
        return self.state(name) == "no"

    def state(self, name: str) -> State:
        from probescope.kernel.features import probe

        found = probe(name).yes
        return "unknown" if found is None else "yes" if found else "no"


def _btf_id(name: str, kind: int) -> int:
    """The number of a type of the kernel's own BTF, 0 for none: by the index that resolving probes uses as well."""
    from probescope.errors import BtfError
    from probescope.sources.kernel_btf import functions

    try:
        found = functions()
    except BtfError:
        return 0
    return found.btf.find(name, kind) if found else 0


def arch() -> Arch:
    return by_name(host().machine) or X86_64


def plan_request(options: SessionOptions, pid: int = 0) -> PlanRequest:
    """What the planner may count on here."""
    offers = HostFeatures()
    return PlanRequest(
        offers,
        via=options.via,
        pid=pid or options.pid,
        cpus=tuple(machine.online_cpus()),
        cookies=offers.state("attach:perf_link") != "no",
    )


def barred() -> KernelError | None:
    """What stands in the way of every plan: a kernel or container where even a map of the simplest kind, or an event,
    is refused. ``None`` if nothing of the kind does."""
    from probescope.kernel.advice import kernel_error
    from probescope.kernel.features import probe

    for feature, call in (("map:array", "bpf(BPF_MAP_CREATE)"), ("perf:software", "perf_event_open")):
        answer = probe(feature)
        if answer.yes is False and answer.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            return kernel_error(call, answer.errno)
    return None


def bpf_refused() -> bool:
    """Whether these privileges, or whoever guards system calls, forbid BPF altogether."""
    from probescope.kernel.features import probe

    answer = probe("map:array")
    return not answer.yes and answer.errno in (errno.EPERM, errno.EACCES)


def collectors_besides_bpf(program: Program) -> tuple[Literal["perf", "ftrace"], ...]:
    """Those that these privileges permit for a program, the one with more to offer first."""
    from probescope.kernel.features import probe
    from probescope.kernel.privileges import privileges
    from probescope.kernel.tracefs import writable

    held = privileges()
    samples = (held.may("perfmon") or (held.perf_event_paranoid or 0) < 0) and bool(probe("perf:software").yes)
    if any(isinstance(s.attach, UprobeAttach) for s in program.sites):
        samples = samples and held.may("sys_admin")  # 6.16, "perf: Revert to requiring CAP_SYS_ADMIN for uprobes"
    found: list[Literal["perf", "ftrace"]] = ["perf"] if samples else []
    return (*found, "ftrace") if writable() else tuple(found)


def compile_options(program: Program, plan: BpfPlan, cpid: int) -> Options:
    """What the compiler may count on here."""
    return Options(
        features=HostFeatures(),
        arch=arch(),
        types=program.types,
        cpus=max(machine.possible_cpus()) + 1,
        gate=len(plan.plan.steps) > len(plan.units) + 1,
        ring_bytes=ring_bytes(program.settings.ring_bytes),
        cpid=cpid,
        namespace=own_namespace(),
        ring_wakeup=False,
        per_cpu_offset=_per_cpu_offset(program),
        unwind=program.settings.unwind != "off",
    )


def _per_cpu_offset(program: Program) -> int:
    """Where the kernel keeps the distances of the CPUs' own variables; looked up for programs that ask for such."""
    asks = any(isinstance(n, Call) and n.name == "percpu" for c in program.clauses for n in clause_nodes(c))
    return kernel_symbols().address("__per_cpu_offset") or 0 if asks else 0


def kernel_symbols() -> Kallsyms:
    """The symbols of this kernel, read once."""
    from probescope.debuginfo.kallsyms import Kallsyms

    cache = host().cache
    if "kallsyms" not in cache:
        cache["kallsyms"] = Kallsyms(machine.kallsyms())
    found: Kallsyms = cache["kallsyms"]
    return found


def ring_bytes(asked: int) -> int:
    """A power of two, no less than a page."""
    wanted = min(max(asked or RING_BYTES, host().page_size), MOST_RING)
    return 1 << (wanted - 1).bit_length()


def own_namespace() -> tuple[int, int] | None:
    """(device, inode) of our pid namespace, ``None`` in the initial one, or where /proc does not tell."""
    try:
        device, inode = host().inode("/proc/self/ns/pid")
    except OSError:
        return None
    return None if inode == INITIAL_PID_NAMESPACE else (device, inode)
