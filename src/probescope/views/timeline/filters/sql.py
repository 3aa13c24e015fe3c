"""A filter as a condition of SQL over ``event e``.

Names: event (kind), task (or comm), pid, tid, cpu, period, the kernel's flags, and fields of the events. Of kinds that
have no such field none match.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from probescope.diagnostics import nearest
from probescope.frozen import dataclass
from probescope.store.columns import quoted
from probescope.views.timeline.filters.parse import Joined, Node, Not, Term, Value, parse, wrong

if TYPE_CHECKING:
    from probescope.views.timeline.opened import Opened

NAMES = ("event", "task", "comm", "pid", "tid", "cpu", "period", "common_flags", "common_preempt_count")
TEXTS = ("event", "task", "comm")
_THREADS = "e.utid in (select f.utid from thread f left join process g using (upid) where {})"
_NUMBERS = {
    "cpu": ("{}", "e.cpu"),
    "period": ("{}", "e.period"),
    "common_flags": ("{}", "e.flags"),
    "common_preempt_count": ("{}", "e.preempt"),
    "tid": (_THREADS, "f.tid"),
    "pid": (_THREADS, "coalesce(g.pid, f.tid)"),
}
_DEPTH = "case when {0} = 0 then '.' else format('{{:x}}', {0}) end"
_LETTERS = (
    "(case when e.flags & 1 <> 0 then 'd' when e.flags & 2 <> 0 then 'X' else '.' end ||"
    " case when e.flags & 4 <> 0 then 'N' else '.' end ||"
    " case e.flags & 24 when 0 then '.' when 8 then 'h' when 16 then 's' else 'H' end ||"
    f" {_DEPTH.format('(e.preempt & 15)')} || {_DEPTH.format('(e.preempt >> 4)')})"
)
"""Flags as the list shows them (``formats.tracing.text.latency``); NULL where they were not recorded."""


@dataclass(frozen=True, slots=True)
class Condition:
    """``sql`` stands behind WHERE; ``params``: what its ``$names`` stand for."""

    sql: str
    params: Mapping[str, Value]


def condition(opened: Opened, text: str) -> Condition:
    """Raises ScriptError."""
    node = parse(text)
    if node is None:
        return Condition("true", {})
    made = _Made(opened, text)
    return Condition(made.of(node), made.params)


class _Made:
    def __init__(self, opened: Opened, text: str) -> None:
        self._opened, self._text = opened, text
        self.params: dict[str, Value] = {}

    def of(self, node: Node) -> str:
        if isinstance(node, Not):
            return f"not coalesce({self.of(node.one)}, false)"
        if isinstance(node, Joined):
            return "(" + f" {node.word} ".join(self.of(p) for p in node.parts) + ")"
        name = node.name.lower()
        if name == "event":
            return self._event(node)
        if name in TEXTS:
            return _THREADS.format(self._compared("f.name", node, text=True))
        if name == "common_flags" and node.op in ("~", "!~"):
            return self._compared(_LETTERS, node, text=True)
        if name in _NUMBERS:
            around, column = _NUMBERS[name]
            return around.format(self._compared(column, node, text=False))
        return self._field(node)

    def _event(self, node: Term) -> str:
        """Kinds are few: which of them are meant is known here."""
        if node.op not in ("==", "!=", "~", "!~", "in"):
            raise wrong(self._text, node.at, f"{node.op} does not compare names of events", ('event ~ "sched:*"',))
        wanted = [str(a) for a, _ in node.ranges] if node.op == "in" else [str(node.value)]
        glob = node.op in ("~", "!~")
        found = [i for i, name, _ in self._opened.kinds if any(_is_kind(name, w, glob) for w in wanted)]
        if not found and node.op in ("==", "in"):
            near = nearest(wanted[0], [n for _, n, _ in self._opened.kinds])
            hints = tuple(f"did you mean {n}?" for n in near)
            raise wrong(self._text, node.value_at, f"no event '{wanted[0]}' was recorded", hints, len(wanted[0]))
        listed = ", ".join(map(str, found)) or "-1"
        return f"e.kind {'not in' if node.op in ('!=', '!~') else 'in'} ({listed})"

    def _field(self, node: Term) -> str:
        kind, _, field = node.name.rpartition(".")
        tables = {n: t for n, t in self._opened.asked.tables.items() if n not in _own_tables()}
        if kind:
            tables = {n: t for n, t in tables.items() if _is_kind(n, kind, glob=False)}
        parts = []
        for name, table in tables.items():
            column = table.column(field) or table.column(f"field_{field}")
            if column is not None:
                text = column.type == "VARCHAR"
                compared = self._compared(f"x.{quoted(column.name)}", node, text=text)
                parts.append(f"select x.event from {quoted(name)} x where {compared}")
        if not parts:
            known = sorted({c.name for t in tables.values() for c in t.columns} | set(NAMES))
            near = tuple(f"did you mean {n}?" for n in nearest(field, known))
            raise wrong(self._text, node.at, f"no event has a field '{node.name}'", near, len(node.name))
        return f"e.id in ({' union all '.join(parts)})"

    def _compared(self, column: str, node: Term, *, text: bool) -> str:
        if node.op == "in":
            return "(" + " or ".join(self._in(column, a, b, node, text) for a, b in node.ranges) + ")"
        if node.op in ("~", "!~"):
            like = f"coalesce({column}::varchar, '') glob {self._param(str(node.value))}"
            return f"not {like}" if node.op == "!~" else like
        if text:
            if node.op == "&":
                raise wrong(self._text, node.at, f"{node.name} is a text, which has no bits")
            return f"{column} {_SQL.get(node.op, node.op)} {self._param(str(node.value))}"
        number = self._param(self._number(node.value, node))
        if node.op == "&":
            return f"({column}::hugeint & {number}::hugeint) <> 0"
        return f"{column} {_SQL.get(node.op, node.op)} {number}"

    def _in(self, column: str, low: Value, high: Value, node: Term, text: bool) -> str:
        if text:
            return f"{column} = {self._param(str(low))}"
        first, last = self._number(low, node), self._number(high, node)
        return f"{column} between {self._param(first)} and {self._param(last)}"

    def _number(self, value: Value, node: Term) -> int | float:
        if isinstance(value, str):
            raise wrong(self._text, node.value_at, f"{node.name} is a number, '{value[:40]}' is none", size=len(value))
        if abs(value) >= 1 << 64:
            raise wrong(self._text, node.value_at, "this number has more than 64 bits")
        return value

    def _param(self, value: Value) -> str:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return f"${name}"


_SQL = {"==": "=", "!=": "is distinct from"}


def _is_kind(name: str, wanted: str, glob: bool) -> bool:
    """A name without its system is meant, too."""
    plain = name.rpartition(":")[2]
    if glob:
        return fnmatch.fnmatchcase(name, wanted) or (":" not in wanted and fnmatch.fnmatchcase(plain, wanted))
    return wanted in (name, plain)


def _own_tables() -> Mapping[str, Any]:
    from probescope.store.schema import BY_NAME

    return BY_NAME
