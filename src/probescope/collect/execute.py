"""The only interpreter of plans: creates maps, loads programs, attaches them; undoes all of it, whatever happened.

Everything made here is tied to file descriptors of this process, so that the kernel itself cleans up if we are killed.

Leaving has two parts. ``detach`` takes the programs off their probes, which is quick. Closing the perf events behind
tracepoints and probes is not: each waits for a grace period of RCU (some 70 ms), and nobody should have to wait for
that before the answer is printed. ``close`` does it.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from errno import EINVAL, ESRCH
from typing import TYPE_CHECKING, Any, Protocol

from probescope.bpf.btf_writer import pack_func_info
from probescope.bpf.unit import MapSpec, Object, ProgSpec
from probescope.errors import InternalError, KernelError, ProbeError, ScriptError, VerifierError
from probescope.ir.program import Program
from probescope.kernel import bpf_link, bpf_map, bpf_prog, perf_attr
from probescope.kernel.bpf import btf_load, object_fd
from probescope.kernel.fds import Fd, close_all
from probescope.kernel.perf_event import perf_event_open
from probescope.kernel.procfs import threads
from probescope.kernel.uapi.bpf import BPF_F_SLEEPABLE
from probescope.kernel.uapi.perf import FLAG_FREQ, PERF_TYPE_BREAKPOINT
from probescope.model import plan as steps

if TYPE_CHECKING:
    from probescope.collect.unattached import Failure

CLOSE_THREADS = 32  # closing a perf event sleeps for an RCU grace period; threads share it


class BtfIds(Protocol):
    """Numbers of BTF types, by kind (``func``, ``typedef``) and name; 0 if there is none. ``module`` "" is the
    kernel."""

    def find(self, kind: str, name: str, module: str = "") -> int: ...
    def object_fd(self, module: str) -> Fd | None:
        """The descriptor of a module's BTF; ``None`` for the kernel's own."""
        ...


class Execution:
    """What exists in the kernel for one session. ``close`` undoes all, in reverse order, as often as it is called."""

    def __init__(self, obj: Object, plan: steps.Plan, btf: BtfIds, program: Program) -> None:
        self.obj = obj
        self.plan = plan
        self.maps: dict[str, bpf_map.Map] = {}
        self.programs: dict[str, bpf_prog.Prog] = {}
        self.failures: list[Failure] = []  # probes that are left out
        self._btf_ids = btf
        self._program = program
        self._specs = {p.name: p for p in obj.programs}
        self._own_btf: Fd | None = None
        self._iters: list[Fd] = []
        self._links: list[Fd] = []
        self._events: list[Fd] = []  # perf events whose program goes with a link
        self._bare: list[Fd] = []  # perf events that hold their program themselves

    # --- prepare and load
    # ----------------------------------------------------------------------------------------------

    def create_maps(self) -> None:
        """Raises KernelError; what was made so far is closed by ``close``."""
        if self.obj.btf:
            self._own_btf = self._load_btf()
        for spec in self.obj.maps:
            self.maps[spec.name] = _create(spec)

    def _load_btf(self) -> Fd | None:
        """Programs that call functions of their own cannot do without; others only have a short name then."""
        try:
            return btf_load(self.obj.btf)
        except KernelError:
            if any(len(p.func_info) > 1 for p in self.obj.programs):
                raise
            return None

    def load(self) -> None:
        """Loads every program that the plan names. Raises ScriptError with the script's own line where the verifier
        refuses, or KernelError."""
        for step in self.plan.steps:
            if isinstance(step, steps.Load):
                self.programs[step.program] = self._load(step, self._specs[step.program])

    def _load(self, step: steps.Load, spec: ProgSpec) -> bpf_prog.Prog:
        kind = {"tp_btf": "typedef"}.get(spec.kind, "func")
        target = step.btf_id
        if step.btf_target and not target:
            target = self._btf_ids.find(kind, step.btf_target, step.module)
            if not target:
                lacking = "the kernel's BTF lacks it"
                raise KernelError("bpf(BPF_PROG_LOAD)", ESRCH, where=step.btf_target, hints=[lacking])
        module = self._btf_ids.object_fd(step.module) if target and not step.of_program else None
        of_program = _program(step) if step.of_program else None
        try:
            return bpf_prog.prog_load(
                bpf_prog.Load(
                    type=step.prog_type,
                    insns=self._relocate(spec),
                    name=spec.unit.title or spec.name,
                    license=self._program.settings.license,
                    expected_attach_type=step.attach_type,
                    attach_btf_id=target,
                    attach_btf_obj_fd=module,
                    attach_prog_fd=of_program,
                    btf_fd=self._own_btf if spec.func_info else None,
                    func_info=pack_func_info(spec.func_info) if self._own_btf is not None else b"",
                    flags=BPF_F_SLEEPABLE if step.sleepable or spec.kind == "syscall" else 0,
                )
            )
        except VerifierError as e:
            raise self._refused(spec, e) from e
        finally:
            for held in (module, of_program):
                if held is not None:
                    held.close()

    def _refused(self, spec: ProgSpec, e: VerifierError) -> ScriptError:
        """What the verifier found, at the line of the script that it comes from."""
        from probescope.bpf.verifier_log import diagnose

        return ScriptError([diagnose(e.log, spec.lines, self._program.source, program=spec.unit.title or spec.name)])

    def _relocate(self, spec: ProgSpec) -> bytes:
        """The instructions with descriptors and BTF ids in place: the imm field of each, bytes 4 to 7."""
        code = bytearray(spec.insns)
        for r in spec.relocs:
            value = self._btf_ids.find("func", r.name) if r.kind == "kfunc" else self.maps[r.name].fileno()
            struct.pack_into("=i", code, r.insn * 8 + 4, value)
        return bytes(code)

    # --- attach
    # ---------------------------------------------------------------------------------------------------------

    def attach(self, give_up: Callable[[], bool] = lambda: False) -> None:
        """Carries out every attachment of the plan, in order; ``give_up`` is asked before each whether to go on, as
        thousands of them may take long. Raises ScriptError where a probe is refused that the program cannot do
        without; others are in ``failures`` afterwards. Raises KernelError for what is not a matter of one probe."""
        for step in self.plan.steps:
            act = _ATTACH.get(type(step))
            if act is not None:
                if give_up():
                    return
                self._try(act, step)

    def _try(self, act: Callable[[Execution, Any], None], step: Any) -> None:
        """One attachment. Where many places in one link are refused, halves of them are tried, and so on, until the
        bad ones are known by name; what becomes of these is the program's choice (``missing_probes``)."""
        held = [len(fds) for fds in self._held()]
        try:
            act(self, step)
        except KernelError as e:
            for fds, count in zip(self._held(), held, strict=True):
                while len(fds) > count:
                    fds.pop().close()
            self._without(act, step, e)

    def _without(self, act: Callable[[Execution, Any], None], step: Any, e: KernelError) -> None:
        from probescope.collect import unattached

        parts = unattached.halves(step) if unattached.about_the_probe(e) else ()
        for part in parts:
            self._try(act, part)
        if not parts:
            self.failures.append(unattached.failure(self._program, step, e))

    def _held(self) -> tuple[list[Fd], ...]:
        return self._iters, self._links, self._events, self._bare

    def iterators(self) -> list[Fd]:
        """Descriptors to read: each reading of one walks all objects."""
        return self._iters

    def run_once(self, step: steps.RunOnce) -> None:
        """Runs a syscall program: ``begin``, ``end``, or a signal."""
        bpf_prog.prog_test_run(self.programs[step.program], ctx=bytes(8))

    def trial(self, step: steps.RunOnce, repeat: int) -> tuple[int, int]:
        """Runs a test or a bench; gives the value that it returned last, and the mean ns of a run. The kernel repeats
        no syscall program, so that the time of the call is in it where there are many."""
        program, value, total = self.programs[step.program], 0, 0
        for _ in range(repeat):
            begun = time.perf_counter_ns()
            done = bpf_prog.prog_test_run(program, ctx=bytes(8))
            total += done.duration_ns or time.perf_counter_ns() - begun
            value = done.retval
        return value, total // repeat

    def missed(self) -> int:
        """How often the kernel did not run a program of ours because one ran already on that CPU."""
        return sum(p.info().misses for p in self.programs.values())

    def detach(self) -> None:
        """Takes every program off its probes. Maps stay readable."""
        for fd in reversed([*self._iters, *self._links]):
            fd.close()
        close_all(self._bare, threads=CLOSE_THREADS)
        self._iters, self._links, self._bare = [], [], []

    def close(self) -> None:
        self.detach()
        close_all(self._events, threads=CLOSE_THREADS)
        self._events = []
        for held in (*self.programs.values(), *self.maps.values()):
            held.close()
        if self._own_btf is not None:
            self._own_btf.close()
        self.programs, self.maps, self._own_btf = {}, {}, None

    # --- one method a kind of step
    # --------------------------------------------------------------------------------------

    def _tracepoint(self, s: steps.AttachTracepoint) -> None:
        self._perf(s.program, perf_attr.tracepoint_attr(s.id), -1, 0, s.cookie)

    def _raw(self, s: steps.AttachRaw) -> None:
        self._links.append(bpf_link.raw_tracepoint_open(self.programs[s.program], s.event, s.cookie))

    def _tracing(self, s: steps.AttachTracing) -> None:
        self._links.append(bpf_link.link_tracing(self.programs[s.program], s.attach_type, s.cookie))

    def _kprobe(self, s: steps.AttachKprobe) -> None:
        attr = perf_attr.kprobe_attr(s.symbol, s.offset, address=s.address, ret=s.ret)
        self._perf(s.program, attr, -1, 0, s.cookie)

    def _kprobe_multi(self, s: steps.AttachKprobeMulti) -> None:
        prog = self.programs[s.program]
        link = bpf_link.link_kprobe_multi(prog, symbols=s.symbols, cookies=s.cookies, ret=s.ret, session=s.session)
        self._links.append(link)

    def _uprobe(self, s: steps.AttachUprobe) -> None:
        attr = perf_attr.uprobe_attr(s.path, s.offset, ret=s.ret, ref_ctr=s.ref_ctr)
        self._perf(s.program, attr, s.pid, -1 if s.pid > 0 else 0, s.cookie)

    def _uprobe_multi(self, s: steps.AttachUprobeMulti) -> None:
        link = bpf_link.link_uprobe_multi(
            self.programs[s.program],
            s.path,
            s.offsets,
            ref_ctr_offsets=s.ref_ctrs,
            cookies=s.cookies,
            pid=max(s.pid, 0),
            ret=s.ret,
        )
        self._links.append(link)

    def _perf_events(self, s: steps.AttachPerf) -> None:
        flags = FLAG_FREQ if s.frequency else 0
        attr = perf_attr.PerfAttr(s.type, s.config, s.frequency or s.period, flags=flags)
        # an event belongs to a thread; those that run already have to be watched one by one
        watched = [s.pid]
        if s.type == PERF_TYPE_BREAKPOINT:
            attr = perf_attr.breakpoint_attr(s.bp_addr, s.bp_len, s.bp_type)
            watched = (s.pid > 0 and threads(s.pid)) or watched
        for cpu in s.cpus:
            for thread in watched:
                self._perf(s.program, attr, thread, cpu, 0)

    def _iter(self, s: steps.AttachIter) -> None:
        if s.pin:
            what = f"iter:{s.target} cannot be pinned: what it prints goes to the session that started it"
            raise ProbeError(what, hints=[f"without {s.pin} it is walked once, at once"])
        link = bpf_link.link_iter(self.programs[s.program])
        self._links.append(link)
        self._iters.append(bpf_link.iter_create(link))

    def _perf(self, program: str, attr: perf_attr.PerfAttr, pid: int, cpu: int, cookie: int) -> None:
        """A perf event with our program. Links need 5.15; before, the program is set by ioctl, and has no cookie."""
        event = perf_event_open(attr, pid=pid, cpu=cpu)
        prog = self.programs[program]
        try:
            self._links.append(bpf_link.link_perf_event(prog, event, cookie))
            self._events.append(event)
        except KernelError as e:
            self._bare.append(event)
            if e.errno != EINVAL or cookie:  # it says so where the kernel has no such link
                raise
            event.set_bpf(prog)
        event.enable()


_ATTACH: dict[type, Callable[[Execution, Any], None]] = {
    steps.AttachTracepoint: Execution._tracepoint,
    steps.AttachRaw: Execution._raw,
    steps.AttachTracing: Execution._tracing,
    steps.AttachKprobe: Execution._kprobe,
    steps.AttachKprobeMulti: Execution._kprobe_multi,
    steps.AttachUprobe: Execution._uprobe,
    steps.AttachUprobeMulti: Execution._uprobe_multi,
    steps.AttachPerf: Execution._perf_events,
    steps.AttachIter: Execution._iter,
}


def _program(step: steps.Load) -> Fd:
    """The program whose function is to be traced. Raises KernelError if it is gone by now."""
    found = object_fd("prog", step.of_program)
    if found is None:
        gone = f"BPF program {step.of_program}"
        raise KernelError("bpf(BPF_PROG_GET_FD_BY_ID)", ESRCH, where=gone, hints=["it has ended meanwhile"])
    return found


def _create(spec: MapSpec) -> bpf_map.Map:
    inner = _create(spec.inner) if spec.inner else None
    made = bpf_map.map_create(
        spec.type, spec.key_size, spec.value_size, spec.max_entries, flags=spec.flags, name=spec.name, inner=inner
    )
    if inner is not None:
        inner.close()  # only a pattern: what will be in the map must be like it
    if spec.content:
        if len(spec.content) != spec.value_size:
            raise InternalError(f"constants of {spec.name} have {len(spec.content)} bytes, not {spec.value_size}")
        made.update(bytes(spec.key_size), spec.content)
        made.freeze()
    return made
