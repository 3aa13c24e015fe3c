"""Programs that measure from one event to another, with the pairing left to the kernel: a synthetic event takes the
place of both.

    tracepoint:sched:sched_waking { @s[args.pid] = nsecs; }                          hist:keys=pid:ts=common_timestamp
    tracepoint:sched:sched_switch /@s[args.next_pid]/ {                              hist:keys=next_pid:...onmatch(...)
        @h[args.next_comm] = hist(nsecs - @s[args.next_pid]);        becomes         @h[args.by0] = hist(args.latency);
        delete(@s[args.next_pid]); }
    end { clear(@s); }

Only where that is all that happens to the map: set to ``nsecs`` alone, read once by its end, taken away, and cleared at
the end (or it would be printed). Predicates are the kernel's filters, or it is not done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from probescope.collect.latency.definition import Definition, Impossible, define
from probescope.frozen import fields, replace
from probescope.ir import expr as e
from probescope.ir.needs import needs
from probescope.ir.program import Clause, Program
from probescope.ir.stmt import Discard, MapSet, Stmt
from probescope.ir.walk import clause_nodes, walk
from probescope.model.latency import Asked, By, End
from probescope.model.plan_kernel import PairInKernel
from probescope.model.recording import EventType
from probescope.model.site import CtxLoad, Field, Site, TracepointAttach
from probescope.model.types import U64
from probescope.plan.filters import filtered, integer_field
from probescope.plan.ftrace import SYNTHETIC
from probescope.plan.ftrace_counting import ON_MAPS

Describe = Callable[[str], EventType]
"""How the kernel describes ``system:event``."""
_RECORD = {"CPU": "cpu", "common_pid": "tid"}
ON_MAP = ON_MAPS | {"print_map"}
_CONTEXT = frozenset({"nsecs", "tid", "cpu", "comm", "pid"})


def paired(program: Program, describe: Describe) -> tuple[Program, tuple[PairInKernel, ...]]:
    """The program with what the kernel can pair taken out of it; unchanged, and nothing, where there is nothing."""
    steps: list[PairInKernel] = []
    refused: set[str] = set()
    while (found := _start(program, refused)) is not None:
        start, name = found
        try:
            program, step = _pair(program, start, name, describe, len(steps))
        except Impossible:
            refused.add(name)
            continue
        steps.append(step)
    return program, tuple(steps)


def _start(program: Program, refused: set[str]) -> tuple[Clause, str] | None:
    """A clause that does nothing but keep the time in a map."""
    for c in program.clauses:
        only = c.body[0] if len(c.body) == 1 else None
        if isinstance(only, MapSet) and only.map not in refused and _is_now(only.value):
            return c, only.map
    return None


def _is_now(x: e.Expr) -> bool:
    return isinstance(x, e.Context) and x.name == "nsecs" and not x.arg


def _pair(program: Program, start: Clause, name: str, describe: Describe, number: int) -> tuple[Program, PairInKernel]:
    end = _end(program, start, name)
    stored = start.body[0]
    assert isinstance(stored, MapSet)
    rest = [p for p in _parts(end.predicate) if not _asks(p, name)]
    condition = _joined(rest)
    filters = tuple(_filter(p, c.sites[0]) for p, c in ((start.predicate, start), (condition, end)))
    key, body = _read(end, name)
    used = sorted(needs(end).fields - _only_in(end, key))
    sides = [End(c.sites[0].name, "", tuple(_names(k, c.sites[0]))) for c, k in ((start, stored.key), (end, key))]
    if not needs(end).context <= _CONTEXT:
        raise Impossible("it asks for more than a record tells")
    asked = Asked(sides[0], sides[1], tuple(By(f) for f in used))
    found = define(asked, describe(sides[0].event), describe(sides[1].event), (filters[0], filters[1]))
    event = f"pair_{number}"
    made = replace(
        end,
        sites=(_site(end.sites[0], event, used),),
        predicate=None,
        body=tuple(_swapped(s, name, dict(zip(used, found.by, strict=True))) for s in body),
    )
    left = (made if c is end else c for c in program.clauses if c is not start)
    clauses = tuple(replace(c, id=i) for i, c in enumerate(left))
    return replace(program, clauses=clauses), _step(event, found)


def _step(event: str, found: Definition) -> PairInKernel:
    return PairInKernel(event, found.fields, found.start_event, found.start, found.end_event, found.end)


def _end(program: Program, start: Clause, name: str) -> Clause:
    """The only other clause that knows the map; besides, one at the end that clears it."""
    cleared, found = False, []
    for c in program.clauses:
        if c is start:
            continue
        n = needs(c)
        acts = {a.kind for a in map(program.actions.__getitem__, n.actions) if a.map == name and a.kind in ON_MAP}
        if acts == {"clear"} and all(s.name == "end" for s in c.sites):
            cleared = True
        elif acts or name in n.maps_read | n.maps_written | n.maps_updated:
            found.append(c)
    pair = [start, *found]
    if not cleared or len(found) != 1 or any(len(c.sites) != 1 for c in pair):
        raise Impossible("the map is used in other ways too")
    if not all(isinstance(c.sites[0].attach, TracepointAttach) for c in pair):
        raise Impossible("only tracepoints have hist triggers")
    return found[0]


def _parts(x: e.Expr | None) -> Iterator[e.Expr]:
    if isinstance(x, e.Logic) and x.op == "and":
        yield from _parts(x.a)
        yield from _parts(x.b)
    elif x is not None:
        yield x


def _joined(parts: Sequence[e.Expr]) -> e.Expr | None:
    out: e.Expr | None = None
    for p in parts:
        out = p if out is None else e.Logic(p.type, "and", out, p)
    return out


def _inner(x: e.Expr) -> e.Expr:
    while isinstance(x, e.Cast):
        x = x.x
    return x


def _asks(x: e.Expr, name: str) -> bool:
    """Whether it is the question for the start: ``@s[key]``, or has_key."""
    found = _inner(x)
    return isinstance(found, e.MapGet | e.MapHas) and found.map == name


def _filter(x: e.Expr | None, site: Site) -> str | None:
    found = filtered(x, site)
    return found.text if found.whole else None


def _read(end: Clause, name: str) -> tuple[e.Expr | None, list[Stmt]]:
    """The key by which the end reads the start, and its body without taking it away."""
    keys = [n.key for n in clause_nodes(end) if isinstance(n, e.MapGet | e.MapHas | e.MapDelete) and n.map == name]
    if any(k != keys[0] for k in keys) or sum(_asks(p, name) for p in _parts(end.predicate)) != 1:
        raise Impossible("it reads more than one start")
    body = [s for s in end.body if not (isinstance(s, Discard) and _deletes(s.value, name))]
    reads = sum(isinstance(n, e.MapGet | e.MapHas | e.MapDelete) and n.map == name for n in walk(body))
    differences = sum(_difference(n, name) for n in walk(body))
    nsecs = sum(isinstance(n, e.Context) and n.name == "nsecs" for n in walk(body))
    if len(body) != len(end.body) - 1 or not reads == differences == nsecs:
        raise Impossible("it does more with times than take their difference")
    return keys[0], body


def _deletes(x: e.Expr, name: str) -> bool:
    return isinstance(x, e.MapDelete) and x.map == name


def _difference(x: Any, name: str) -> bool:
    """``nsecs - @s[key]``."""
    if not isinstance(x, e.Binary) or x.op != "sub":
        return False
    a, b = _inner(x.a), _inner(x.b)
    return _is_now(a) and isinstance(b, e.MapGet) and b.map == name


def _names(key: e.Expr | None, site: Site) -> Iterator[str]:
    parts = key.items if isinstance(key, e.Pack) else () if key is None else (key,)
    if not 0 < len(parts) <= 3:
        raise Impossible("histograms have one to three keys")
    for part in parts:
        name, why = integer_field(part, site)
        if why:
            raise Impossible(why)
        yield _RECORD.get(name, name)


def _only_in(end: Clause, key: e.Expr | None) -> set[str]:
    """Fields that the key and the predicate alone name."""
    body = {n.name for n in walk(end.body) if isinstance(n, e.Field)}
    inside = [n.key for n in walk(end.body) if isinstance(n, e.MapGet | e.MapDelete) and n.key == key]
    counted: dict[str, int] = {}
    for n in walk(end.body):
        if isinstance(n, e.Field):
            counted[n.name] = counted.get(n.name, 0) + 1
    for k in inside:
        for n in walk([k]) if k is not None else ():
            if isinstance(n, e.Field):
                counted[n.name] -= 1
    return set(needs(end).fields - body) | {n for n, count in counted.items() if count <= 0}


def _site(site: Site, event: str, used: Sequence[str]) -> Site:
    known = {f.name: f for f in site.fields or ()}
    renamed = tuple(replace(known[name], name=f"by{i}") for i, name in enumerate(used))
    latency = Field("latency", U64, CtxLoad(8, 8))
    attach = TracepointAttach(SYNTHETIC, event, 0)
    return replace(site, attach=attach, fields=(latency, *renamed))


def _swapped(node: Any, name: str, fields_: dict[str, str]) -> Any:
    """With the difference of times, and the fields, as the synthetic event has them."""
    if _difference(node, name):
        return e.Cast(node.type, e.Field(U64, "latency")) if node.type != U64 else e.Field(U64, "latency")
    if isinstance(node, e.Field) and node.name in fields_:
        return replace(node, name=fields_[node.name])
    changes: dict[str, Any] = {}
    for f in fields(type(node)):
        value = getattr(node, f.name)
        if isinstance(value, e.Expr | Stmt):
            new: Any = _swapped(value, name, fields_)
        elif isinstance(value, tuple) and any(isinstance(v, e.Expr | Stmt) for v in value):
            new = tuple(_swapped(v, name, fields_) if isinstance(v, e.Expr | Stmt) else v for v in value)
        else:
            continue
        changes[f.name] = new
    return replace(node, **changes) if changes else node
