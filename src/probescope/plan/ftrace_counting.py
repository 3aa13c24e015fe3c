"""Clauses that the kernel counts by itself: hist triggers of ftrace, where their answer is exactly the program's.

    @[args.next_pid] = count()                hist:keys=next_pid
    @[args.next_comm, cpu] = sum(args.x)      hist:keys=next_comm,common_cpu:vals=x
    @ = lhist(args.count, 0, 1000, 100)       hist:keys=count.buckets=100 if count < 1000, and what is beyond by itself

Not so: ``hist()`` (the kernel's powers of two end where ours begin: a bucket is ``(2**(k-1), 2**k]``), names of threads
(``.execname`` keeps the first name of a number), processes, texts without a fixed size, predicates that its filters
cannot say, maps that the program reads, clears or sets. Source: Documentation/trace/histogram.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.frozen import dataclass
from probescope.ir import expr as e
from probescope.ir.needs import needs
from probescope.ir.program import Clause, Program
from probescope.ir.stmt import MapUpdate
from probescope.ir.walk import clause_nodes
from probescope.model.aggregate import linear_buckets
from probescope.model.plan import Choice
from probescope.model.plan_kernel import CountInKernel
from probescope.model.site import CtxBytes, Site, TracepointAttach
from probescope.model.types import Agg, String, signed, width
from probescope.plan.filters import filtered, integer_field
from probescope.plan.request import PlanRequest

MOST_KEYS = 3
LARGEST = 1 << 17
"""Keys that a histogram has room for at most (TRACING_MAP_BITS_MAX of kernel/trace/tracing_map.h)."""
COST_NS = 250
NEGATIVE = 1 << 63
ON_MAPS = frozenset({"clear", "zero", "print_item"})
"""Actions that ask more of a map than to be printed."""
_KINDS = frozenset({"count", "sum", "avg", "stats", "lhist"})
_ANY = "common_cpu"
"""What is counted by where a map has no key: a histogram has one always."""


class Evaluated(Exception):
    """Why a clause is evaluated instead."""


def counted(program: Program, clause: Clause, sites: tuple[int, ...]) -> tuple[CountInKernel, ...]:
    """The triggers that a clause becomes; ``sites``: their numbers. Raises Evaluated."""
    if not clause.body or clause.variables:
        raise Evaluated("it does more than count")
    others = _used_otherwise(program)
    out: list[CountInKernel] = []
    for site, number in zip(clause.sites, sites, strict=True):
        if not isinstance(site.attach, TracepointAttach):
            raise Evaluated("only tracepoints are counted by the kernel")
        found = filtered(clause.predicate, site)
        if not found.whole:
            raise Evaluated(f"the predicate says more than filters do: {' and '.join(found.rest)}")
        event = f"{site.attach.category}:{site.attach.event}"
        for stmt in clause.body:
            if not isinstance(stmt, MapUpdate):
                raise Evaluated("it does more than count")
            if stmt.map in others:
                raise Evaluated(f"@{stmt.map} is read or changed elsewhere")
            out += _update(program, clause, _At(site, event, number, found.text), stmt)
    return tuple(out)


class Counting:
    """Which clauses of a program the kernel counts, as this host and what is traced allow it. ``follow``: some process
    and what it forks."""

    def __init__(self, program: Program, request: PlanRequest, *, follow: bool) -> None:
        self._program = program
        self._able = request.offers.state("ftrace:hist") == "yes" and not (request.pid or follow)
        self._why: dict[int, str] = {}

    def steps(self, clause: Clause, sites: tuple[int, ...]) -> tuple[CountInKernel, ...]:
        """Nothing for a clause that is evaluated."""
        if not self._able:
            return ()
        try:
            return counted(self._program, clause, sites)
        except Evaluated as e:
            if clause.body and all(isinstance(s, MapUpdate) for s in clause.body):
                self._why[clause.id] = str(e)
            return ()

    def choice(self, clause: Clause, sites: tuple[int, ...]) -> Choice:
        text = filtered(clause.predicate, clause.sites[0]).text
        told = f"the kernel counts by itself{f'; it filters by {text}' if text else ''}"
        return Choice(clause.id, sites, "ftrace", "ftrace hist trigger", told, COST_NS)

    def why_not(self, clause: Clause) -> str:
        """Of a clause that only counts, and is evaluated all the same."""
        why = self._why.get(clause.id, "")
        return f"; not counted by the kernel: {why}" if why else ""


@dataclass(frozen=True, slots=True)
class _At:
    site: Site
    event: str
    number: int
    filter: str


def _used_otherwise(program: Program) -> set[str]:
    """Maps that are more than updated and printed."""
    out: set[str] = set()
    for clause in program.clauses:
        n = needs(clause)
        out |= n.maps_read | n.maps_written
        out |= {node.map for node in clause_nodes(clause) if isinstance(node, e.MapAdd)}
        out |= {program.actions[i].map for i in n.actions if program.actions[i].kind in ON_MAPS}
    return out


def _update(program: Program, clause: Clause, at: _At, stmt: MapUpdate) -> Iterator[CountInKernel]:
    decl = next(m for m in program.maps if m.name == stmt.map)
    agg = decl.value
    if not isinstance(agg, Agg) or agg.kind not in _KINDS or stmt.weight is not None:
        raise Evaluated(f"the kernel has no {agg.kind if isinstance(agg, Agg) else 'such'}() like ours")
    if decl.kind in ("lruhash", "percpulruhash"):
        raise Evaluated("maps that forget are not the kernel's")
    keys = [_key(k, at.site) for k in _parts(stmt.key)]
    size = min(LARGEST, max(128, 1 << (decl.max_entries - 1).bit_length()))
    if agg.kind == "lhist":
        pieces = _linear(agg, stmt, keys, at)
    else:
        value = "" if stmt.value is None else _number(stmt.value, at.site)
        pieces = iter([(keys or [_ANY], value, at.filter, -1)])
    for names, value, condition, bucket in pieces:
        if len(names) > MOST_KEYS:
            raise Evaluated(f"histograms have {MOST_KEYS} keys at most")
        sums = f":vals={value}" if value else ""
        only = f" if {condition}" if condition else ""
        text = f"hist:keys={','.join(names)}{sums}:size={size}{only}"
        yield CountInKernel(clause.id, at.event, text, stmt.map, value, bucket, (at.number,))


def _linear(agg: Agg, stmt: MapUpdate, keys: list[str], at: _At) -> Iterator[tuple[list[str], str, str, int]]:
    """Keys, value, condition and fixed bucket, for what is within the range, above and below."""
    low, high, step = agg.args
    value = stmt.value
    if value is None or low < 0 or low % step or (high - low) % step:
        raise Evaluated("the kernel's buckets are multiples of their width")
    inner = _inner(value)
    if signed(inner.type):
        raise Evaluated("the kernel's buckets have no sign")
    name = _number(inner, at.site)
    if name.startswith("common_"):
        raise Evaluated("the kernel has buckets of fields only")
    negative = signed(value.type) and width(inner.type) == width(value.type)  # to us, what has the highest bit
    before = f"({at.filter}) && " if at.filter else ""
    within = f"{name} < {high}" if not low else f"{name} >= {low} && {name} < {high}"
    above = f"{name} >= {high}" + (f" && {name} < {NEGATIVE}" if negative else "")
    below = [f"{name} < {low}"] * bool(low) + [f"{name} >= {NEGATIVE}"] * negative
    yield [*keys, f"{name}.buckets={step}"], "", f"{before}{within}", -1
    yield keys or [_ANY], "", f"{before}{above}", linear_buckets(low, high, step) - 1
    for condition in below:
        yield keys or [_ANY], "", f"{before}{condition}", 0


def _inner(x: e.Expr) -> e.Expr:
    while isinstance(x, e.Cast):
        x = x.x
    return x


def _parts(key: e.Expr | None) -> tuple[e.Expr, ...]:
    if key is None:
        return ()
    return key.items if isinstance(key, e.Pack) else (key,)


def _key(x: e.Expr, site: Site) -> str:
    if isinstance(x, e.Field) and isinstance(x.type, String):
        found = site.field(x.name)
        if found is not None and isinstance(found.where, CtxBytes) and found.where.size <= x.type.size:
            return x.name
        raise Evaluated(f"args.{x.name} has no fixed size")
    return _number(x, site)


def _number(x: e.Expr, site: Site) -> str:
    name, why = integer_field(x, site)
    if why:
        raise Evaluated(f"a key or value that is no field: {why}")
    return {"CPU": "common_cpu"}.get(name, name)
