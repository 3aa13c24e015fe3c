"""Opaque numbers -> texts and stacks: the last step, in user space, once for every collector.

What has to be asked while a process is still alive (its mappings) is kept by ``Processes``; the rest is looked up
when a value is printed, and cached.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from probescope.frozen import replace
from probescope.ir.program import Program
from probescope.model.abi import item_types
from probescope.model.codec import decoder
from probescope.model.output import Frame, StackOut
from probescope.model.text import EnumValue, StructValue
from probescope.model.types import Agg, Array, Enum, Opaque, Record, String, Struct, Tuple, Type, TypeTable
from probescope.model.visible import unchanged

Value = Any


class Symbols(Protocol):
    """Addresses to frames."""

    def kernel(self, address: int) -> Frame: ...
    def user(self, pid: int, address: int) -> Frame: ...


@runtime_checkable
class Sources(Protocol):
    """What a frame was compiled from: functions that were inlined there, innermost first, and then itself, with their
    source lines. ``caller``: its address is behind a call. ``file_frame``: the build-id of an address's file and the
    offset in it. A ``Symbols`` that can tell is one of these as well."""

    def sources(self, frame: Frame, pid: int, *, user: bool, caller: bool) -> tuple[Frame, ...]: ...
    def file_frame(self, pid: int, address: int) -> Frame: ...


class Stacks(Protocol):
    """Stack ids to addresses, innermost first; ``None`` if the id is not there (any more)."""

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None: ...


class Finisher:
    """``finish`` turns a decoded value into the finished one that ``model/text.py`` describes."""

    def __init__(
        self,
        program: Program,
        symbols: Symbols,
        stacks: Stacks,
        *,
        types: TypeTable | None = None,
        clean: Callable[[str], str] = unchanged,
    ) -> None:
        """``clean``: what is done to every text that is not the program's own."""
        self.clean = clean
        self._enums = {t.name: dict(_reversed(values)) for t, values in program.enums}
        self._sites = program.sites
        self._symbols = symbols
        self._sources = symbols if isinstance(symbols, Sources) else None
        self._lines = program.settings.show_debug_info
        self._stacks = stacks
        self._types = types
        self.mark = program.settings.truncation_mark
        self._stack_cache: dict[tuple[str, str, int, int], StackOut] = {}
        self._finishers: dict[Type, Callable[[Value], Value]] = {}
        self._clocks: dict[str, int] = {}

    def set_clock(self, offset_ns: int) -> None:
        """``nsecs`` are of a recording: how far its clock is from the epoch."""
        self._clocks = dict.fromkeys(("", "boot"), offset_ns)

    def finish(self, t: Type, v: Value) -> Value:
        f = self._finishers.get(t)
        if f is None:
            f = self._finishers[t] = self._make(t)
        return f(v)

    def finish_value(self, t: Type | Agg, v: Value) -> Value:
        """A map's value: aggregation states pass through."""
        return v if isinstance(t, Agg) else self.finish(t, v)

    def now_ns(self) -> int:
        return time.time_ns()

    def _make(self, t: Type) -> Callable[[Value], Value]:
        match t:
            case String(size=size):
                return self._text(size)
            case Enum(name=name):
                names = self._enums.get(name, {})
                return lambda v: EnumValue(v, names.get(v, ""))
            case Tuple() | Record():
                parts = [self._make(i) for i in item_types(t)]
                return lambda v: tuple(p(x) for p, x in zip(parts, v, strict=True))
            case Array(element=e):
                one = self._make(e)
                return lambda v: tuple(one(x) for x in v)
            case Struct():
                return self._struct(t)
            case Opaque():
                return self._opaque(t)
            case _:
                return lambda v: v

    def _text(self, size: int) -> Callable[[Value], Value]:
        """A text that fills its place without a NUL was cut: it gets the mark."""
        mark, clean = self.mark, self.clean
        return lambda v: clean(text_of(v)) if len(v) < size else clean(text_of(v)) + mark

    def _struct(self, t: Struct) -> Callable[[Value], Value]:
        layout = self._types.layout(t.name) if self._types else None
        if layout is None:
            return lambda v: v
        parts = []
        for m in layout.members:
            if not m.name:
                continue
            try:
                parts.append((m, decoder(m.type, self._types), self._make(m.type)))
            except TypeError:  # a member that has no stored form (a flexible array, an unknown type)
                continue

        def finish(v: bytes) -> StructValue:
            raw = bytes(v).ljust(layout.size, b"\0")
            out = []
            for m, decode, done in parts:
                x = decode(raw, m.offset)
                if m.bit_size:
                    x = (x >> m.bit_offset) & ((1 << m.bit_size) - 1)
                out.append((m.name, m.type, done(x)))
            return StructValue(tuple(out))

        return finish

    def _opaque(self, t: Opaque) -> Callable[[Value], Value]:
        makers: dict[str, Callable[[Opaque], Callable[[Value], Value]]] = {
            "kstack": self._stack,
            "ustack": self._stack,
            "ksym": lambda _: lambda v: symbol_text(self._symbols.kernel(v)),
            "usym": lambda _: lambda v: self.clean(symbol_text(self._symbols.user(v[1], v[0]))),
            "timestamp": self._timestamp,
            "inet": lambda _: inet_text,
            "mac": lambda _: lambda v: ":".join(f"{b:02X}" for b in v),
            "cgroup_path": self._cgroup,
            "container": self._container,
            "username": lambda _: lambda v: self.clean(username(v)),
            "strerror": lambda _: error_text,
            "syscall_name": lambda _: syscall_name,
            "signal_name": lambda _: signal_name,
            "probe": lambda _: lambda v: self.clean(self._sites[v].name) if v < len(self._sites) else str(v),
            "float": lambda _: short_float,
            "double": lambda _: lambda v: v,
            "func": lambda _: lambda v: self.clean(self._sites[v].func) if v < len(self._sites) else str(v),
        }
        return makers[t.kind](t)

    # --- stacks
    # ---------------------------------------------------------------------------------------------------------

    def _stack(self, t: Opaque) -> Callable[[Value], Value]:
        if t.kind == "kstack":
            return lambda v: self._stack_out(t, v, 0)
        return lambda v: self._stack_out(t, v[0], v[1])

    def _stack_out(self, t: Opaque, stack_id: int, pid: int) -> StackOut:
        key = (t.kind, t.param, stack_id, pid)
        found = self._stack_cache.get(key)
        if found is None:
            found = self._build_stack(t, stack_id, pid)
            if not found.lost:
                self._stack_cache[key] = found
        return found

    def _build_stack(self, t: Opaque, stack_id: int, pid: int) -> StackOut:
        user = t.kind == "ustack"
        mode = t.param or "bpftrace"
        addresses = self._stacks.addresses(t, stack_id) if stack_id >= 0 else None
        if addresses is None:
            # -EFAULT and -ENOENT say that there was no such stack: a kernel thread has no user frames
            return StackOut((), mode, user, pid, lost=stack_id not in (-14, -2))
        if mode == "build_id" and self._sources is not None:
            bare = [self._sources.file_frame(pid, a) for a in addresses[: t.depth or None]]
            return StackOut(tuple(bare), mode, user, pid)
        look = (lambda a: self._clean_frame(self._symbols.user(pid, a))) if user else self._symbols.kernel
        frames = [look(a) for a in addresses]
        frames = (frames if user else without_tracer(frames))[: t.depth or None]
        if self._sources is not None and self._lines and mode in ("bpftrace", "perf"):
            frames = [made for i, f in enumerate(frames) for made in self._with_sources(f, pid, user, i > 0)]
        return StackOut(tuple(frames), mode, user, pid)

    def _with_sources(self, f: Frame, pid: int, user: bool, caller: bool) -> tuple[Frame, ...]:
        assert self._sources is not None
        return tuple(map(self._clean_frame, self._sources.sources(f, pid, user=user, caller=caller)))

    def _clean_frame(self, f: Frame) -> Frame:
        if f.symbol.isprintable() and f.module.isprintable() and f.file.isprintable():
            return f
        return replace(f, symbol=self.clean(f.symbol), module=self.clean(f.module), file=self.clean(f.file))

    # --- others
    # ---------------------------------------------------------------------------------------------------------

    def _timestamp(self, t: Opaque) -> Callable[[Value], Value]:
        clock, _, form = t.param.partition(":")
        return lambda v: strftime(form, v + self._wall_offset(clock))

    def _wall_offset(self, clock: str) -> int:
        """Nanoseconds from the zero of a clock to the epoch; measured once, at the first use."""
        if clock not in self._clocks:
            number = _CLOCK_IDS.get(clock, 7)
            best = min(
                ((b - a, w - (a + b) // 2) for a, w, b in (_three(number) for _ in range(5))), key=lambda x: x[0]
            )
            self._clocks[clock] = best[1]
        return self._clocks[clock]

    def _container(self, t: Opaque) -> Callable[[Value], Value]:
        from probescope.kernel.containers import container_name

        return lambda v: self.clean(container_name(v))

    def _cgroup(self, t: Opaque) -> Callable[[Value], Value]:
        from probescope.kernel.cgroups import cgroup_path

        return lambda v: f"unified:{self.clean(path)}" if (path := cgroup_path(v)) else f"unknown:{v}"


_CLOCK_IDS = {"": 7, "boot": 7, "monotonic": 1, "tai": 11, "sw_tai": 11, "realtime": 0}  # clockid_t of <time.h>


def _three(clock: int) -> tuple[int, int, int]:
    return time.clock_gettime_ns(clock), time.time_ns(), time.clock_gettime_ns(clock)


def _reversed(values: tuple[tuple[str, int], ...]) -> list[tuple[int, str]]:
    """Number to name; of several names the first one counts."""
    return [(n, name) for name, n in reversed(values)]


def text_of(v: bytes) -> str:
    """Bytes that are not UTF-8 survive the way to the terminal unchanged."""
    return v.decode("utf-8", "surrogateescape")


TRACER_PREFIXES = (
    "bpf_prog_",
    "bpf_trace_run",
    "__bpf_trace_",
    "bpf_get_stack",
    "__traceiter_",
    "bpf_overflow_handler",
)
TRACER_NAMES = frozenset({"trace_call_bpf", "perf_call_bpf_enter", "perf_call_bpf_exit", "kprobe_multi_link_prog_run"})


def without_tracer(frames: list[Frame]) -> list[Frame]:
    """Kernel stacks as seen from a raw tracepoint begin with the frames of the tracing code: they are left out."""
    at = 0
    while at < len(frames) and (frames[at].symbol in TRACER_NAMES or frames[at].symbol.startswith(TRACER_PREFIXES)):
        at += 1
    return frames[at:]


def short_float(v: float) -> float:
    """One of 4 bytes as the shortest number that is the same in 4 bytes: 0.1, not 0.10000000149011612."""
    if not math.isfinite(v):
        return v
    exact = struct.pack("=f", v)
    shown = (float(f"{v:.{digits}g}") for digits in (6, 7, 8))
    return next((x for x in shown if abs(x) < 3.4e38 and struct.pack("=f", x) == exact), v)


def symbol_text(f: Frame) -> str:
    return f.symbol or f"{f.address:#x}"


def inet_text(v: bytes) -> str:
    """Dotted, or by RFC 5952: the longest run of zero groups becomes ``::``."""
    if len(v) != 16:
        return ".".join(map(str, v))
    if v[:12] == bytes(10) + b"\xff\xff":
        return "::ffff:" + inet_text(v[12:])
    groups = [f"{v[i] << 8 | v[i + 1]:x}" for i in range(0, 16, 2)]
    start, length = _zeros(groups)
    if length < 2:
        return ":".join(groups)
    return ":".join(groups[:start]) + "::" + ":".join(groups[start + length :])


def _zeros(groups: list[str]) -> tuple[int, int]:
    """Start and length of the first longest run of zero groups."""
    best = (0, 0)
    at = 0
    while at < len(groups):
        end = at
        while end < len(groups) and groups[end] == "0":
            end += 1
        if end - at > best[1]:
            best = (at, end - at)
        at = end + 1
    return best


def strftime(form: str, wall_ns: int) -> str:
    """``time.strftime`` with ``%f`` for microseconds."""
    return time.strftime(form.replace("%f", f"{wall_ns // 1000 % 10**6:06d}"), time.localtime(wall_ns // 10**9))


def username(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def error_text(number: int) -> str:
    import os

    return os.strerror(number)


def syscall_name(number: int) -> str:
    import os

    from probescope.model.syscalls import names

    return names(os.uname().machine).get(number, f"[unknown: {number}]")


def signal_name(number: int) -> str:
    from probescope.kernel.signals import name_of

    return name_of(number)
