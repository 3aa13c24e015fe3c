"""What the compiler is asked for (``Unit``, ``Options``) and what it gives (``Object``). All data."""

from __future__ import annotations

from typing import Literal

from probescope.diagnostics import Span
from probescope.frozen import dataclass
from probescope.model.arch import X86_64, Arch
from probescope.model.features import BASELINE_6_1, Features
from probescope.model.site import Field
from probescope.model.types import TypeTable

ProgKind = Literal[
    "tracepoint",  # ctx: the tracepoint's record
    "raw_tracepoint",  # ctx: u64 args[]
    "tp_btf",  # ctx: u64 args[], pointers in it may be dereferenced directly
    "fentry",  # ctx: u64 args[]
    "fexit",  # ctx: u64 args[], then the return value
    "kprobe",  # ctx: struct pt_regs (kprobe, kretprobe, uprobe, uretprobe, and their multi and session forms)
    "perf_event",  # ctx: struct bpf_perf_event_data, whose first part is struct pt_regs
    "iter",  # ctx: struct bpf_iter__TARGET
    "syscall",  # run once by BPF_PROG_TEST_RUN: begin, end, signals forced into the kernel
]

SiteBy = Literal["constant", "cookie", "syscall"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One kernel program: ``clause`` (its id) at ``sites`` (numbers in ``Program.sites``) through one mechanism.

    ``fields``, ``args``, ``ret``: as in Site, with locations that hold for this mechanism. ``site_by`` says how the
    program learns which site fired: there is one only; the attach cookie holds the number; or by the system call's
    number in ``syscalls`` (pairs number, site): other system calls return at once. ``pid``: only this process (0:
    any). ``in_user``: the context's memory is that of user space (uprobes): a bare pointer argument points there.
    ``exit``: of a kprobe session, what runs in the same program when the functions return; its sites have numbers that
    are ``site_shift`` more than the cookie, which is the entry's. ``title``: the program's name in the kernel."""

    name: str
    clause: int
    kind: ProgKind
    sites: tuple[int, ...]
    fields: tuple[Field, ...] = ()
    args: tuple[Field, ...] | None = None
    ret: Field | None = None
    site_by: SiteBy = "constant"
    syscalls: tuple[tuple[int, int], ...] = ()
    syscall_exit: bool = False  # the context is that of sys_exit: the number comes from the saved registers
    pid: int = 0
    in_user: bool = False
    sleepable: bool = False
    exit: Unit | None = None
    site_shift: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """``gate``: programs do nothing until the session sets the ``active`` word of the globals. ``cpus``: possible CPUs.
    ``cpid``: of the child given by -c. ``ring_bytes``: a power of two, a multiple of the page. ``namespace``:
    (device, inode) of probescope's own pid namespace when that is not the initial one, else None."""

    features: Features = BASELINE_6_1
    arch: Arch = X86_64
    types: TypeTable | None = None
    cpus: int = 1
    gate: bool = False
    ring_bytes: int = 1 << 20
    stack_entries: int = 16384
    cpid: int = 0
    namespace: tuple[int, int] | None = None
    max_stack: int = 127  # sysctl kernel.perf_event_max_stack: deeper stacks are cut
    ring_wakeup: bool = True  # False: only the record of exit() wakes the reader, which polls
    per_cpu_offset: int = 0  # the kernel's address of __per_cpu_offset, 0 if not known
    unwind: bool = False  # user stacks by unwind tables, where user space gives some (model/unwind.py)


MapRole = Literal["state", "ring", "late", "stacks", "scratch", "globals", "counters", "constants", "unwound", "unwind"]

# The globals map: an array of one value, these u64 words by index.
GLOBAL_ACTIVE = 0  # not 0 from activation on
GLOBAL_START = 1  # CLOCK_BOOTTIME nanoseconds at activation: the zero of `elapsed`
GLOBAL_STOP = 2  # not 0: exit was asked; programs do nothing more
GLOBAL_WALL = 3  # nanoseconds to add to CLOCK_BOOTTIME for CLOCK_REALTIME
GLOBAL_TAI = 4  # nanoseconds to add to CLOCK_BOOTTIME for CLOCK_TAI, where the kernel has no helper for it
GLOBAL_ZERO = 7  # always 0, which the verifier cannot know
GLOBAL_WORDS = 8

# The late map: an array of one value, u64 words. Word 0 is not 0 when something was put off: what clears, prints or
# ends and found the ring full. Then for each item of ``Object.late`` (numbers of actions) LATE_WORDS: how often, and
# the values of the last time.
LATE_WORDS = 3


@dataclass(frozen=True, slots=True)
class MapSpec:
    """A kernel map to create. ``type`` is the number of enum bpf_map_type. ``state``: the MapDecl's name for role
    state."""

    name: str
    role: MapRole
    type: int
    key_size: int
    value_size: int
    max_entries: int
    flags: int = 0
    state: str = ""
    per_cpu: bool = False
    content: bytes = b""  # constants: the value at key 0, written before the map is frozen
    inner: MapSpec | None = None  # of maps of maps: what those in it are like, but for their size


@dataclass(frozen=True, slots=True)
class Reloc:
    """``insn`` (an index of 8-byte units) needs a number only known at load time: a map's descriptor (``map``,
    ``map_value``) or a kernel function's BTF id (``kfunc``)."""

    insn: int
    kind: Literal["map", "map_value", "kfunc"]
    name: str


@dataclass(frozen=True, slots=True)
class ProgSpec:
    """A program to load. ``lines``: for each instruction index from which a span holds, the span, ascending.
    ``func_info``: (instruction index, BTF type id) pairs into the Object's BTF, empty where none is needed."""

    name: str
    kind: ProgKind
    unit: Unit
    insns: bytes
    relocs: tuple[Reloc, ...] = ()
    func_info: tuple[tuple[int, int], ...] = ()
    lines: tuple[tuple[int, Span], ...] = ()
    functions: tuple[tuple[int, str], ...] = ()  # instruction index -> name, for listings
    stack_bytes: int = 0


CounterKind = Literal[
    "ring_full",
    "map_full",
    "read",
    "lookup",  # only where the program's settings say so
    "div0",
    "bounds",
    "outside",
    "loop",
    "stack",
    "scratch",
    "unwind_late",
    "unwind_table",
    "unwind_rule",
    "unwind_read",
]


@dataclass(frozen=True, slots=True)
class Counter:
    """What was lost or went wrong, and where: the u64 at this one's place in ``Object.counters`` of the counters map,
    which is an array of one value, all words in a row (``read_counters`` of bpf/storage.py). Programs add to it
    atomically, and only on their failing paths."""

    kind: CounterKind
    clause: int = -1
    map: str = ""
    span: Span = Span()
    helper: str = ""  # of the kernel, that failed


@dataclass(frozen=True, slots=True)
class Object:
    maps: tuple[MapSpec, ...]
    programs: tuple[ProgSpec, ...]
    counters: tuple[Counter, ...] = ()
    btf: bytes = b""
    late: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()  # choices worth telling (explain): bpf_loop or unrolled, per CPU or shared...

    def map(self, name: str) -> MapSpec:
        return next(m for m in self.maps if m.name == name)
