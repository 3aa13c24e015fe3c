"""Rules of many files by address, as columns: many stacks take a step at once.

Each file has a window of 2**44 addresses of its own; all rows lie in one sorted array::

    keys   window << 44 | virtual address       ascending
    rules  number of the rule from there on     UNREAD where no function was read yet

Functions are read when an address of them is looked up first. A rule that fits in columns is of kind NEAR, AT, SIGNAL
or PLT; the others are followed one by one (``eh_evaluate``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from probescope.debuginfo.eh_index import FrameIndex
from probescope.debuginfo.eh_rules import UNDEFINED, X86_64, Conventions, Kept, Rule
from probescope.debuginfo.unwind_table import PLT_RULE, dereferenced
from probescope.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

UNREAD, GAP, END, NEAR, AT, SIGNAL, PLT, ODD, LEAF = range(9)
"""Not read yet; not known; the outermost function; CFA = register + number; CFA at register + number; a signal's
trampoline, whose caller's registers are all kept beside the stack pointer; jumps of 16 bytes each, from byte ``number``
on with a word more on the stack; another rule; CFA = register + number, and the return address in its register."""
WINDOW_BITS = 44
MOST_WINDOWS = 1 << 18
_DEREF = b"\x06"
_RETURN = Kept("at", -8)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Of rules, by number. ``by_frame``: relative to the frame pointer, not the stack pointer; ``number`` i8, bytes;
    ``saved`` i8: where the frame pointer is, from the CFA (0: as it was); ``back``: where the return address is, from
    the CFA. Of SIGNAL ``number``, ``saved`` and ``back`` count from the stack pointer. ``signal``: the caller was
    interrupted."""

    kind: Column
    by_frame: Column
    number: Column
    saved: Column
    back: Column
    signal: Column


class Rules:
    """Different rules, numbered: a file has some hundred."""

    def __init__(self, machine: Conventions = X86_64) -> None:
        self._machine = machine
        none = Rule(-1, 0, b"", UNDEFINED, UNDEFINED)
        self.rules: list[Rule] = [none, none]
        self._rows: list[tuple[_Packed, bool]] = [(_Packed(UNREAD), False), (_Packed(GAP), False)]
        self._number: dict[tuple[Rule, bool], int] = {}
        self._columns: Columns | None = None

    def number(self, rule: Rule, *, signal: bool) -> int:
        key = (rule, signal)
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self.rules)
            self.rules.append(rule)
            self._rows.append((_packed(rule, signal, self._machine), signal))
            self._columns = None
        return found

    def columns(self) -> Columns:
        import numpy as np

        if self._columns is None:
            packed, signal = zip(*self._rows, strict=True)
            kind, by_frame, *numbers = zip(*packed, strict=True)
            number, saved, back = (np.array(n, np.int64).view(np.uint64) for n in numbers)
            self._columns = Columns(
                np.array(kind, np.uint8), np.array(by_frame, np.bool_), number, saved, back, np.array(signal, np.bool_)
            )
        return self._columns


class _Packed(NamedTuple):
    kind: int
    by_frame: bool = False
    number: int = 0
    saved: int = 0
    back: int = 0


def _packed(rule: Rule, signal: bool, machine: Conventions) -> _Packed:
    if rule.ret.how == "undefined" and (rule.code or rule.register >= 0):
        return _Packed(END)
    if rule.register < 0 and not rule.code:
        return _Packed(GAP)
    plt = PLT_RULE.fullmatch(rule.code) if rule.code and rule.ret == _RETURN and rule.frame.how == "same" else None
    if plt:
        return _Packed(PLT, False, plt[1][0] - 0x30, 0, -8)
    where = dereferenced(rule.code) if rule.code else (rule.register, rule.offset)
    if where is None or where[0] not in (machine.frame, machine.stack):
        return _Packed(ODD)
    if signal:
        back, saved = (dereferenced(k.code + _DEREF) if k.how == "expression" else None for k in (rule.ret, rule.frame))
        if not rule.code or back is None or saved is None or {where[0], back[0], saved[0]} != {machine.stack}:
            return _Packed(ODD)
        return _fitting(_Packed(SIGNAL, False, where[1], saved[1], back[1]))
    linked = rule.ret.how == "same" and machine.link >= 0 and not rule.code
    if (rule.ret.how != "at" and not linked) or rule.frame.how not in {"at", "same", "undefined"}:
        return _Packed(ODD)
    saved_at = rule.frame.number if rule.frame.how == "at" else 0
    if rule.frame.how == "at" and not saved_at:
        return _Packed(ODD)
    kind = LEAF if linked else AT if rule.code else NEAR
    return _fitting(_Packed(kind, where[0] == machine.frame, where[1], saved_at, rule.ret.number))


def _fitting(packed: _Packed) -> _Packed:
    return packed if max(map(abs, packed[2:])) < 1 << 62 else _Packed(ODD)


class Rows:
    """``rules.columns()`` says what the numbers that ``find`` gives mean."""

    def __init__(self, machine: Conventions = X86_64) -> None:
        import numpy as np

        self.rules = Rules(machine)
        self._keys: Column = np.zeros(0, np.uint64)
        self._rules: Column = np.zeros(0, np.int32)
        self._indexes: list[FrameIndex] = []

    def window(self, index: FrameIndex) -> int | None:
        """The first address of a new window; ``None`` if there are too many."""
        import numpy as np

        if len(self._indexes) >= MOST_WINDOWS:
            return None
        first = len(self._indexes) << WINDOW_BITS
        self._indexes.append(index)
        self._keys = np.append(self._keys, np.uint64(first))
        self._rules = np.append(self._rules, np.int32(UNREAD))
        return first

    def find(self, keys: Column) -> Column:
        """The number of each address's rule, i4; there is at least one window."""
        import numpy as np

        out: Column = self._rules[np.searchsorted(self._keys, keys, "right") - 1]
        unread = np.flatnonzero(out == UNREAD)
        if len(unread):
            self._read(np.unique(keys[unread]))
            out[unread] = self._rules[np.searchsorted(self._keys, keys[unread], "right") - 1]
        return out

    def _read(self, keys: Column) -> None:
        import numpy as np

        windows = keys >> np.uint64(WINDOW_BITS)
        rows: dict[int, int] = {}
        marks: set[int] = set()
        for window in np.unique(windows).tolist():
            index = self._indexes[window]
            first = window << WINDOW_BITS
            addresses = keys[windows == window] - np.uint64(first)
            for i in np.unique(np.searchsorted(index.starts, addresses, "right") - 1).tolist():
                marks.add(self._function(index, i, first, rows))
        for mark in marks:
            rows.setdefault(mark, UNREAD)
        self._insert(rows)

    def _function(self, index: FrameIndex, i: int, first: int, rows: dict[int, int]) -> int:
        """Rows of function ``i``, or of what lies before the first one (-1). Where the next one begins."""
        last = (1 << WINDOW_BITS) - 1
        start = int(index.starts[i]) if i >= 0 else 0
        end = min(index.end(i), last)
        frame = index.frame(i) if i >= 0 else None
        if frame is None or frame.end < end:
            rows[first + (start if frame is None else frame.end)] = GAP
        for at, rule in frame.rows if frame is not None else ():
            if start + at >= min(end, frame.end if frame is not None else end):
                break
            rows[first + start + at] = self.rules.number(rule, signal=frame is not None and frame.signal)
        return first + end

    def _insert(self, rows: dict[int, int]) -> None:
        import numpy as np

        keys = np.array(sorted(rows), np.uint64)
        rules = np.array([rows[k] for k in keys.tolist()], np.int32)
        places = np.searchsorted(self._keys, keys)
        known = np.zeros(len(keys), np.bool_)
        inside = places < len(self._keys)
        known[inside] = self._keys[places[inside]] == keys[inside]
        replaced = known & (rules != UNREAD)
        self._rules[places[replaced]] = rules[replaced]
        fresh = ~known
        self._keys = np.insert(self._keys, places[fresh], keys[fresh])
        self._rules = np.insert(self._rules, places[fresh], rules[fresh])
