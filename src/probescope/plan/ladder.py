"""The ladder: for each way to attach, the mechanisms that can answer, cheapest first, with what each changes.

A rung gives the mechanism, and the fields as that mechanism finds them; or the reason why it cannot serve. The first
that serves is taken, and the reasons of those before it are what ``explain`` prints.
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.frozen import dataclass
from probescope.ir.needs import NO_NEEDS, Needs
from probescope.model.site import (
    Attach,
    CtxArg,
    CtxLoad,
    FentryAttach,
    Field,
    IntervalAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Site,
    SyscallArg,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.plan.mechanism import MECHANISMS, Mechanism, Offers, missing

RAW_EVENT_FIELDS = {
    # (category:event, field) -> place in the raw tracepoint's arguments; TP_PROTO of include/trace/events/syscalls.h
    ("raw_syscalls:sys_enter", "id"): 1,
    ("raw_syscalls:sys_exit", "ret"): 1,
}
MANY_RAW = 16  # from here on one raw tracepoint program with cookies beats a BTF program each


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to serve a site. ``target``: the tracepoint or function the program is loaded for or attached to by name.
    ``syscall``: the dispatch number, -1 for none."""

    mechanism: Mechanism
    fields: tuple[Field, ...] = ()
    args: tuple[Field, ...] | None = None
    ret: Field | None = None
    target: str = ""
    syscall: int = -1
    reason: str = ""  # why this rung cannot serve; empty if it can


@dataclass(frozen=True, slots=True)
class Asked:
    """What a clause wants of its sites, and how many there are. ``session``: another clause is for the other end of the
    same functions."""

    needs: Needs
    count: int
    session: bool = False

    def fields_of(self, site: Site) -> tuple[Field, ...]:
        """Only the fields that the clause uses: programs are shared by sites that agree on these."""
        return tuple(f for f in site.fields if f.name in self.needs.fields)

    def args_of(self, site: Site) -> tuple[Field, ...] | None:
        """Positional arguments up to the last one used; ``None`` stays: by the calling convention."""
        if site.args is None or not self.needs.args:
            return None if site.args is None else ()
        return site.args[: max(self.needs.args) + 1]

    def ret_of(self, site: Site) -> Field | None:
        return site.ret if self.needs.ret else None


def rungs(site: Site, asked: Asked, offers: Offers) -> Iterator[Rung]:
    """All ways to serve ``site``, best first, those that cannot with their reason."""
    for rung in _candidates(site.attach, site, asked):
        wanted = (*rung.mechanism.features, *_pair_features(rung, site), *site_features(site))
        reason = rung.reason or missing(wanted, offers)
        yield rung if not reason else Rung(rung.mechanism, reason=reason)


def unserved(site: Site, offers: Offers) -> str:
    """Why nothing here can serve a site, whatever is asked of it; empty if something can."""
    reasons: list[str] = []
    for rung in rungs(site, Asked(NO_NEEDS, 1), offers):
        if not rung.reason:
            return ""
        reasons.append(f"{rung.mechanism.name}: {rung.reason}")
    return "; ".join(dict.fromkeys(reasons)) or "nothing serves it"


def _pair_features(rung: Rung, site: Site) -> tuple[str, ...]:
    """What this mechanism asks of the kernel for such a site, beyond what it asks for any."""
    match site.attach:
        case UprobeAttach(pid=pid) if pid > 0 and rung.mechanism.name == "uprobe_multi":
            return ("attach:uprobe_multi_pid",)
        case _:
            return ()


def site_features(site: Site) -> tuple[str, ...]:
    """What the site itself asks of the kernel, whatever the mechanism."""
    match site.attach:
        case PerfAttach(type=0):  # PERF_TYPE_HARDWARE
            return ("perf:hardware",)
        case PerfAttach(type=5):  # PERF_TYPE_BREAKPOINT
            return ("perf:breakpoint",)
        case UprobeAttach(ref_ctr=ref) if ref:
            return ("attach:uprobe_ref_ctr",)
        case _:
            return ()


def _candidates(attach: Attach, site: Site, asked: Asked) -> Iterator[Rung]:
    match attach:
        case TracepointAttach() if attach.syscall >= 0:
            yield from _syscall(attach, site, asked)
        case TracepointAttach():
            yield from _tracepoint(attach, site, asked)
        case RawTracepointAttach():
            yield from _raw(attach, site, asked)
        case FentryAttach():
            of_program = f"bpf:{attach.program}:" if attach.program else ""
            yield _plain("fexit" if attach.ret else "fentry", site, asked, of_program + attach.func)
        case KprobeAttach():
            if asked.session:
                yield _kprobe_multi("kprobe_session", attach, site, asked)
            yield _kprobe_multi("kprobe_multi", attach, site, asked)
            yield _plain("kprobe", site, asked)
        case UprobeAttach():
            yield _plain("uprobe_multi", site, asked)
            yield _plain("uprobe", site, asked)
        case PerfAttach() | IntervalAttach():
            yield _plain("perf_event", site, asked)
        case IterAttach():
            yield _plain("iter", site, asked, attach.target)
        case UserAttach():
            yield _plain("test_run", site, asked)
        case _:
            raise AssertionError(f"no mechanism for {type(attach).__name__}")


def _plain(name: str, site: Site, asked: Asked, target: str = "", reason: str = "") -> Rung:
    m = MECHANISMS[name]
    return Rung(m, asked.fields_of(site), asked.args_of(site), asked.ret_of(site), target, reason=reason)


def _kprobe_multi(name: str, attach: KprobeAttach, site: Site, asked: Asked) -> Rung:
    reason = ""
    if attach.offset or not attach.symbol:
        reason = "serves only whole functions"
    elif not attach.traceable:
        reason = f"not known whether ftrace can take {attach.symbol}: looking takes longer than one kprobe"
    elif "func_ip" in asked.needs.context:
        reason = "gives another address for func_ip"
    return _plain(name, site, asked, attach.symbol, reason)


def _syscall(attach: TracepointAttach, site: Site, asked: Asked) -> Iterator[Rung]:
    """A system call's tracepoint is a look at one raw tracepoint that all calls pass: no record, and it closes at
    once."""
    enter = attach.event.startswith("sys_enter_")
    target = "sys_enter" if enter else "sys_exit"
    moved = _syscall_fields(asked.fields_of(site), enter)
    reason = "" if moved is not None else "cannot give " + ", ".join(sorted(asked.needs.fields))
    if "ctx" in asked.needs.context:
        reason = "its context is another one"
    reason = reason or _long_stacks(asked)
    for name in ("tp_btf", "raw_tracepoint"):
        yield Rung(MECHANISMS[name], moved or (), None, None, target, attach.syscall, reason)
    yield _plain("tracepoint", site, asked)


def _syscall_fields(fields: tuple[Field, ...], enter: bool) -> tuple[Field, ...] | None:
    """The record's fields as found in the raw tracepoint: the record is common fields, the number, then the arguments
    in slots of 8 bytes from offset 16 (trace_event_format of kernel/trace/trace_syscalls.c)."""
    out = []
    for f in fields:
        if not isinstance(f.where, CtxLoad):
            return None
        if enter and f.name == "__syscall_nr":
            out.append(Field(f.name, f.type, CtxArg(1)))
        elif enter and f.where.offset >= 16 and f.where.offset % 8 == 0:
            out.append(Field(f.name, f.type, SyscallArg((f.where.offset - 16) // 8)))
        elif not enter and f.name == "ret":
            out.append(Field(f.name, f.type, CtxArg(1)))
        else:
            return None
    return tuple(out)


def _tracepoint(attach: TracepointAttach, site: Site, asked: Asked) -> Iterator[Rung]:
    fields = asked.fields_of(site)
    moved: list[Field] = []
    reason = ""
    for f in fields:
        place = RAW_EVENT_FIELDS.get((f"{attach.category}:{attach.event}", f.name))
        if place is None:
            reason = f"args.{f.name} is in the record that it does not build"
            break
        moved.append(Field(f.name, f.type, CtxArg(place)))
    if "ctx" in asked.needs.context:
        reason = "its context is another one"
    reason = reason or _long_stacks(asked)
    many = f"a program each for {asked.count} tracepoints costs more to load" if asked.count > MANY_RAW else ""
    yield Rung(MECHANISMS["tp_btf"], tuple(moved), None, None, attach.event, reason=reason or many)
    yield Rung(MECHANISMS["raw_tracepoint"], tuple(moved), None, None, attach.event, reason=reason)
    yield _plain("tracepoint", site, asked)


def _long_stacks(asked: Asked) -> str:
    """Kernel stacks from a raw tracepoint are longer by the frames of the tracing code, which are unwound each time;
    but many perf tracepoints take long to close."""
    wanted = "kstack" in asked.needs.stacks and asked.count <= MANY_RAW
    return "its stacks begin inside the tracing code" if wanted else ""


def _raw(attach: RawTracepointAttach, site: Site, asked: Asked) -> Iterator[Rung]:
    reason = "" if attach.btf_id else "the kernel's BTF does not describe it"
    if asked.count > MANY_RAW:
        reason = f"a program each for {asked.count} tracepoints costs more to load"
    yield _plain("tp_btf", site, asked, attach.event, reason)
    yield _plain("raw_tracepoint", site, asked, attach.event)
