"""Events of one kind of a batch as columns for evaluate/: each is made when a program first asks for it, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from probescope.evaluate.arithmetic import text
from probescope.evaluate.columns.values import Coded, Values, dtype_of, take
from probescope.formats.tracing.fields import Records
from probescope.model.arch import X86_64, by_name
from probescope.model.recording import Ragged
from probescope.model.site import Constant, Reg
from probescope.model.types import Array, Opaque, String, Type, is_scalar, signed, width

if TYPE_CHECKING:
    from probescope.collect.stream.stacks import StackTable
    from probescope.collect.stream.who import Told
    from probescope.evaluate.columns.values import Column
    from probescope.model.arch import Arch
    from probescope.model.recording import EventType, Machine
    from probescope.model.site import Field

CPUMODE, USER = 7, 2
"""Of the misc word of a sample (include/uapi/linux/perf_event.h, PERF_RECORD_MISC_CPUMODE_MASK and _USER)."""


class Whole:
    """What all kinds of a batch share. ``start_ns``: when the program began, by the clock of the events. ``registers``:
    names of those in ``EventBatch.registers_intr``, in their order. ``cpid``: of the program of -c. ``arguments``:
    those that a site defines itself, by its number."""

    def __init__(
        self,
        told: Told,
        table: StackTable,
        machine: Machine,
        start_ns: int,
        registers: Sequence[str] = (),
        cpid: int = 0,
        arguments: Callable[[int], tuple[Field, ...] | None] = lambda _: None,
    ) -> None:
        self.told, self.table, self.machine, self.start_ns = told, table, machine, start_ns
        self.registers, self.cpid, self.arguments = registers, cpid, arguments
        self._stacks: tuple[Column | None] | None = None
        self._columns: dict[object, Values] = {}

    def stacks(self, t: Opaque) -> Coded:
        if self._stacks is None:
            self._stacks = (self.table.numbered(self.told),)
        found = self._columns.get(t)
        if found is None:
            found = self._columns[t] = self.table.column(t, self._stacks[0], self.told)
        assert isinstance(found, Coded)
        return found


class Kind:
    """``which``: places in the batch of its events, ascending. ``site``: number of the site that they fire."""

    def __init__(self, whole: Whole, event: EventType, which: Column, site: int) -> None:
        self._whole, self._event, self.which, self._site = whole, event, which, site
        self._columns: dict[object, Values] = {}
        self._records: Records | None = None

    @property
    def count(self) -> int:
        return len(self.which)

    @property
    def site(self) -> int:
        return self._site

    def at(self, site: int) -> Kind:
        """The same events, at another site."""
        other = Kind(self._whole, self._event, self.which, site)
        other._columns, other._records = self._columns, self._records
        return other

    def context(self, name: str, arg: str) -> Values:
        return self._kept(("context", name), lambda: _CONTEXT[name](self))

    def stack(self, type_: Opaque) -> Values:
        return self._kept(type_, lambda: take(self._whole.stacks(type_), self.which))

    def register(self, name: str) -> Values:
        """u8, 0 where it was not taken."""
        return self._kept(("register", name), lambda: self._register(name))

    def argument(self, index: int) -> Values:
        """Where the site says, else by the calling convention. Raises KeyError for those that are in memory."""
        own, regs = self._whole.arguments(self._site), self._arch().arg_regs
        match own[index].where if own is not None else None:
            case Constant(value=value):
                return np.full(self.count, value & (1 << 64) - 1, np.uint64)
            case Reg(name=name, size=size, signed=sign):
                low = cast("Column", self.register(name)).astype(f"{'i' if sign else 'u'}{size}")
                return low.astype(np.int64).view(np.uint64) if sign else low.astype(np.uint64)
            case None if own is None and index < len(regs):
                return self.register(regs[index])
            case _:
                raise KeyError(f"arg{index}")

    def returned(self) -> Values:
        return self.register(self._arch().ret_reg)

    def _arch(self) -> Arch:
        return by_name(self._whole.machine.arch) or X86_64

    def _register(self, name: str) -> Column:
        taken, known = self._whole.told.batch.registers_intr, list(self._whole.registers)
        if taken is None:
            return np.zeros(self.count, np.uint64)
        at = known.index(self._arch().aliases.get(name, name))
        fine = taken.size[self.which] > at
        places = np.where(fine, taken.start[self.which] + at, 0)
        return np.where(fine, taken.values[places], np.uint64(0)).astype(np.uint64)

    def spaces(self) -> Column:
        """The address space of each event's process."""
        return self._whole.told.spaces[self.which]

    def field(self, name: str, type_: Type) -> Values:
        return self._kept((name, type_), lambda: self._field(name, type_))

    def element(self, name: str, type_: Array, index: int) -> Column:
        raw = self._event.field(name)
        if raw is None:
            raise KeyError(name)
        return cast("Column", self._kept((name, index), lambda: self._item(raw.offset, type_, index)))

    def _kept(self, key: object, make: Callable[[], Values]) -> Values:
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = make()
        return found

    # --- fields

    def _field(self, name: str, t: Type) -> Values:
        raw, records = self._event.field(name), self.records()
        if raw is None:
            raise KeyError(name)
        if is_scalar(t):
            numbers = records.field(raw)
            return numbers != 0 if dtype_of(t) == "?" else numbers.astype(dtype_of(t))
        if isinstance(t, Array) and is_scalar(t.element):
            out = np.empty((self.count, t.count), dtype_of(t.element))
            for i in range(t.count):
                out[:, i] = self._item(raw.offset, t, i)
            return out
        pieces = records.pieces(raw)
        if isinstance(t, String):
            return _distinct(pieces, lambda p: text(p)[: t.size])
        return _distinct(pieces, lambda p: p)

    def _item(self, offset: int, t: Array, i: int) -> Column:
        size = width(t.element)
        return self.records().number(offset + i * size, size, signed(t.element)).astype(dtype_of(t.element), copy=False)

    def records(self) -> Records:
        if self._records is None:
            batch, machine = self._whole.told.batch, self._whole.machine
            raw = batch.raw
            if raw is None:
                nothing = np.zeros(self.count, np.int64)
                raw = Ragged(np.zeros(0, np.uint8), nothing, nothing)
            else:
                raw = Ragged(raw.values, raw.start[self.which], raw.size[self.which])
            self._records = Records(raw, machine.big_endian, machine.long_size)
        return self._records

    # --- context

    def _number(self, column: str) -> Column:
        return getattr(self._whole.told.batch, column)[self.which]  # type: ignore[no-any-return]

    def _nsecs(self) -> Column:
        return self._whole.told.batch.time[self.which]

    def _elapsed(self) -> Column:
        time, start = self._nsecs(), np.uint64(self._whole.start_ns)
        return np.where(time > start, time - start, np.uint64(0))

    def _usermode(self) -> Column:
        numbers = self._whole.told.batch.numbers
        if "misc" not in numbers:
            return np.zeros(self.count, np.bool_)
        out: Column = (numbers["misc"][self.which] & CPUMODE) == USER
        return out

    def _cgroup(self) -> Column:
        return self._whole.told.batch.numbers["cgroup"][self.which]


_CONTEXT: dict[str, Callable[[Kind], Values]] = {
    **{name: (lambda k, n=name: k._number(n)) for name in ("pid", "tid", "cpu")},  # type: ignore[misc]
    "comm": lambda k: take(k._whole.told.comm, k.which),
    "nsecs": Kind._nsecs,
    "elapsed": Kind._elapsed,
    "usermode": Kind._usermode,
    "cgroup": Kind._cgroup,
    "cpid": lambda k: np.full(k.count, k._whole.cpid, np.uint32),
}


def _distinct(pieces: list[bytes], decode: Callable[[bytes], Any]) -> Coded:
    """Pieces by number, each different one decoded once."""
    numbers: dict[bytes, int] = {}
    codes = np.fromiter((numbers.setdefault(p, len(numbers)) for p in pieces), np.int64, len(pieces))
    return Coded(codes, [decode(p) for p in numbers])
