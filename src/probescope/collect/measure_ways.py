"""Each way to attach that is worth measuring, as data: what it needs, on which function of the treadmill, and how.

Everything is tied to descriptors, except for the one event that is switched on in a private instance of tracefs, whose
name carries our pid.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from probescope.errors import KernelError, Unsupported
from probescope.frozen import dataclass, replace
from probescope.kernel import bpf_link, perf_attr, tracefs
from probescope.kernel.bpf_prog import Load, Prog, prog_load
from probescope.kernel.features import tiny
from probescope.kernel.features.btf_ids import FUNC, TYPEDEF, type_id
from probescope.kernel.perf_event import PerfEvent, perf_event_open
from probescope.kernel.perfring import PerfRing
from probescope.kernel.treadmill import Treadmill
from probescope.kernel.uapi import bpf as u
from probescope.kernel.uapi import perf as p

CATEGORY, EVENT = "syscalls", "sys_enter_getppid"
FUNCTIONS = ("__x64_sys_getppid", "__arm64_sys_getppid", "__do_sys_getppid", "sys_getppid")
"""What getppid(2) is called in the kernel, by architecture and configuration."""

RING_PAGES = 64
SAMPLE = p.PERF_SAMPLE_IP | p.PERF_SAMPLE_TID | p.PERF_SAMPLE_TIME | p.PERF_SAMPLE_CPU | p.PERF_SAMPLE_RAW


@dataclass(frozen=True, slots=True)
class Stage:
    """Where an attachment is made: ``hold`` undoes what is given to it."""

    treadmill: Treadmill
    cpu: int
    hold: ExitStack

    def program(self, kind: str) -> Prog:
        return self.hold.enter_context(tiny.load(kind))

    def tracing(self, attach_type: int, names: tuple[str, ...], kind: int) -> None:
        """A tracing program on the first of ``names`` that BTF knows."""
        number = next((n for n in (type_id(name, kind) for name in names) if n), 0)
        if not number:
            raise Unsupported("bpf(BPF_PROG_LOAD)", 3, where=f"BTF knows none of {', '.join(names)}")
        load = Load(
            u.BPF_PROG_TYPE_TRACING, tiny.RETURN_0, "cost", expected_attach_type=attach_type, attach_btf_id=number
        )
        program = self.hold.enter_context(prog_load(load))
        self.hold.enter_context(bpf_link.link_tracing(program, attach_type))

    def perf(self, attr: perf_attr.PerfAttr, *, pid: int = -1) -> PerfEvent:
        cpu = -1 if pid > 0 else self.cpu
        return self.hold.enter_context(perf_event_open(attr, pid=pid, cpu=cpu))

    def on_event(self, kind: str, attr: perf_attr.PerfAttr, *, pid: int = -1) -> None:
        """A program on a perf event, without a link: any kernel can."""
        program = self.program(kind)
        event = self.perf(attr, pid=pid)
        event.set_bpf(program)
        event.enable()

    def counted(self, attr: perf_attr.PerfAttr) -> None:
        """Only a number that grows."""
        self.perf(replace(attr, period=0)).enable()

    def sampled(self, attr: perf_attr.PerfAttr) -> None:
        """Records into a ring that keeps the newest: nobody has to read it."""
        # the mapping keeps an event running, so it goes after the event's own descriptor was closed
        event = self.perf(perf_attr.with_samples(attr, SAMPLE, flags=p.FLAG_WRITE_BACKWARD))
        self.hold.enter_context(PerfRing(event, RING_PAGES, overwrite=True))
        event.enable()


@dataclass(frozen=True, slots=True)
class Way:
    """``name``: as in plan/costs.py. ``feature``: measured only where the kernel has it. ``function``: of the
    treadmill."""

    name: str
    feature: str
    function: str
    attach: Callable[[Stage], None]


def _tracepoint() -> perf_attr.PerfAttr:
    return perf_attr.tracepoint_attr(tracefs.event_id(CATEGORY, EVENT))


def _raw(s: Stage) -> None:
    s.hold.enter_context(bpf_link.raw_tracepoint_open(s.program("raw_tracepoint"), "sys_enter"))


def _ftrace(s: Stage) -> None:
    instance = s.hold.enter_context(tracefs.Instance("cost"))
    instance.write(f"events/{CATEGORY}/{EVENT}/enable", "1")


def _watch(s: Stage) -> None:
    attr = perf_attr.breakpoint_attr(s.treadmill.store, 8, p.HW_BREAKPOINT_W, flags=p.FLAG_EXCLUDE_KERNEL)
    s.on_event("perf_event", attr, pid=s.treadmill.pid)


def _kprobe(*, ret: bool) -> Callable[[Stage], None]:
    return _first_function(lambda s, name: s.on_event("kprobe", perf_attr.kprobe_attr(name, ret=ret)))


def _kprobe_multi(*, ret: bool) -> Callable[[Stage], None]:
    def attach(s: Stage, name: str) -> None:
        s.hold.enter_context(bpf_link.link_kprobe_multi(s.program("kprobe_multi"), symbols=[name], ret=ret))

    return _first_function(attach)


def _first_function(attach: Callable[[Stage, str], None]) -> Callable[[Stage], None]:
    def go(s: Stage) -> None:
        for name in FUNCTIONS[:-1]:
            try:
                return attach(s, name)
            except KernelError:
                continue
        return attach(s, FUNCTIONS[-1])

    return go


def _uprobe_multi(function: str, *, ret: bool = False, semaphore: bool = False) -> Callable[[Stage], None]:
    def go(s: Stage) -> None:
        t = s.treadmill
        refs = [t.semaphore] if semaphore else []
        offsets = [t.offset(function)]
        link = bpf_link.link_uprobe_multi(s.program("uprobe_multi"), t.path, offsets, ref_ctr_offsets=refs, ret=ret)
        s.hold.enter_context(link)

    return go


def _uprobe(function: str, *, ret: bool = False, semaphore: bool = False) -> Callable[[Stage], None]:
    def go(s: Stage) -> None:
        t = s.treadmill
        ref = t.semaphore if semaphore else 0
        s.on_event("kprobe", perf_attr.uprobe_attr(t.path, t.offset(function), ret=ret, ref_ctr=ref))

    return go


def _sampled_uprobe(s: Stage) -> None:
    s.sampled(perf_attr.uprobe_attr(s.treadmill.path, s.treadmill.offset("event")))


WAYS: tuple[Way, ...] = (
    Way(
        "tp_btf", "attach:tp_btf", "syscall", lambda s: s.tracing(u.BPF_TRACE_RAW_TP, ("btf_trace_sys_enter",), TYPEDEF)
    ),
    Way("raw_tracepoint", "attach:raw_tracepoint", "syscall", _raw),
    Way("tracepoint", "attach:tracepoint", "syscall", lambda s: s.on_event("tracepoint", _tracepoint())),
    Way("perf stat", "attach:tracepoint", "syscall", lambda s: s.counted(_tracepoint())),
    Way("perf record", "attach:tracepoint", "syscall", lambda s: s.sampled(_tracepoint())),
    Way("ftrace event", "ftrace:instances", "syscall", _ftrace),
    Way("fentry", "attach:fentry", "syscall", lambda s: s.tracing(u.BPF_TRACE_FENTRY, FUNCTIONS, FUNC)),
    Way("fexit", "attach:fexit", "syscall", lambda s: s.tracing(u.BPF_TRACE_FEXIT, FUNCTIONS, FUNC)),
    Way("kprobe_multi", "attach:kprobe_multi", "syscall", _kprobe_multi(ret=False)),
    Way("kprobe_multi/return", "attach:kprobe_multi", "syscall", _kprobe_multi(ret=True)),
    Way("kprobe", "attach:kprobe", "syscall", _kprobe(ret=False)),
    Way("kprobe/return", "attach:kprobe", "syscall", _kprobe(ret=True)),
    Way("watchpoint", "perf:breakpoint", "store", _watch),
)
MULTI = "attach:uprobe_multi"
UPROBES: tuple[Way, ...] = (
    Way("uprobe_multi", MULTI, "push", _uprobe_multi("push")),
    Way("uprobe_multi/nop5", MULTI, "nop5", _uprobe_multi("nop5")),
    Way("uprobe_multi/stepped", MULTI, "stepped", _uprobe_multi("stepped")),
    Way("uprobe_multi/return", MULTI, "returns", _uprobe_multi("returns", ret=True)),
    Way("uprobe_multi/usdt", MULTI, "usdt", _uprobe_multi("usdt", semaphore=True)),
    Way("uprobe", "attach:uprobe", "single", _uprobe("single")),
    Way("perf record/uprobe", "attach:uprobe", "event", _sampled_uprobe),
)
SINGLE_UPROBES: tuple[Way, ...] = (
    Way("uprobe", "attach:uprobe", "push", _uprobe("push")),
    Way("uprobe/nop5", "attach:uprobe", "nop5", _uprobe("nop5")),
    Way("uprobe/stepped", "attach:uprobe", "stepped", _uprobe("stepped")),
    Way("uprobe/return", "attach:uprobe", "returns", _uprobe("returns", ret=True)),
    Way("uprobe/usdt", "attach:uprobe_ref_ctr", "usdt", _uprobe("usdt", semaphore=True)),
    Way("perf record/uprobe", "attach:uprobe", "event", _sampled_uprobe),
)
"""For kernels without the multi link."""
