"""Filters worked out over batches: which of their events are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
_ALL = (1 << 64) - 1
_STACKS = ("ftrace:kernel_stack", "ftrace:user_stack")


class Filters:
    """``wanted`` and ``unwanted``: texts of ``-F``, and of those after ``-v``. An event is shown if one of the wanted
    says so (there are none: any event), and none of the unwanted does. A stack right after an event of its CPU that
    the wanted let pass is shown with it. Given batches in their order. Raises UsageError."""

    def __init__(self, wanted: list[str], unwanted: list[str], events: tuple[EventType, ...], context: Context) -> None:
        self.events, self.context = events, context
        self._named: dict[int, str] = {}
        systems = {e.name.partition(":")[0] for e in events}
        self._wanted = self._tests([parse(text, systems) for text in wanted])
        self._unwanted = self._tests([parse(text, systems) for text in unwanted])
        self._any = not wanted
        self._stacks = [i for i, e in enumerate(events) if e.name in _STACKS]
        self._passed: dict[int, bool] = {}
        """By CPU: whether its last event was shown and is no stack that another brought."""

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
            known = tuple(dict.fromkeys(f.name for i in which for f in self.events[i].fields))
            for i in which:
                out.setdefault(i, []).append(_Test(one, self.events[i], known, self.context, self._named))
        return out

    @property
    def by_comm(self) -> bool:
        """Whether names of threads are asked for."""
        return any(t.by_comm for tests in (self._wanted, self._unwanted) for some in tests.values() for t in some)

    def mask(self, batch: EventBatch, named: Mapping[int, str] | None = None) -> Column:
        """``named``: names of some events' threads, by index, instead of those that the context has."""
        self._named.clear()
        self._named.update(named or {})
        shown = np.full(batch.count, self._any, np.bool_)
        self._apply(self._wanted, batch, shown, True)
        brought = None if self._any or not self._stacks else np.isin(batch.event, self._stacks) & ~shown
        self._apply(self._unwanted, batch, shown, False)
        if brought is not None:
            self._with_stacks(batch, shown, brought)
        return shown

    def _apply(self, tests: dict[int, list[_Test]], batch: EventBatch, shown: Column, value: bool) -> None:
        for index, some in tests.items():
            which = np.flatnonzero(batch.event == index)
            for test in some if len(which) else ():
                shown[which[test(batch, which)]] = value

    def _with_stacks(self, batch: EventBatch, shown: Column, brought: Column) -> None:
        """Shows those of the stacks ``brought`` that stand after an event that is shown."""
        unwanted = np.zeros(batch.count, np.bool_)
        self._apply(self._unwanted, batch, unwanted, True)
        for cpu in np.unique(batch.cpu).tolist():
            of = np.flatnonzero(batch.cpu == cpu)
            before = np.concatenate(([self._passed.get(cpu, False)], shown[of]))
            self._passed[cpu] = bool(before[-1])
            shown[of] |= brought[of] & before[:-1] & ~unwanted[of]


def _means(one: EventFilter, full: str) -> bool:
    system, _, name = full.partition(":")
    return any((not s or names(s, system)) and (names(n, name) or (not s and names(n, system))) for s, n in one.events)


def names(pattern: str, word: str) -> bool:
    """Whether all of a word is what the pattern is for."""
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
    """Of one kind of event. ``known``: fields of all kinds that the filter is for; a comparison with one that this kind
    has not is false."""

    def __init__(
        self,
        filter_: EventFilter,
        event: EventType,
        known: tuple[str, ...],
        context: Context,
        named: Mapping[int, str],
    ) -> None:
        self._filter, self._event, self._known, self._context = filter_, event, known, context
        self._named, self.by_comm = named, False
        self._run = self._truth(filter_.test) if filter_.test is not None else None

    def __call__(self, batch: EventBatch, which: Column) -> Column:
        if self._run is None or batch.raw is None:
            return np.ones(len(which), np.bool_)
        raw = Ragged(batch.raw.values, batch.raw.start[which], batch.raw.size[which])
        records = Records(raw, self._context.big, self._context.long_size)
        found = self._run(_Rows(records, batch, which))
        out: Column = np.broadcast_to(np.asarray(found), (len(which),)) != 0
        return out

    # --- a tree made a function; None where a field is missing

    def _truth(self, node: Node) -> Make:
        made = self._made(node)
        return (lambda _: False) if made is None else lambda x: _true(made(x))

    def _made(self, node: Node) -> Make | None:
        if isinstance(node, Value):
            value = re.sub(r"\\(['\"])", r"\1", node.value) if isinstance(node.value, str) else node.value
            return lambda _: value
        if isinstance(node, Name):
            return self._field(node)
        if isinstance(node, Unary) and node.op == "!":
            truth = self._truth(node.of)
            return lambda x: ~np.asarray(truth(x))
        if isinstance(node, Unary):
            of = self._counted(node.of)
            if of is None:
                return None
            return lambda x: ~_number(of(x)) if node.op == "~" else -_number(of(x)).view(np.int64)
        return self._both(node)

    def _both(self, node: Binary) -> Make | None:
        if node.op in {"&&", "||"}:
            one, other = self._truth(node.left), self._truth(node.right)
            return (lambda x: one(x) & other(x)) if node.op == "&&" else lambda x: one(x) | other(x)
        if node.op in {"=~", "!~"}:
            return self._regex(node)
        if node.op not in _COMPARE:
            return self._counting(node.op, self._counted(node.left), self._counted(node.right))
        word = node.right  # COMM == bash
        bare = isinstance(word, Name) and self._unknown(word)
        left, right = self._made(node.left), self._made(Value(word.text) if bare and isinstance(word, Name) else word)
        if left is None or right is None:
            return None
        return self._comparison(node, left, right)

    def _counting(self, op: str, left: Make | None, right: Make | None) -> Make | None:
        return None if left is None or right is None else lambda x: _counted(op, left(x), right(x))

    def _counted(self, node: Node) -> Make | None:
        """Of what is counted with. Raises UsageError for a text."""
        name = node.text if isinstance(node, Name) else ""
        field = self._event.field(name)
        text = is_text(field) if field else name == "COMM" or isinstance(getattr(node, "value", 0), str)
        if text:
            what = f"nothing is counted with texts: {name or getattr(node, 'value', '')}"
            raise UsageError(f"the filter cannot be used: {what}", hints=[self._filter.text])
        return self._made(node)

    def _comparison(self, node: Binary, left: Make, right: Make) -> Make:
        def compared(x: _Rows) -> Any:
            a, b = left(x), right(x)
            one, other = _is_text(a), _is_text(b)
            if not (one or other):
                return _ordered(node.op, _number(a), _number(b))
            a = a if one else self._texts(node.left, a)
            b = b if other else self._texts(node.right, b)
            return _COMPARE[node.op](np.asarray(a, object), np.asarray(b, object))

        return compared

    def _regex(self, node: Binary) -> Make | None:
        text = node.right.text if isinstance(node.right, Name) else getattr(node.right, "value", "")
        try:
            pattern = compiled_basic(str(text))
        except re.error as e:
            raise UsageError(f"the filter cannot be read: {e} in {text!r}", hints=[self._filter.text]) from None
        left, wanted = self._made(node.left), node.op == "=~"
        if left is None:
            return None

        def matched(x: _Rows) -> Any:
            values = left(x)
            texts = np.atleast_1d(np.asarray(values if _is_text(values) else self._texts(node.left, values), object))
            return np.array([(pattern.search(str(v)) is not None) == wanted for v in texts], np.bool_)

        return matched

    def _texts(self, node: Node, values: Any) -> Any:
        """What a number is compared with a text as: the function that holds an address, if the field can be one; in
        hexadecimal if it is a field."""
        field = self._event.field(node.text) if isinstance(node, Name) else None
        if field is None:
            return np.asarray(values).astype(str).astype(object)
        symbols = "long" in field.declared or "*" in field.declared

        def text(value: int) -> str:
            found = self._context.plain(value) if symbols else None
            return found[0] if found else f"0x{value:x}"

        return np.array(list(map(text, np.asarray(values).view(np.uint64).tolist())), object)

    def _unknown(self, name: Name) -> bool:
        return self._event.field(name.text) is None and name.text not in SPECIAL and name.text not in self._known

    def _field(self, name: Name) -> Make | None:
        field = self._event.field(name.text)
        if field is not None:
            return _column(field)
        if name.text == "CPU":
            return lambda x: x.batch.cpu[x.which].astype(np.int64)
        if name.text == "TIMESTAMP":
            return lambda x: x.batch.time[x.which].astype(np.int64)
        if name.text == "COMM":
            self.by_comm = True
            return lambda x: np.array(
                [self._comm(i, t) for i, t in zip(x.which.tolist(), x.batch.tid[x.which].tolist(), strict=True)], object
            )
        if name.text in self._known:
            return None
        names = [*self._known, *SPECIAL]
        near = nearest(name.text, names)
        hints = [f"did you mean {' or '.join(near)}?"] if near else []
        hints.append("fields: " + ", ".join(names))
        raise misplaced(self._filter, name, f"{self._event.name} has no field {name.text}", hints)

    def _comm(self, index: int, tid: int) -> str:
        return self._named.get(index) or self._context.comms.get(tid, "<...>" if tid else "<idle>")


def _column(field: RawField) -> Make:
    if is_text(field):
        return lambda x: np.array(x.records.strings(field), object)
    kind = np.int64 if field.signed else np.uint64
    return lambda x: x.records.field(field).view(kind)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or np.asarray(value).dtype == object


def _true(value: Any) -> Any:
    """Numbers but 0, and texts that are not empty."""
    return np.asarray(value, object).astype(bool) if _is_text(value) else np.asarray(value) != 0


def _number(value: Any) -> Column:
    """Of 64 bits, as all numbers of filters are; without a sign if it has none."""
    if isinstance(value, int):
        return np.array(value & _ALL, np.uint64).view(np.int64 if value <= _ALL >> 1 else np.uint64)
    found: Column = np.asarray(value)
    return found if found.dtype == np.uint64 else found.astype(np.int64)


def _ordered(op: str, a: Column, b: Column) -> Any:
    """Equal are those of the same bits. A constant of all 64 bits makes the other one without a sign, as one with a
    sign may be meant: ``ret > 0xffffffff00000000``."""
    if op in {"==", "!="} or (a.dtype != b.dtype and any(v.ndim == 0 and v.dtype == np.uint64 for v in (a, b))):
        a, b = a.view(np.uint64), b.view(np.uint64)
    return _COMPARE[op](a, b)


def _counted(op: str, a: Any, b: Any) -> Column:
    """As C does: without a sign if one of both has none, but for differences."""
    numbers = [_number(v) for v in (a, b)]
    unsigned = op != "-" and any(v.dtype == np.uint64 for v in numbers)
    a, b = (v.view(np.uint64 if unsigned else np.int64) for v in numbers)
    with np.errstate(over="ignore"):
        found: Column = np.asarray(_COUNT[op](a, b))
    return found
