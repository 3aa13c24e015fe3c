"""The program: clauses, state, and the tables they refer to."""

from __future__ import annotations

from typing import Literal

from probescope.diagnostics import NOWHERE, Source, Span
from probescope.frozen import dataclass, field
from probescope.ir.expr import Expr
from probescope.ir.stmt import Stmt
from probescope.model.format import Format
from probescope.model.site import Site
from probescope.model.types import Agg, Enum, Type, TypeTable

MapKind = Literal["auto", "hash", "lruhash", "percpuhash", "percpulruhash"]


@dataclass(frozen=True, slots=True)
class MapDecl:
    """A map by its name without ``@`` (the anonymous one is empty). ``key`` None: a single value.
    ``kind`` auto lets the collector choose (per CPU for aggregations). ``labels`` names the items of the key, for
    tables; empty ones have no name."""

    name: str
    key: Type | None
    value: Type | Agg
    kind: MapKind = "auto"
    max_entries: int = 4096
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False, repr=False)
    own: bool = field(default=False, compare=False, repr=False)  # made by probescope: nobody sees it


@dataclass(frozen=True, slots=True)
class Variable:
    """A scratch variable of one clause."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Clause:
    """Sites of equal shape (``Site.shape``, as far as the body asks) and what to do when one fires.

    A clause whose sites are all ``UserAttach`` or ``IntervalAttach`` and whose needs user space can meet may run on
    evaluate/.
    """

    id: int
    sites: tuple[Site, ...]
    body: tuple[Stmt, ...]
    predicate: Expr | None = None
    variables: tuple[Variable, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    points: tuple[Span, ...] = field(default=(), compare=False, repr=False)  # where each site is written, if known
    chosen: tuple[str, ...] = field(default=(), compare=False, repr=False)  # of `a ?? b`: which, and why, in words
    own: bool = field(default=False, compare=False, repr=False)  # made by probescope, not written in the program


ActionKind = Literal[
    "printf",  # format, values -> text
    "errorf",  # params: where it is in the script; text about the macros that it came out of
    "warnf",
    "debugf",
    "print",  # one value, with a newline
    "print_map",  # map; values: top (U32), div (U64); 0: not given; format: of each entry, if any
    "print_item",  # map, key, value: `print(@x[k])`
    "clear",  # map
    "zero",  # map
    "time",  # params[0]: strftime format; the time is that of printing
    "join",  # params[0]: separator; values: strings, empty ones at the end left out
    "cat",  # format, values -> path of a file to print
    "system",  # format, values -> command for the shell
    "exit",  # values: exit code (I64)
    "cgroup_made",  # values: id of a cgroup, its path: nothing is printed, names are remembered
    "skboutput",  # params[0]: pcap path; values: Buffer, length
]


@dataclass(frozen=True, slots=True)
class Action:
    """What user space does on one kind of record; ``types`` are those of the record's values, in order.
    ``labels`` names the values where the language knows names (JSON, tables)."""

    kind: ActionKind
    types: tuple[Type, ...] = ()
    format: Format | None = None
    map: str = ""
    params: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and choices of one program; the language's own configuration is turned into these."""

    max_strlen: int = 1024
    max_map_keys: int = 4096
    max_cat_bytes: int = 10240
    max_programs: int = 1024  # that are loaded into the kernel
    on_stack_limit: int = 32
    ring_bytes: int = 0  # 0: chosen by the collector
    stack_mode: str = "bpftrace"
    unwind: Literal["auto", "always", "off"] = "auto"  # user stacks by unwind tables; auto: without frame pointers
    print_maps_at_exit: bool = True
    map_format: str = "lines"  # how text views show maps: lines, table, csv, tsv
    license: str = "GPL"
    max_loop: int = 1 << 20
    truncation_mark: str = ".."
    cpp_demangle: bool = True
    lazy_symbols: bool = False
    count_misses: bool = False  # count reads of map entries that are not there
    show_debug_info: bool = True  # source lines and inlined functions of stacks, where they are known
    missing_probes: Literal["error", "warn", "ignore"] = "error"  # those that the kernel refuses


@dataclass(frozen=True, slots=True)
class Program:
    """``enums`` are the constants of every Enum type that a printed value may have. ``needs_unsafe`` names the
    actions that ask for ``--unsafe``. ``source`` is the text that spans refer to. ``types`` knows the structs that
    values of this program may have: the kernel's, and those of the program's own text."""

    clauses: tuple[Clause, ...]
    maps: tuple[MapDecl, ...] = ()
    actions: tuple[Action, ...] = ()
    settings: Settings = Settings()
    enums: tuple[tuple[Enum, tuple[tuple[str, int], ...]], ...] = ()
    needs_unsafe: tuple[str, ...] = ()
    source: Source | None = field(default=None, compare=False, repr=False)
    types: TypeTable | None = field(default=None, compare=False, repr=False)

    def map(self, name: str) -> MapDecl:
        return next(m for m in self.maps if m.name == name)

    @property
    def shown_maps(self) -> tuple[MapDecl, ...]:
        """Those that the program itself has."""
        return tuple(m for m in self.maps if not m.own)

    @property
    def own_sites(self) -> int:
        """How many sites the program does not name itself."""
        return sum(len(c.sites) for c in self.clauses if c.own)

    @property
    def sites(self) -> tuple[Site, ...]:
        """All sites in order of clauses; a site's number (``probe`` and ``func`` opaques) is its place here."""
        return tuple(s for c in self.clauses for s in c.sites)
