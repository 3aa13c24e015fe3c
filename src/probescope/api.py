"""The Python front door: probescope as a library.

>>> import probescope
>>> with probescope.run("tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }") as session:
...     outputs = session.wait(0.5)
>>> calls = session.maps["@"]             # such as {'bash': 12, 'python3': 480}
>>> max(calls.values()) > 0
True

``run`` gives a session; ``build`` stops before the kernel is touched; ``record`` writes a perf.data, ``open`` reads
one; ``list_probes``, ``doctor`` and ``explain`` answer as the commands of the same names do. Errors are those of
``probescope.errors``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from probescope.frozen import dataclass, field, replace

if TYPE_CHECKING:
    from probescope.collect.actions import Sink
    from probescope.collect.recorder.request import Recorded
    from probescope.collect.session import Session
    from probescope.diagnostics import Diagnostic
    from probescope.errors import LimitError, UsageError
    from probescope.ir.program import Program
    from probescope.live import LiveSession
    from probescope.model.plan_kernel import PairInKernel
    from probescope.model.probe import ProbeSpec
    from probescope.model.recording import Recording
    from probescope.opened import OpenRecording
    from probescope.plan.events import StreamPlan
    from probescope.plan.explanation import Explained
    from probescope.plan.request import BpfPlan, PlanRequest
    from probescope.sources.context import ResolveContext


VIAS = ("auto", "bpf", "perf", "ftrace")


@dataclass(frozen=True, slots=True)
class Request:
    """A program and how to run it. ``name`` is what diagnostics call the text. ``parameters`` are ``$1``... and, in
    the form ``--name=value``, the options that the script asks for by ``getopt``. ``unwind_pids``: processes, besides
    ``pid`` and ``command``, whose user stacks are to be unwound from the start. ``mode``: test or bench;
    ``probe_filter``: a regular expression, only probes whose names it is found in are used. ``traceable_functions``: a
    file with the functions that may be probed, in the place of available_filter_functions of tracefs. ``input``: a
    recording that answers, instead of this machine. ``follow``: only ``pid``, or ``command``, and what they fork.
    ``attaches`` is false where a program is only explained: what nobody knows is not tried then."""

    text: str
    name: str = "stdin"
    parameters: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    input: str = ""
    pid: int = 0
    command: str = ""
    follow: bool = False
    unwind_pids: tuple[int, ...] = ()
    unsafe: bool = False
    via: Literal["auto", "bpf", "perf", "ftrace"] = "auto"
    include_dirs: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    debug_dirs: tuple[str, ...] = ()
    texts: bool = False
    everything: bool = False
    mode: str = ""
    probe_filter: str = ""
    traceable_functions: str = ""
    signals: bool = False
    rehearsal: bool = False
    attaches: bool = True
    terminal: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True)
class Built:
    """A program that was checked, lowered and planned for this machine, or for a recording; nothing is in the kernel
    yet."""

    request: Request
    program: Program
    plan: BpfPlan | StreamPlan
    warnings: tuple[Diagnostic, ...] = ()
    recording: Recording | None = None

    def session(self, sink: Sink) -> Session:
        """A session that says what happens to ``sink``. Raises UsageError if ``-c`` names no program."""
        from probescope.collect.options import SessionOptions
        from probescope.collect.session import Session
        from probescope.kernel.child import split_command

        r = self.request
        options = SessionOptions(
            pid=r.pid,
            command=split_command(r.command) if r.command else (),
            follow=r.follow,
            unwind_pids=r.unwind_pids,
            unsafe=r.unsafe,
            via=r.via,
            texts=r.texts,
            everything=r.everything,
            signals=r.signals,
            rehearsal=r.rehearsal,
            terminal=r.terminal,
            mode=r.mode,
        )
        return Session(self.program, self.plan, sink, options, self.recording)


def build(request: Request) -> Built:
    """Parse, check, lower and plan. Raises ScriptError, ProbeError, UsageError or KernelError; FormatError where
    ``input`` is no recording."""
    if request.input:
        from probescope import recorded

        return recorded.build(request)
    from probescope.front import lower

    if request.via in ("perf", "ftrace"):
        if request.via == "perf" and request.follow:
            raise _unfollowed()
        return _via_events(request, *lower(request))
    from probescope.collect.host import barred, bpf_refused, plan_request
    from probescope.collect.options import SessionOptions
    from probescope.errors import ScriptError
    from probescope.plan.bpf import plan_bpf

    program, warnings = lower(request)
    try:
        pid = 0 if request.follow else request.pid
        plan = plan_bpf(program, plan_request(SessionOptions(pid=pid, via=request.via)))
    except ScriptError as e:
        raise barred() or e from None
    if plan.units and request.via == "auto" and bpf_refused() and (other := _otherwise(request, program)):
        return other
    if len(plan.units) > program.settings.max_programs:
        raise _too_many(len(plan.units), program.settings.max_programs)
    return Built(request, program, plan, (*warnings, *plan.warnings))


def _otherwise(request: Request, program: Program) -> Built | None:
    """Where BPF is not permitted: by another collector, if one is, and has what the program needs."""
    from probescope.collect.host import collectors_besides_bpf
    from probescope.diagnostics import Diagnostic
    from probescope.errors import ScriptError, UsageError

    for via in collectors_besides_bpf(program):
        try:
            built = build(replace(request, via=via))
        except (ScriptError, UsageError):
            continue
        warning = Diagnostic("warning", f"BPF is not permitted here: the program runs as with --via {via}")
        return replace(built, warnings=(*built.warnings, warning))
    return None


def _via_events(request: Request, program: Program, warnings: Sequence[Diagnostic]) -> Built:
    """``via`` perf or ftrace."""
    from probescope.collect.host import arch, own_namespace, plan_request
    from probescope.collect.options import SessionOptions
    from probescope.evaluate.columns.runner import by_rows

    asked = plan_request(SessionOptions(pid=request.pid, via=request.via))
    if request.via == "ftrace":
        from probescope.plan.ftrace import plan_ftrace

        nested = own_namespace() is not None
        program, pairs = _paired(request, program, asked)
        plan = plan_ftrace(program, asked, by_rows, arch(), follow=request.follow, nested=nested, pairs=pairs)
    else:
        from probescope.plan.perf import plan_perf

        plan = plan_perf(program, asked, by_rows)
    return Built(request, program, plan, (*warnings, *plan.warnings))


def _paired(request: Request, program: Program, asked: PlanRequest) -> tuple[Program, tuple[PairInKernel, ...]]:
    """Starts and ends that the kernel can pair by itself; not where only a process counts: triggers know none."""
    able = all(asked.offers.state(f) == "yes" for f in ("ftrace:hist", "ftrace:synthetic_events"))
    if not able or request.pid or request.follow:
        return program, ()
    from probescope.collect.latency.pairing import paired
    from probescope.collect.latency.synthetic import described

    return paired(program, described)


def _unfollowed() -> UsageError:
    from probescope.errors import UsageError

    message = "--follow is done by programs in the kernel, or by ftrace"
    return UsageError(message, hints=["leave --via perf away, or --via ftrace"])


def _too_many(count: int, most: int) -> LimitError:
    from probescope.errors import LimitError

    return LimitError(
        f"Your program is trying to generate more than {most} BPF programs, which exceeds the current limit of {most}",
        hints=[
            "You can increase the limit through the BPFTRACE_MAX_BPF_PROGS environment variable.",
            f"or in the script: config = {{ max_bpf_progs = {count} }}; or make the patterns narrower",
        ],
    )


def run(
    text: str,
    *,
    parameters: Sequence[str] = (),
    input: str = "",  # noqa: A002 - as -i, --input of the command
    pid: int = 0,
    command: str = "",
    follow: bool = False,
    unsafe: bool = False,
    via: Literal["auto", "bpf", "perf", "ftrace"] = "auto",
    everything: bool = False,
    include_dirs: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    name: str = "program",
) -> LiveSession:
    """Starts a program of the bpftrace language; its probes are attached on return. Use it as a context manager.

    ``parameters`` are ``$1``, ``$2``...; ``input``: a perf.data or trace.dat that answers, instead of this machine;
    ``pid``: trace only this process, and end with it; ``command``: start it when the probes are in place, and end with
    it; ``follow``: trace only these and what they fork, and end with the last of them; ``unsafe`` allows system() and
    the like; ``via="bpf"`` runs every clause in the kernel, ``"perf"`` and ``"ftrace"`` none: events are sampled by
    perf, or recorded by ftrace, and evaluated here; ``everything`` reports failed reads among the losses;
    ``environment`` is where BPFTRACE_* settings are looked up (this process's own by default); ``name`` is what
    messages call the text.

    Raises ScriptError, ProbeError or UsageError for what is wrong with the request, PermissionDenied, Unsupported or
    another KernelError where this kernel or these privileges cannot do it. All are ProbescopeError
    (``probescope.errors``) and carry hints.

    Signals are left alone: Ctrl-C raises KeyboardInterrupt as ever, and leaving the block tidies up.

    >>> import probescope
    >>> with probescope.run("tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @calls = count(); }",
    ...                     command="python3 -c 'import os; os.getppid(); os.getppid()'") as session:
    ...     for output in session:
    ...         pass
    >>> session.maps["@calls"] >= 2
    True
    """
    from probescope.errors import UsageError
    from probescope.live import LiveSession

    if via not in VIAS:
        raise UsageError(f"via={via!r}: there is no such way", hints=["one of " + ", ".join(VIAS)])
    request = Request(
        text,
        name=name,
        parameters=tuple(map(str, parameters)),
        input=os.fspath(input),
        pid=pid,
        command=command,
        follow=follow,
        unsafe=unsafe,
        via=via,
        everything=everything,
        include_dirs=tuple(include_dirs),
        environment=os.environ if environment is None else environment,
    )
    return LiveSession(build(request))


def open(path: str, *, fresh: bool = False, memory: str = "") -> OpenRecording:  # noqa: A001 - probescope.open
    """A recording to be read: perf.data (file or directory), trace.dat, or what trace files, trace-cmd report and perf
    script print. Its ``batches()`` are columns; ``query(sql)`` asks its tables, which are made once and kept
    (``fresh``: made anew; ``memory``: most that a query may use, as ``2GB``). Use it as a context manager. Raises
    UsageError where it cannot be opened, FormatError where it is neither."""
    from probescope.opened import OpenRecording

    return OpenRecording(path, fresh=fresh, memory=memory)


def record(
    events: str = "cycles",
    *,
    command: Sequence[str] = (),
    pids: Sequence[int] = (),
    output: str = "perf.data",
    call_graph: Literal["", "fp", "dwarf", "lbr"] = "",
    frequency: int = 0,
    period: int = 0,
    level: int = 0,
) -> Recorded:
    """Records ``events`` (perf's grammar) of ``command``, or of ``pids`` until they or the command end, or, without
    either, of the whole machine until SIGINT or SIGTERM, into a perf.data: see ``probescope.open``. ``frequency`` in
    Hz or ``period`` in events; ``level`` of zstd. Raises ScriptError, UsageError, KernelError. More than this:
    ``collect.recorder.request.RecordRequest``."""
    from probescope.collect.recorder.request import RecordRequest
    from probescope.collect.recorder.sampling import Sampling
    from probescope.collect.recorder.session import record as go
    from probescope.lang.perf.events import parse_events
    from probescope.sources.perf_events import resolve_events

    whole = not (command or pids)
    sampling = Sampling(frequency, period, call_graph, cpus=whole)
    counters = resolve_events(parse_events(events), events)
    request = RecordRequest(
        counters,
        sampling,
        whole_cpus=whole,
        pids=tuple(pids),
        command=tuple(command),
        output=os.fspath(output),
        level=level,
        words=("probescope.record", *command),
    )
    return go(request)


def marker(text: str, buffer: str = "") -> None:
    """A line of your own among the events of ftrace: in the trace that `ftrace start` began, in the instance
    ``buffer``, or in the top buffer. Raises KernelError; UsageError where there is no such buffer, or it is off."""
    from probescope.kernel.marker import mark

    mark(text, buffer)


def list_probes(pattern: str = "*", *, pid: int = -1) -> Iterator[str]:
    """Full names of probes that match a glob, as they come.

    >>> import probescope
    >>> list(probescope.list_probes("tracepoint:sched:sched_process_ex*"))
    ['tracepoint:sched:sched_process_exec', 'tracepoint:sched:sched_process_exit']
    """
    from probescope.sources import registry

    return registry.list_probes(pattern, resolve_context(pid=pid))


def doctor(*, everything: bool = False) -> dict[str, Any]:
    """What this kernel and these privileges can do, as JSON-able values."""
    from probescope.collect.checkup import checkup

    return checkup(everything=everything)


def explain(what: str, *, pid: int = 0) -> list[Explained]:
    """How a probe, which may hold globs, or a program would be traced here and why. One answer; several where the
    source itself is a glob."""
    from probescope.inquiry import explain as answer

    return answer(what, pid=pid)


def parse_probe(text: str) -> ProbeSpec:
    """One probe as written, split into its parts. Raises ProbeError."""
    from probescope.front import parse_probe as parse

    return parse(text)


def resolve_context(*, pid: int = -1, max_probes: int = 1 << 20) -> ResolveContext:
    """What sources need to know of this machine."""
    from probescope.collect.host import arch
    from probescope.host_types import kernel_types
    from probescope.sources import kernel_functions
    from probescope.sources.context import ResolveContext

    kernel_functions.refresh()
    return ResolveContext(pid=pid, arch=arch(), types=kernel_types(), max_probes=max_probes)
