"""Records of a perf.data as they lie, as perf script -D prints them: bytes, then what they say.

    0x3c8@perf.data [0x38]: event: 3
    .
    . ... raw event: size 56 bytes
    .  0000:  03 00 00 00 00 00 38 00 f8 5e 00 00 f8 5e 00 00  ......8..^...^..

    CPU TIME 0x3c8 [0x38]: PERF_RECORD_COMM: perf-exec:24312/24312

Source: what perf script -D of Linux 6.1 prints of recordings.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.layout import (
    BRANCH_STACK,
    CALLCHAIN,
    CGROUP,
    CODE_PAGE_SIZE,
    CPU,
    DATA_PAGE_SIZE,
    DATA_SRC,
    PHYS_ADDR,
    RAW,
    READ_VALUES,
    REGS_INTR,
    REGS_USER,
    STACK_USER,
    TIME,
    TRANSACTION,
    WEIGHT,
    WEIGHT_STRUCT,
    Layout,
    layout_of,
)
from probescope.formats.perfdata.sideband import Trailer, body_of, side_record
from probescope.frozen import dataclass
from probescope.kernel.uapi import perf as u
from probescope.views.script_parts import named, page
from probescope.views.sides import said

_NONE = (1 << 64) - 1
_ABIS = {0: "none", 1: "32-bit", 2: "64-bit"}
_UNHANDLED = {"FINISHED_INIT"}
_PER_LINE = 16


@dataclass(frozen=True, slots=True)
class Found:
    """A record in its file. ``time`` -1: it has none, and is told of as it comes."""

    offset: int
    kind: int
    data: bytes
    time: int
    event: int = -1


class Dump:
    """``name`` of the file. ``attrs`` and ``ids`` of its events; ``arch`` of its machine."""

    def __init__(self, name: str, attrs: Sequence[Attr], ids: Mapping[int, int], arch: str, *, big: bool) -> None:
        self._name, self._attrs, self._ids, self._arch = name, attrs, ids, arch
        self._layouts = [layout_of(a) for a in attrs]
        self._big, self._order = big, ">" if big else "<"
        both = 0
        for a in attrs:
            both |= a.sample_type
        self._cpus, self._times = bool(both & CPU), bool(both & TIME)
        self._all = all(a.sample_id_all for a in attrs)
        self._wide = False

    # --- order

    def found(self, records: Iterator[tuple[int, bytes]], start: int) -> Iterator[Found]:
        """Records with their places: from ``start`` on, one behind the other."""
        at = start
        for kind, data in records:
            event = self._event(kind, data) if kind < r.USER_START else -1
            yield Found(at, kind, data, self._time(kind, data, event) if event >= 0 else -1, event)
            at += len(data)

    @staticmethod
    def ordered(found: Iterator[Found]) -> Iterator[Found]:
        """As perf delivers them: what has a time waits for the second end of a round behind it."""
        waiting: list[Found] = []
        limit = newest = 0
        for one in found:
            if one.time <= 0:
                yield one
            else:
                waiting.append(one)
                newest = max(newest, one.time)
            if one.kind == r.FINISHED_ROUND:
                waiting.sort(key=lambda f: f.time)
                ready = next((i for i, f in enumerate(waiting) if f.time > limit), len(waiting))
                yield from waiting[:ready]
                waiting, limit = waiting[ready:], newest
        yield from sorted(waiting, key=lambda f: f.time)

    def _words(self, data: bytes) -> tuple[int, ...]:
        return struct.unpack_from(f"{self._order}{len(data) // 8}Q", data)

    def _event(self, kind: int, data: bytes) -> int:
        if len(self._layouts) == 1 or not self._ids:
            return 0 if self._layouts else -1
        first, words = self._layouts[0], self._words(data)
        at = first.id_at if kind == r.SAMPLE else len(words) - first.id_behind
        number = words[at] if 0 < at < len(words) else 0
        return self._ids.get(number, 0 if number == 0 else -1)

    def _time(self, kind: int, data: bytes, event: int) -> int:
        layout, words = self._layouts[event], self._words(data)
        behind = layout.behind("time")
        at = layout.where("time") if kind == r.SAMPLE else len(words) - behind if behind else -1
        time = words[at] if 0 < at < len(words) else -1
        return -1 if time == _NONE else time

    # --- texts

    def raw(self, one: Found) -> str:
        """Its bytes, with an empty line in front and behind."""
        out = [f"\n{one.offset:#x}@{self._name} [{len(one.data):#x}]: event: {one.kind}\n"]
        out.append(f".\n. ... raw event: size {len(one.data)} bytes\n")
        for at in range(0, len(one.data), _PER_LINE):
            some = one.data[at : at + _PER_LINE]
            letters = "".join(chr(c) if 32 <= c < 127 else "." for c in some)
            out.append(f".  {at:04x}:  {some.hex(' '):<47}  {letters:<16}\n")
        return "".join(out) + "\n"

    def text(self, one: Found) -> str:
        """What it says. Raises nothing: what is cut is told as far as it goes."""
        head = f"{self._stamp(one)}{one.offset:#x} [{len(one.data):#x}]: PERF_RECORD_"
        try:
            if one.kind == r.SAMPLE and one.event >= 0:
                return f"{head}SAMPLE{self._sample(one)}"
            return f"{head}{self._other(one)}\n"
        except (FormatError, struct.error, IndexError):
            return f"{head}{r.name_of(one.kind)}: cut\n"

    def _stamp(self, one: Found) -> str:
        if one.kind != r.SAMPLE and not self._all:
            return "-1 -1 "
        if one.event < 0:
            cpu, time = 0, 0
        else:
            layout, words = self._layouts[one.event], self._words(one.data)
            behind = layout.behind("cpu")
            at = layout.where("cpu") if one.kind == r.SAMPLE else len(words) - behind if behind else -1
            cpu = words[at] & 0xFFFFFFFF if 0 < at < len(words) else 0xFFFFFFFF
            time = one.time if one.time >= 0 else _NONE
        return (f"{cpu} " if self._cpus else "") + (f"{time} " if self._times else "")

    def _other(self, one: Found) -> str:
        name = r.name_of(one.kind)
        if one.kind >= r.USER_START:
            return name + (": unhandled!" if name in _UNHANDLED else _told_by(one.kind, one.data, self._order))
        misc = struct.unpack_from(f"{self._order}H", one.data, 4)[0]
        trailer = len(self._layouts[one.event].trailer) if one.event >= 0 else 0
        side = side_record(one.kind, misc, body_of(one.data, self._big, trailer), Trailer())
        if side is None:
            return name
        self._wide = self._wide or one.kind == r.SWITCH_CPU_WIDE
        return said(side, self._wide).removeprefix("PERF_RECORD_")

    def _sample(self, one: Found) -> str:
        layout, attr, words = self._layouts[one.event], self._attrs[one.event], self._words(one.data)
        at = dict(layout.head)
        misc = words[0] >> 32 & 0xFFFF if not self._big else words[0] >> 16 & 0xFFFF

        def word(name: str, default: int) -> int:
            return words[at[name]] if name in at else default

        pid, tid = struct.unpack_from(f"{self._order}ii", one.data, 8 * at["tid"]) if "tid" in at else (-1, -1)
        ip = word("ip", 0)
        shown = f"{ip:#x}" if ip else "0"
        address = f"{word('addr', 0):#x}" if word("addr", 0) else "0"
        period = word("period", attr.period)
        out = [f"(IP, {misc:#x}): {pid}/{tid}: {shown} period: {period} addr: {address}\n"]
        parts = _Parts(words, layout, attr, self._arch, one.data, self._order)
        return "".join([*out, *parts.lines()])


def _told_by(kind: int, data: bytes, order: str) -> str:
    """What records of perf's own hold."""
    if kind == r.ID_INDEX:
        count = struct.unpack_from(f"{order}Q", data, 8)[0]
        out = f" nr: {count}"
        for i in range(min(count, len(data) // 32)):
            number, index, cpu, tid = struct.unpack_from(f"{order}QQqq", data, 16 + 32 * i)
            out += f"\n ... id: {number}  idx: {index}  cpu: {cpu}  tid: {tid}"
        return out
    if kind == r.EVENT_UPDATE:
        what, number = struct.unpack_from(f"{order}QQ", data, 8)
        text = data[24:].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        scale = f"{struct.unpack_from(f'{order}d', data, 24)[0]:f}" if what == 1 else ""
        told = {0: f"\n... unit:  {text}", 1: f"\n... scale: {scale}", 2: f"\n... name:  {text}"}
        return f"\n... id:    {number}{told.get(what, '')}"
    if kind == r.THREAD_MAP:
        count = struct.unpack_from(f"{order}Q", data, 8)[0]
        tids = [struct.unpack_from(f"{order}q", data, 16 + 24 * i)[0] for i in range(min(count, len(data) // 24))]
        return f" nr: {count} thread{'s' if count > 1 else ''}: {', '.join(map(str, tids))}"
    if kind == r.CPU_MAP and struct.unpack_from(f"{order}H", data, 8)[0] == _RANGE:
        first, last = struct.unpack_from(f"{order}HH", data, 12)
        return f": {first}-{last}" if last > first else f": {first}"
    return ""


_RANGE = 2
"""PERF_CPU_MAP__RANGE_CPUS"""


class _Parts:
    """The parts of a sample behind those of fixed places, in the order in which perf tells them."""

    def __init__(self, words: Sequence[int], layout: Layout, attr: Attr, arch: str, data: bytes, order: str) -> None:
        self._words, self._layout, self._attr, self._arch = words, layout, attr, arch
        self._data, self._order = data, order
        self._at = layout.head_words

    def _take(self, count: int = 1) -> Sequence[int]:
        if count < 0 or self._at + count > len(self._words):
            raise FormatError("a sample is cut")
        self._at += count
        return self._words[self._at - count : self._at]

    def _one(self) -> int:
        return self._take()[0]

    def lines(self) -> list[str]:
        found: dict[int, str] = {}
        for bit, step in _STEPS:
            if self._layout.sample_type & bit:
                found[bit] = step(self)
        return [found[bit] for bit in _TOLD if bit in found]

    def read(self) -> str:
        form = self._layout.read_format
        group = bool(form & u.PERF_FORMAT_GROUP)
        head = self._one() if group else 0
        value = 0 if group else self._one()
        out = "... sample_read:\n"
        for bit, name in ((u.PERF_FORMAT_TOTAL_TIME_ENABLED, "enabled"), (u.PERF_FORMAT_TOTAL_TIME_RUNNING, "running")):
            out += f"...... time {name} {self._one():016x}\n" if form & bit else ""
        out += f".... group nr {head}\n" if group else ""
        for _ in range(min(head, len(self._words)) if group else 1):
            value = self._one() if group else value
            number = self._one() if form & u.PERF_FORMAT_ID else 0
            lost = f", lost {self._one()}" if form & u.PERF_FORMAT_LOST else ""
            out += f"..... id {number:016x}, value {value:016x}{lost}\n"
        return out

    def chain(self) -> str:
        chain = self._take(self._one())
        lines = [f"..... {i:2d}: {a:016x}\n" for i, a in enumerate(chain)]
        return f"... FP chain: nr:{len(chain)}\n" + "".join(lines)

    def raw(self) -> str:
        size = struct.unpack_from(f"{self._order}I", self._data, 8 * self._at)[0]
        self._take((size + 11) >> 3)
        return ""

    def branches(self) -> str:
        count = self._one()
        if self._layout.branch_sample_type & 1 << 17:
            self._one()
        out = f"... branch stack: nr:{count}\n"
        for i in range(min(count, len(self._words))):
            start, end, flags = self._take(3)
            letters = "".join(c if flags & b else " " for c, b in (("M", 1), ("P", 2), ("A", 8), ("T", 4)))
            out += f"..... {i:2d}: {start:016x} -> {end:016x} {flags >> 4 & 0xFFFF} cycles  {letters} 0 \n"
        if self._layout.branch_sample_type & 1 << 19:
            self._take(count)
        return out

    def _registers(self, title: str, mask: int) -> str:
        abi = self._one()
        if not abi:
            return ""
        names = named(self._arch, mask)
        values = self._take(len(names))
        rows = "".join(f".... {n:<5} 0x{v:016x}\n" for n, v in zip(names, values, strict=True))
        return f"... {title} regs: mask {mask:#x} ABI {_ABIS.get(abi, 'unknown')}\n{rows}"

    def user_registers(self) -> str:
        return self._registers("user", self._attr.sample_regs_user)

    def machine_registers(self) -> str:
        return self._registers("intr", self._attr.sample_regs_intr)

    def stack(self) -> str:
        size = self._one()
        at = self._at * 8 - 8  # of the size itself
        self._take(size >> 3)
        dynamic = self._one() if size else 0
        return f"... ustack: size {dynamic}, offset {at:#x}\n"

    def weight(self) -> str:
        w = self._one()
        if not self._layout.sample_type & WEIGHT_STRUCT:
            return f"... weight: {w}\n"
        return f"... weight: {w & 0xFFFFFFFF},{w >> 32 & 0xFFFF:#x},{w >> 48:#x}\n"

    def skipped(self) -> str:
        self._one()
        return ""

    def number(self, form: str) -> str:
        return form % self._one()

    def page(self, name: str) -> str:
        return f" .. {name} page size:{page(self._one())}\n"


_STEPS: tuple[tuple[int, Callable[[_Parts], str]], ...] = (
    (READ_VALUES, _Parts.read),
    (CALLCHAIN, _Parts.chain),
    (RAW, _Parts.raw),
    (BRANCH_STACK, _Parts.branches),
    (REGS_USER, _Parts.user_registers),
    (STACK_USER, _Parts.stack),
    (WEIGHT | WEIGHT_STRUCT, _Parts.weight),
    (DATA_SRC, lambda p: p.number(" . data_src: 0x%x\n")),
    (TRANSACTION, lambda p: p.number("... transaction: %x\n")),
    (REGS_INTR, _Parts.machine_registers),
    (PHYS_ADDR, lambda p: p.number(" .. phys_addr: 0x%x\n")),
    (CGROUP, lambda p: p.skipped()),
    (DATA_PAGE_SIZE, lambda p: p.page("data")),
    (CODE_PAGE_SIZE, lambda p: p.page("code")),
)
"""As they lie."""
_TOLD = (
    CALLCHAIN, BRANCH_STACK, REGS_USER, REGS_INTR, STACK_USER, WEIGHT | WEIGHT_STRUCT, DATA_SRC, PHYS_ADDR,
    DATA_PAGE_SIZE, CODE_PAGE_SIZE, TRANSACTION, READ_VALUES,
)  # fmt: skip
