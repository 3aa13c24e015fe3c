"""What was found: a ``Site`` is what a probe turned out to be on this host.

It says how to attach (``Attach``, data for the planner), what the probe offers (fields with types and the place where
each is found), and why it cannot be used, if so. Locations are facts of one attach mechanism; the planner may
exchange them when it chooses another (a syscall tracepoint's ``filename`` becomes the second argument register of the
raw tracepoint).
"""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass, field
from probescope.model.types import Type

# --- where a value is found -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Location:
    """Base of all places a value may be taken from when the probe fires."""


@dataclass(frozen=True, slots=True)
class CtxLoad(Location):
    """``size`` bytes at ``offset`` of the context (a tracepoint's record, a perf event's data)."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class CtxBytes(Location):
    """An array or struct of ``size`` bytes that lies in the context itself at ``offset``."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class DataLoc(Location):
    """A ``__data_loc`` word at ``offset``: low half the data's offset in the record, high half its length in bytes.
    With ``relative`` the offset counts from the end of the word (``__rel_loc``, kernel 5.19)."""

    offset: int
    relative: bool = False


@dataclass(frozen=True, slots=True)
class CtxArg(Location):
    """The ``index``-th 64-bit slot of the context: raw tracepoints, BTF tracepoints, fentry, fexit."""

    index: int


@dataclass(frozen=True, slots=True)
class RetSlot(Location):
    """fexit: the return value, in the slot after the ``nargs`` arguments; where that number is not known (-1), as the
    kernel's helper gives it."""

    nargs: int


@dataclass(frozen=True, slots=True)
class RegArg(Location):
    """The ``index``-th integer argument by the calling convention; past the registers, on the stack."""

    index: int


@dataclass(frozen=True, slots=True)
class RegRet(Location):
    """The integer return value by the calling convention."""


@dataclass(frozen=True, slots=True)
class Reg(Location):
    """A register by its kernel name (``di``, ``ax``; ``x0`` on AArch64), ``size`` low bytes of it, sign-extended if
    ``signed``."""

    name: str
    size: int = 8
    signed: bool = False


@dataclass(frozen=True, slots=True)
class RegMem(Location):
    """User memory at ``reg + index * scale + offset``: a USDT operand such as ``-4@-20(%rbp)``."""

    reg: str
    offset: int
    size: int
    signed: bool = False
    index: str = ""
    scale: int = 1


@dataclass(frozen=True, slots=True)
class MemBytes(Location):
    """A struct or array of ``size`` bytes in user memory at ``reg + offset``: passed on the stack, or by its
    address."""

    reg: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class RegBytes(Location):
    """A struct or array whose bytes are in registers: (register, bytes of it), in order."""

    parts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Constant(Location):
    """The same value at every hit: a USDT operand such as ``4@$5``."""

    value: int


@dataclass(frozen=True, slots=True)
class SyscallArg(Location):
    """The ``index``-th system call argument out of the ``struct pt_regs`` that ``raw_syscalls:sys_enter`` passes
    first."""

    index: int


@dataclass(frozen=True, slots=True)
class Field:
    """A named value that the probe offers."""

    name: str
    type: Type
    where: Location


# --- how to attach
# -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attach:
    """Base: what the planner needs to know to attach here."""


@dataclass(frozen=True, slots=True)
class TracepointAttach(Attach):
    category: str
    event: str
    id: int  # the number in events/CATEGORY/EVENT/id
    syscall: int = -1  # number of the system call for syscalls:sys_enter_X and sys_exit_X, else -1


@dataclass(frozen=True, slots=True)
class RawTracepointAttach(Attach):
    event: str
    btf_id: int = 0  # of the typedef btf_trace_EVENT; 0: none known
    module: str = ""


@dataclass(frozen=True, slots=True)
class KprobeAttach(Attach):
    symbol: str
    offset: int = 0
    address: int = 0  # used when symbol is empty
    ret: bool = False
    module: str = ""
    traceable: bool = False  # in available_filter_functions: kprobe_multi can take it

    @property
    def name(self) -> str:
        """``symbol`` with its module, as the kernel wants it: ``nf_tables:nft_do_chain``."""
        return f"{self.module}:{self.symbol}" if self.module and self.symbol else self.symbol


@dataclass(frozen=True, slots=True)
class FentryAttach(Attach):
    """``program``: the id of the BPF program whose function it is, and whose BTF ``btf_id`` counts in; 0: the kernel's
    own, or the module's."""

    func: str
    btf_id: int
    module: str = ""  # "" or vmlinux: the kernel itself
    ret: bool = False
    program: int = 0


@dataclass(frozen=True, slots=True)
class UprobeAttach(Attach):
    """``offset`` is a file offset. ``ref_ctr`` is the file offset of a USDT semaphore, 0 for none. ``pid`` -1: all
    processes."""

    path: str
    offset: int
    ret: bool = False
    ref_ctr: int = 0
    pid: int = -1
    slow: bool = False  # its first instruction has to be single-stepped: ten times the cost


@dataclass(frozen=True, slots=True)
class PerfAttach(Attach):
    """A perf event that fires by count or time: profile, software, hardware, watchpoint. ``type``, ``config`` as in
    perf_event_attr. Exactly one of ``period`` (events, or ns for clocks) and ``frequency`` (Hz) is not 0."""

    type: int
    config: int
    period: int = 0
    frequency: int = 0
    pid: int = -1
    every_cpu: bool = True
    bp_addr: int = 0
    bp_len: int = 0
    bp_type: int = 0


@dataclass(frozen=True, slots=True)
class IntervalAttach(Attach):
    """Once per period on one CPU; user space can do it too."""

    period_ns: int


@dataclass(frozen=True, slots=True)
class IterAttach(Attach):
    target: str
    pin: str = ""


@dataclass(frozen=True, slots=True)
class UserAttach(Attach):
    """Fired by probescope itself: begin, end, self:signal:NAME, test, bench."""

    kind: Literal["begin", "end", "signal", "test", "bench"]
    name: str = ""


@dataclass(frozen=True, slots=True)
class RecordedAttach(Attach):
    """Events of a recording: indices into ``Recording.events`` of the kinds that fire the site."""

    kinds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """``name`` is the canonical full name, as the ``probe`` builtin prints it. ``fields`` are what ``args`` offers,
    by name; ``args`` by position where the source defines them (USDT, raw tracepoints): ``None`` means by the calling
    convention. ``reason`` says why the site cannot be used here; empty if it can. ``doubt``: a warning, where it may
    turn out so when it is attached."""

    name: str
    source: str
    attach: Attach
    fields: tuple[Field, ...] = ()
    args: tuple[Field, ...] | None = None
    ret: Field | None = None
    func: str = ""
    pid: int = -1
    reason: str = ""
    doubt: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def field(self, name: str) -> Field | None:
        return next((f for f in self.fields if f.name == name), None)

    @property
    def shape(self) -> tuple[object, ...]:
        """Sites of equal shape offer the same names and types at the same places: one compiled program serves them
        all."""
        return (self.source, type(self.attach).__name__, self.fields, self.args, self.ret)
