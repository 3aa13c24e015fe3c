"""Events of probe definitions that stand in tracefs, to an ``ir.Program``: where no program may run in the kernel, that
fetches the arguments itself, and here its records are taken apart. The rows are those of ``lower``.

    p:probescope_312/vfs_read vfs_read+0 count=%dx:u64    ->    tracepoint:probescope_312:vfs_read  args.count
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.errors import ProbeError
from probescope.ir.expr import Const, Context, Expr, Field, Index
from probescope.ir.program import Action, Clause, Program, Settings
from probescope.ir.stmt import Emit
from probescope.lang.probe.lower import FIRST, TEXT, Condition, Row, Shown
from probescope.model.fetch import shown_name
from probescope.model.format import parse_format
from probescope.model.probe_found import ProbeEvent
from probescope.model.site import Site
from probescope.model.types import U32, U64, Array, Int, Opaque, String, Type, is_float

PLACES = ("__probe_ret_ip", "__probe_vaddr", "__probe_ip")
"""Fields that tell where an event was: those of returns (kernel/trace/trace_probe.h) first."""


def lower_traced(
    events: Sequence[ProbeEvent], sites: Sequence[Site], condition: Condition | None = None
) -> tuple[Program, tuple[Row, ...]]:
    """``sites``: the tracepoints that the events are by now. Raises ``ProbeError`` for what tracefs fetches not."""
    clauses: list[Clause] = []
    actions: list[Action] = []
    rows: list[Row] = []
    for i, (event, site) in enumerate(zip(events, sites, strict=True)):
        made = _Fields(event, site)
        allowed = condition(event, made.named) if condition is not None else None
        values = (*_context(i, site), *made.values)
        types = tuple(v.type for v in values)
        form = parse_format(" ".join("%s" if isinstance(t, String) else "%d" for t in types))
        actions.append(Action("printf", types, form))
        clauses.append(Clause(i, (site,), (Emit(i, values),), allowed))
        rows.append(Row(event, tuple(made.shown)))
    return Program(tuple(clauses), actions=tuple(actions), settings=Settings(max_strlen=TEXT)), tuple(rows)


def _context(number: int, site: Site) -> tuple[Expr, ...]:
    types = {f.name: f.type for f in site.fields}
    where = next((n for n in PLACES if n in types), "")
    return (
        Const(U32, number),
        Context(String(16), "comm"),
        Context(U32, "tid"),
        Context(U32, "cpu"),
        Context(U64, "nsecs", "boot"),
        Field(_settled(types[where]), where) if where else Const(U64, 0),
    )


class _Fields:
    """The arguments of an event, as fields of its records."""

    def __init__(self, event: ProbeEvent, site: Site) -> None:
        self.values: list[Expr] = []
        self.shown: list[Shown] = []
        self.named: dict[str, Expr] = {}
        types = {f.name: f.type for f in site.fields}
        for i, found in enumerate(event.found.args):
            name = shown_name(found.fetch, i)
            if found.capture is not None and not is_float(found.type):  # the bits of a float are a number
                hints = [f"a member of it that is a number or a text: {name}.MEMBER; or BPF, which reads all of it"]
                raise ProbeError(f"{name} is more than a number: events of tracefs cannot hold it", hints=hints)
            if name in types:
                self._take(name, types[name], Shown(name, found.fetch.type, 0, 1), found.variable)

    def _take(self, name: str, t: Type, shown: Shown, variable: str) -> None:
        parts: list[Expr] = [Field(_settled(t), name)]
        if isinstance(t, Array):
            parts = [Index(t.element, parts[0], Const(U32, i)) for i in range(t.count)]
        self.shown.append(Shown(name, shown.type, FIRST + len(self.values), len(parts)))
        self.values += parts
        self.named[name] = parts[0]
        self.named.setdefault(variable or name, parts[0])


def _settled(t: Type) -> Type:
    """As a number where the kernel declares a pointer."""
    return t if isinstance(t, Int | String | Array | Opaque) else U64
