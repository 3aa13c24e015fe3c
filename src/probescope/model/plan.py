"""What will be done: a ``Plan`` is collector, mechanism and reasons for every clause, and the exact kernel steps, as
data.

``explain`` prints it, ``collect/execute.py`` carries it out, and nothing else decides. A step names programs and maps
of the compiled object by their names; numbers of sites are their places in ``Program.sites``.
"""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass, field


@dataclass(frozen=True, slots=True)
class Rejected:
    """A mechanism that could have served and does not, with the reason in words."""

    mechanism: str
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Which mechanism serves some sites of a clause, and why. ``cost_ns`` is the usual cost of one hit, 0 if not
    known. ``joined``: these sites are the returns of functions whose entries another choice serves, with one program
    and one link for both."""

    clause: int
    sites: tuple[int, ...]
    collector: Literal["bpf", "user", "perf", "ftrace", "replay"]
    mechanism: str
    reason: str
    cost_ns: int = 0
    rejected: tuple[Rejected, ...] = ()
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do to the kernel. ``str()`` is how ``explain`` shows it. Attachments have ``sites``, the numbers of
    those that they serve: when one fails, that is how people hear of it."""


@dataclass(frozen=True, slots=True)
class Load(Step):
    """``program`` of the object. ``prog_type`` and ``attach_type`` are numbers of the uapi enums; ``btf_target``
    names what attach_btf_id stands for (``btf_trace_sys_enter``, ``vfs_read``) and ``btf_id`` is it; ``module``:
    whose BTF. ``of_program``: the id of the BPF program whose function the target is, and whose BTF counts."""

    program: str
    prog_type: int
    attach_type: int = 0
    btf_target: str = ""
    btf_id: int = 0
    module: str = ""
    sleepable: bool = False
    of_program: int = 0

    def __str__(self) -> str:
        target = f" for {self.btf_target}" if self.btf_target else ""
        target += f" of program {self.of_program}" if self.of_program else ""
        return f"bpf(BPF_PROG_LOAD) {self.program}{target}"


@dataclass(frozen=True, slots=True)
class AttachTracepoint(Step):
    """perf_event_open(PERF_TYPE_TRACEPOINT) and a BPF link to it, or PERF_EVENT_IOC_SET_BPF before 5.15."""

    program: str
    event: str  # category:event
    id: int
    cookie: int = 0
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"perf_event_open(tracepoint {self.event}, id {self.id}) -> link {self.program}"


@dataclass(frozen=True, slots=True)
class AttachRaw(Step):
    """BPF_RAW_TRACEPOINT_OPEN by name; ``cookie`` None: none asked."""

    program: str
    event: str
    cookie: int | None = None
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"bpf(BPF_RAW_TRACEPOINT_OPEN) {self.event} -> {self.program}"


@dataclass(frozen=True, slots=True)
class AttachTracing(Step):
    """A BPF link of a program that was loaded for its target: tp_btf, fentry, fexit."""

    program: str
    attach_type: int
    target: str
    cookie: int = 0
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"bpf(BPF_LINK_CREATE) {self.target} -> {self.program}"


@dataclass(frozen=True, slots=True)
class AttachKprobe(Step):
    """One kprobe through the kprobe PMU: perf_event_open and a link (or ioctl)."""

    program: str
    symbol: str
    offset: int = 0
    address: int = 0
    ret: bool = False
    cookie: int = 0
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        place = f"{self.symbol}+{self.offset:#x}" if self.symbol else f"{self.address:#x}"
        return f"perf_event_open(k{'ret' if self.ret else ''}probe {place}) -> link {self.program}"


@dataclass(frozen=True, slots=True)
class AttachKprobeMulti(Step):
    """Many functions in one link; with ``session`` their entries and their returns."""

    program: str
    symbols: tuple[str, ...]
    cookies: tuple[int, ...] = ()
    ret: bool = False
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)
    session: bool = False

    def __str__(self) -> str:
        kind = "kprobe_session" if self.session else "kprobe_multi"
        return f"bpf(BPF_LINK_CREATE {kind}) {_few(self.symbols)} -> {self.program}"


@dataclass(frozen=True, slots=True)
class AttachUprobe(Step):
    """One uprobe through the uprobe PMU."""

    program: str
    path: str
    offset: int
    ref_ctr: int = 0
    ret: bool = False
    pid: int = -1
    cookie: int = 0
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        kind = "uretprobe" if self.ret else "uprobe"
        return f"perf_event_open({kind} {self.path}+{self.offset:#x}) -> link {self.program}"


@dataclass(frozen=True, slots=True)
class AttachUprobeMulti(Step):
    """Many places of one file in one link (kernel 6.6)."""

    program: str
    path: str
    offsets: tuple[int, ...]
    ref_ctrs: tuple[int, ...] = ()
    cookies: tuple[int, ...] = ()
    ret: bool = False
    pid: int = -1
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        kind = "uretprobe" if self.ret else "uprobe"
        places = _few(tuple(f"+{o:#x}" for o in self.offsets))
        return f"bpf(BPF_LINK_CREATE uprobe_multi) {kind} {self.path} {places} -> {self.program}"


@dataclass(frozen=True, slots=True)
class AttachPerf(Step):
    """A perf event with a BPF program, on each of ``cpus`` (-1: wherever the process runs)."""

    program: str
    type: int
    config: int
    period: int
    frequency: int
    cpus: tuple[int, ...]
    pid: int = -1
    bp_addr: int = 0
    bp_len: int = 0
    bp_type: int = 0
    about: str = ""
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        on = "the process" if self.cpus == (-1,) else f"{len(self.cpus)} CPU(s)"
        return (
            f"perf_event_open({self.about or f'type {self.type} config {self.config}'}) on {on} -> link {self.program}"
        )


@dataclass(frozen=True, slots=True)
class AttachIter(Step):
    """A BPF iterator: created, then read to its end once at the start."""

    program: str
    target: str
    pin: str = ""
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"bpf(BPF_LINK_CREATE iter {self.target}) -> {self.program}"


@dataclass(frozen=True, slots=True)
class RunOnce(Step):
    """BPF_PROG_TEST_RUN of a syscall program: begin, end or a signal inside the kernel (``--via bpf``), or a test or
    bench."""

    program: str
    when: Literal["begin", "end", "signal", "test", "bench"]
    name: str = ""

    def __str__(self) -> str:
        return f"bpf(BPF_PROG_TEST_RUN) {self.program} at {self.when}{' ' + self.name if self.name else ''}"


@dataclass(frozen=True, slots=True)
class UserRun(Step):
    """A clause that probescope evaluates itself, against the same maps: at begin, at end, on a signal, or every
    ``period_ns``."""

    clause: int
    site: int
    when: Literal["begin", "end", "signal", "interval", "test", "bench"]
    period_ns: int = 0
    name: str = ""

    def __str__(self) -> str:
        how = {"interval": f"every {self.period_ns / 1e9:g} s", "signal": f"on {self.name}"}.get(
            self.when, f"at {self.when}"
        )
        return f"run clause {self.clause} in probescope itself, {how}"


@dataclass(frozen=True, slots=True)
class ReadRecording(Step):
    """The events of a file, of which ``events`` (names) fire probes."""

    path: str
    events: tuple[str, ...]

    def __str__(self) -> str:
        return f"read {self.path}: {_few(self.events)}"


@dataclass(frozen=True, slots=True)
class SampleEvent(Step):
    """A perf event whose samples are read from rings. Numbers as in perf_event_attr; ``path`` and ``symbol`` are of a
    uprobe or kprobe, whose PMU is known by name (``pmu``). ``parts``: what each sample brings along, by the names of
    perf_event_sample_format in small letters. ``filter``: as the kernel takes it."""

    about: str
    type: int
    config: int = 0
    period: int = 1
    frequency: int = 0
    parts: tuple[str, ...] = ()
    filter: str = ""
    pid: int = 0
    pmu: str = ""
    symbol: str = ""
    path: str = ""
    offset: int = 0
    address: int = 0
    ref_ctr: int = 0
    ret: bool = False
    bp_addr: int = 0
    bp_len: int = 0
    bp_type: int = 0
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        of = f" of process {self.pid}" if self.pid else ""
        ring = f"perf_event_open({self.about}){of} on each CPU -> ring: {', '.join(self.parts)}"
        return f"{ring}; ioctl(PERF_EVENT_IOC_SET_FILTER) {self.filter}" if self.filter else ring


@dataclass(frozen=True, slots=True)
class MakeInstance(Step):
    """Buffers and switches of tracefs of our own. ``clock``: of the times of its events. ``buffer_kb``: of each CPU.
    ``pid``: only events of its threads, 0 for all. ``follow``: only events of that process, or of the program of -c,
    and of what it forks. ``stacks``: the kernel's, with each event."""

    clock: str
    buffer_kb: int
    pid: int = 0
    follow: bool = False
    stacks: bool = False

    def __str__(self) -> str:
        whose = f"threads of {self.pid}" if self.pid else "the program of -c" if self.follow else ""
        only = f"; set_event_pid <- {whose}; trace_options <- event-fork" if whose else ""
        only += "; trace_options <- stacktrace" if self.stacks else ""
        return f"mkdir instances/{OWN}; trace_clock <- {self.clock}; buffer_size_kb <- {self.buffer_kb}{only}"


OWN = "probescope_PID_NS_run"
"""What our instances and groups of events are called: whose they are is known when they are made."""


@dataclass(frozen=True, slots=True)
class DefineEvent(Step):
    """A dynamic event of tracefs: ``kind`` names the file, ``place`` and ``args`` (fetch arguments) are as it takes
    them."""

    name: str
    kind: Literal["kprobe", "uprobe"]
    place: str
    ret: bool = False
    args: tuple[str, ...] = ()
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def definition(self, group: str) -> str:
        return " ".join((f"{'r' if self.ret else 'p'}:{group}/{self.name}", self.place, *self.args))

    def __str__(self) -> str:
        return f"{self.kind}_events <- {self.definition(OWN)}"


@dataclass(frozen=True, slots=True)
class TraceEvent(Step):
    """An event of the instance, read from its buffers. ``event`` is CATEGORY:EVENT, or the name of a ``DefineEvent``.
    ``filter``: as the kernel takes it. ``about``: what it is for, where no site asks for it."""

    event: str
    filter: str = ""
    about: str = ""
    sites: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        category, _, name = self.event.rpartition(":")
        folder = f"events/{category or OWN}/{name}"
        only = f"{folder}/filter <- {self.filter}; " if self.filter else ""
        return f"{only}{folder}/enable <- 1 -> per_cpu/cpu*/trace_pipe_raw{f' ({self.about})' if self.about else ''}"


@dataclass(frozen=True, slots=True)
class RunOnEvents(Step):
    """A clause that probescope evaluates for the events of a stream: over columns of many at once, or, where
    ``by_rows`` says why, one after the other. ``pid``: only events of this process, 0 for all."""

    clause: int
    by_rows: str = ""
    pid: int = 0

    def __str__(self) -> str:
        how = f"one event after the other: {self.by_rows}" if self.by_rows else "over columns of many events at once"
        of = f", those of process {self.pid}" if self.pid else ""
        return f"run clause {self.clause} on its events{of} in probescope itself, {how}"


@dataclass(frozen=True, slots=True)
class Plan:
    """``steps`` in the order of execution: loads, then attachments, then what user space runs. ``notes`` go to
    ``explain``, ``warnings`` to the user always."""

    collector: str
    choices: tuple[Choice, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()  # names, by number

    @property
    def probes(self) -> int:
        """How many sites are served; entry and return of a function in one session are one."""
        return sum(len(c.sites) for c in self.choices if not c.joined)


def _few(names: tuple[str, ...], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
