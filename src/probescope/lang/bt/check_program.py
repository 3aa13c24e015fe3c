"""The state of one compilation that all clauses share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from probescope.diagnostics import Source, Span
from probescope.frozen import dataclass, field
from probescope.lang.bt.check_maps import Maps
from probescope.lang.bt.check_settings import settings_of, values_of
from probescope.lang.bt.config import Config
from probescope.lang.bt.frontend import Script, ScriptOptions
from probescope.lang.bt.types_c import CTypes
from probescope.model.arch import X86_64, Arch
from probescope.model.probe import ProbeSpec
from probescope.model.site import Site
from probescope.model.types import Enum, Type, TypeTable

if TYPE_CHECKING:
    from probescope.ir.program import Settings
    from probescope.lang.bt.lower_unit import LowerExpr, LowerStmt, Unit


class Programs(TypeTable, Protocol):
    """Types of traced programs, by their debug information."""

    def named_in(self, path: str, name: str) -> Type | None:
        """What a C name stands for in a binary; ``None`` if that does not know it."""
        ...

    def enumerator_in(self, path: str, name: str) -> tuple[Enum, int] | None:
        """A constant of an enumeration in a binary."""
        ...


class Resolve(Protocol):
    def __call__(self, spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
        """The sites that a probe stands for, at least one; raises ``ProbeError`` if there is none. Without
        ``need_fields`` what they offer need not be looked up."""
        ...


@dataclass(frozen=True, slots=True)
class UserSymbol:
    """``address`` as linked, ``size`` in bytes (0: unknown). ``relocatable``: the file is mapped anywhere, as
    libraries and most programs are; ``probe_address`` then gives the linked address of a file offset, or ``None``
    outside of code."""

    address: int
    size: int = 0
    relocatable: bool = False
    probe_address: Callable[[int], int | None] | None = None


def _none(_: str) -> int | None:
    return None


def _no_symbol(_path: str, _name: str) -> UserSymbol | None:
    return None


def _nothing(_: Site) -> str:
    return ""


def _no_kfunc(_name: str, _source: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Environment:
    """What a script is compiled against: this host, the command line, and the way to look things up. Everything is
    asked only when a script needs it.

    ``resolve``: probes to sites. ``types``: the kernel's C types, which should load itself when first asked.
    ``programs``: those of the programs that are probed.
    ``kaddr``, ``uaddr``, ``cgroupid``: addresses of symbols and ids of cgroups; ``None`` where there is none.
    ``kfunc``: whether a kernel function exists, and may be called from such a probe (an empty one: at all).
    ``params`` are ``$1``..., ``options`` the named parameters, ``environment`` the process's variables. ``child``:
    the command of ``-c``; ``pid``: of ``-p``, else 0. ``unwinds``: processes were named whose stacks are
    to be unwound. ``namespace``: (device, inode) of probescope's pid namespace
    when that is not the initial one. ``mode``: which of test and bench probes run; ``probe_filter``: whether a probe is
    wanted. ``unserved``: why a site cannot be used here, empty if it can; asked where the script offers another."""

    resolve: Resolve
    types: TypeTable | None = None
    programs: Programs | None = None
    kaddr: Callable[[str], int | None] = _none
    uaddr: Callable[[str, str], UserSymbol | None] = _no_symbol
    cgroupid: Callable[[str], int | None] = _none
    kfunc: Callable[[str, str], bool] = _no_kfunc
    script: ScriptOptions = field(default_factory=ScriptOptions)
    child: str = ""
    pid: int = 0
    unwinds: bool = False
    unsafe: bool = False
    arch: Arch = X86_64
    namespace: tuple[int, int] | None = None
    ncpus: int = 1
    mode: str = ""
    probe_filter: Callable[[str], object] | None = None
    unserved: Callable[[Site], str] = _nothing


class ProgramState:
    """Everything that units share; ``exprs`` and ``stmts`` are the tables of lowering functions by node."""

    def __init__(
        self, script: Script, env: Environment, exprs: Mapping[type, LowerExpr], stmts: Mapping[type, LowerStmt]
    ) -> None:
        tree = script.program
        self.source: Source = script.source
        self.env = env
        self.config: Config = script.config
        self.settings: Settings = settings_of(script.config)
        self.types = CTypes(tree.declarations, env.types, env.programs)
        self.maps = Maps()
        self.subprogs = {s.name: s for s in tree.subprogs}
        self.exprs = dict(exprs)
        self.stmts = dict(stmts)
        self.needs_unsafe: set[str] = set()
        self.places: dict[tuple[Span, str], Span] = {}  # (clause, name of a site) -> where its probe is written
        self.chosen: dict[Span, tuple[str, ...]] = {}  # clause -> which of its fallback probes were taken, in words
        self.queue: deque[Unit] = deque()

    def config_values(self) -> list[tuple[str, int | bool | str]]:
        return values_of(self.config)
