"""Filters worked out over batches: which of their events are shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.diagnostics import nearest
from probescope.errors import UsageError
from probescope.formats.tracing.fields import Records, is_text
from probescope.frozen import dataclass
from probescope.model.posix import compiled_basic
from probescope.model.recording import Ragged
from probescope.views.tracecmd.filter_text import Binary, EventFilter, Name, Node, Unary, Value, misplaced, parse

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import Column, EventBatch, EventType, RawField

SPECIAL = ("CPU", "COMM", "TIMESTAMP")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_COUNT: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: np.where(b == 0, 0, a // np.where(b == 0, 1, b)),
    "%": lambda a, b: np.where(b == 0, 0, a % np.where(b == 0, 1, b)),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
}


class Filters:
    """``wanted`` and ``unwanted``: texts of ``-F``, and of those after ``-v``. An event is shown if one of the wanted
    says so (there are none: any event), and none of the unwanted does. Raises UsageError."""

    def __init__(self, wanted: list[str], unwanted: list[str], events: tuple[EventType, ...], context: Context) -> None:
        self.events, self.context = events, context
        systems = {e.name.partition(":")[0] for e in events}
        self._wanted = self._tests([parse(text, systems) for text in wanted])
        self._unwanted = self._tests([parse(text, systems) for text in unwanted])
        self._any = not wanted

    def __bool__(self) -> bool:
        return not self._any or bool(self._unwanted)

    def _tests(self, filters: list[EventFilter]) -> dict[int, list[_Test]]:
        """By index of event."""
        out: dict[int, list[_Test]] = {}
        for one in filters:
            which = [i for i, e in enumerate(self.events) if e.id and _means(one, e.name)]
            if not which:
                names = [e.name.replace(":", "/") for e in self.events if e.id]
                near = nearest(one.events[0][1], [*names, *(n.partition("/")[2] for n in names)])
                hints = [f"did you mean {' or '.join(near)}?"] if near else ["ftrace report -E lists its events"]
                raise UsageError(f"the recording has no event {'/'.join(filter(None, one.events[0]))}", hints=hints)
            tests, problem = [], None
            for i in which:
                try:
                    tests.append((i, _Test(one, self.events[i], self.context)))
                except UsageError as e:  # of several events, some may lack a field
                    problem = e
            if not tests and problem is not None:
                raise problem
            for i, test in tests:
                out.setdefault(i, []).append(test)
        return out

    def mask(self, batch: EventBatch) -> Column:
        shown = np.full(batch.count, self._any, np.bool_)
        for tests, value in ((self._wanted, True), (self._unwanted, False)):
            for index, some in tests.items():
                which = np.flatnonzero(batch.event == index)
                for test in some if len(which) else ():
                    shown[which[test(batch, which)]] = value
        return shown


def _means(one: EventFilter, full: str) -> bool:
    system, _, name = full.partition(":")
    return any(
        (not s or _matches(s, system)) and (_matches(n, name) or (not s and _matches(n, system))) for s, n in one.events
    )


def _matches(pattern: str, word: str) -> bool:
    try:
        return compiled_basic(f"^{pattern}$").search(word) is not None
    except re.error:
        return pattern == word


@dataclass(frozen=True, slots=True)
class _Rows:
    """Records of one kind of event: ``which`` of ``batch``."""

    records: Records
    batch: EventBatch
    which: Column


Make = Callable[[_Rows], Any]


class _Test:
    """Of one kind of event."""

    def __init__(self, filter_: EventFilter, event: EventType, context: Context) -> None:
        self._filter, self._event, self._context = filter_, event, context
        self._run = self._made(filter_.test) if filter_.test is not None else None

    def __call__(self, batch: EventBatch, which: Column) -> Column:
        if self._run is None or batch.raw is None:
            return np.ones(len(which), np.bool_)
        raw = Ragged(batch.raw.values, batch.raw.start[which], batch.raw.size[which])
        records = Records(raw, self._context.big, self._context.long_size)
        found = self._run(_Rows(records, batch, which))
        out: Column = np.broadcast_to(np.asarray(found), (len(which),)) != 0
        return out

    # --- a tree made a function

    def _made(self, node: Node) -> Make:
        if isinstance(node, Value):
            value = node.value
            return lambda _: value
        if isinstance(node, Name):
            return self._field(node)
        if isinstance(node, Unary):
            of = self._made(node.of)
            if node.op == "!":
                return lambda x: np.asarray(of(x)) == 0
            return lambda x: ~np.asarray(of(x)) if node.op == "~" else -np.asarray(of(x))
        return self._both(node)

    def _both(self, node: Binary) -> Make:
        if node.op in {"=~", "!~"}:
            return self._regex(node)
        left = self._made(node.left)
        if node.op in _COMPARE and isinstance(node.right, Name) and self._unknown(node.right):
            word = node.right.text  # COMM == bash
            return lambda x: _compared(node.op, left(x), word)
        right = self._made(node.right)
        if node.op == "&&":
            return lambda x: (np.asarray(left(x)) != 0) & (np.asarray(right(x)) != 0)
        if node.op == "||":
            return lambda x: (np.asarray(left(x)) != 0) | (np.asarray(right(x)) != 0)
        if node.op in _COMPARE:
            return lambda x: _compared(node.op, left(x), right(x))
        count = _COUNT[node.op]
        return lambda x: count(np.asarray(left(x)), np.asarray(right(x)))

    def _regex(self, node: Binary) -> Make:
        text = node.right.text if isinstance(node.right, Name) else getattr(node.right, "value", "")
        try:
            pattern = compiled_basic(str(text))
        except re.error as e:
            raise UsageError(f"the filter cannot be read: {e} in {text!r}", hints=[self._filter.text]) from None
        left, wanted = self._made(node.left), node.op == "=~"
        return lambda x: np.array(
            [(pattern.search(str(v)) is not None) == wanted for v in np.asarray(left(x), object)], np.bool_
        )

    def _unknown(self, name: Name) -> bool:
        return self._event.field(name.text) is None and name.text not in SPECIAL

    def _field(self, name: Name) -> Make:
        if name.text == "CPU":
            return lambda x: x.batch.cpu[x.which].astype(np.int64)
        if name.text == "TIMESTAMP":
            return lambda x: x.batch.time[x.which].astype(np.int64)
        if name.text == "COMM":
            return lambda x: np.array([self._comm(t) for t in x.batch.tid[x.which].tolist()], object)
        field = self._event.field(name.text)
        if field is None:
            names = [f.name for f in self._event.fields]
            near = nearest(name.text, [*names, *SPECIAL])
            hints = [f"did you mean {' or '.join(near)}?"] if near else []
            hints.append("fields: " + ", ".join([*names, *SPECIAL]))
            raise misplaced(self._filter, name, f"{self._event.name} has no field {name.text}", hints)
        return _column(field)

    def _comm(self, tid: int) -> str:
        return self._context.comms.get(tid, "<...>" if tid else "<idle>")


def _column(field: RawField) -> Make:
    if is_text(field):
        return lambda x: np.array(x.records.strings(field), object)
    return lambda x: x.records.field(field).view(np.int64)


def _compared(op: str, left: Any, right: Any) -> Any:
    """Texts with texts, numbers with numbers; one of each are not alike."""
    texts = [isinstance(v, str) or np.asarray(v).dtype == object for v in (left, right)]
    if texts[0] != texts[1]:
        left, right = (
            v if t else np.asarray(v).astype(str).astype(object) for v, t in zip((left, right), texts, strict=True)
        )
    if any(texts):
        left, right = (np.asarray(v, object) for v in (left, right))
    return _COMPARE[op](left, right)
