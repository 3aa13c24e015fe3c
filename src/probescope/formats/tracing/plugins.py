"""Events that trace-cmd and perf show in forms of their own, by libtraceevent's plugins, not by their print format.

Source: plugins of libtraceevent (sched_switch, hrtimer, kmem, futex, tlb).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import FormatError
from probescope.formats.tracing import tree as t
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.parser import parse_print_fmt
from probescope.formats.tracing.texts import Memo

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventType, RawField

Make = Callable[[Records], list[Any]]
Form = tuple[str, tuple[Make, ...]]
STATES = "SDTtXZPI"
MOST = (1 << 64) - 1


def form(event: EventType, c: Context) -> Form | None:
    """A template for Python's ``%`` and its columns; None: the event has no other form."""
    maker = _FORMS.get(event.name)
    return maker(event, c) if maker else None


def prefix(event: EventType, c: Context) -> Make | None:
    """What stands before an allocation's own text: its caller, where it is known."""
    field = event.field("call_site")
    if event.name not in _CALL_SITES or field is None:
        return None

    def caller(address: int) -> str:
        found = c.plain(address)
        return f"({found[0]}+0x{address - found[1]:x}) " if found else ""

    memo = Memo(caller)
    return lambda r: list(map(memo.__getitem__, r.number(field.offset, field.size).tolist()))


def number(field: RawField) -> Make:
    return lambda r: r.field(field).view(np.int64).tolist()


def unsigned(field: RawField) -> Make:
    return lambda r: r.number(field.offset, field.size).tolist()


def text(field: RawField) -> Make:
    return lambda r: r.strings(field)


def _wakeup(event: EventType, c: Context) -> Form | None:
    pid = event.field("pid")
    if pid is None:
        return None
    template, makers = "%d", [unsigned(pid)]
    comm = event.field("comm")
    if comm:
        template, makers = "%s:%d", [text(comm), unsigned(pid)]
    for name, shown in (("prio", " [%d]"), ("success", " success=%d"), ("target_cpu", " CPU:%03d")):
        field = event.field(name)
        if field:
            template += shown
            makers.append(unsigned(field))
    return template, tuple(makers)


def _switch(event: EventType, c: Context) -> Form | None:
    template, makers = "", []
    for side in ("prev", "next"):
        pid, comm, prio = (event.field(f"{side}_{name}") for name in ("pid", "comm", "prio"))
        if pid is None:
            return None
        if comm:
            template += "%s:"
            makers.append(text(comm))
        template += "%d"
        makers.append(unsigned(pid))
        if prio:
            template += " [%d]"
            makers.append(number(prio))
        if side == "prev":
            state = event.field("prev_state")
            template += " %s ==> " if state else " R ==> "
            if state:
                makers.append(_states(state, _letters(event, c)))
    return template, tuple(makers)


def _states(field: RawField, letters: str) -> Make:
    def shown(value: int) -> str:
        return "|".join(letter for i, letter in enumerate(letters) if value >> i & 1) or "R"

    memo = Memo(shown)
    return lambda r: list(map(memo.__getitem__, r.number(field.offset, field.size).tolist()))


def _letters(event: EventType, c: Context) -> str:
    """Of states by bit, as the event's own print format has them."""
    try:
        args = parse_print_fmt(event, c.long_size).args
    except FormatError:
        return STATES
    for arg in args:
        flags = _find_flags(arg)
        if flags:
            letters: dict[int, str] = {}
            for value, name in flags.names:
                bit = (value & -value).bit_length() - 1
                if 0 <= bit < 16 and name:
                    letters[bit] = name[0]
            return "".join(letters.get(i, "") or "?" for i in range(max(letters) + 1)) if letters else STATES
    return STATES


def _find_flags(node: t.Node) -> t.Flags | None:
    match node:
        case t.Flags():
            return node
        case t.Cond():
            return _find_flags(node.test) or _find_flags(node.yes) or _find_flags(node.no)
        case t.Binary():
            return _find_flags(node.left) or _find_flags(node.right)
        case _:
            return None


def _function(field: RawField, c: Context) -> Make:
    def shown(address: int) -> str:
        found = c.plain(address)
        return f"{found[0]}/0x{found[1] - address & MOST:x}" if found else f"0x{address:08x}"

    memo = Memo(shown)
    return lambda r: list(map(memo.__getitem__, r.number(field.offset, field.size).tolist()))


def _hrtimer(parts: tuple[tuple[str, str], ...]) -> Callable[[EventType, Context], Form | None]:
    def made(event: EventType, c: Context) -> Form | None:
        timer = event.field("timer") or event.field("hrtimer")
        if timer is None:
            return None
        template, makers = "hrtimer=0x%x", [unsigned(timer)]
        for label, name in parts:
            field = event.field(name)
            if field:
                template += f" {label}=%s"
                makers.append(_function(field, c) if name == "function" else unsigned(field))
        return template, tuple(makers)

    return made


_FUTEX = (
    ("WAIT", " val=0x%08x", " utime=0x%08x", "", ""),
    ("WAKE", " val=%d", "", "", ""),
    ("FD", " val=%d", "", "", ""),
    ("REQUEUE", " val=%d", " val2=%d", " uaddr2=0x%08x", ""),
    ("CMP_REQUEUE", " val=%d", " val2=%d", " uaddr2=0x%08x", " val3=0x%08x"),
    ("WAKE_OP", " val=%d", " val2=%d", " uaddr2=0x%08x", " val3=0x%08x"),
    ("LOCK_PI", "", " utime=0x%08x", "", ""),
    ("UNLOCK_PI", "", "", "", ""),
    ("TRYLOCK_PI", "", "", "", ""),
    ("WAIT_BITSET", " val=0x%08x", " utime=0x%08x", "", " val3=0x%08x"),
    ("WAKE_BITSET", " val=%d", "", "", " val3=0x%08x"),
    ("WAIT_REQUEUE_PI", " val=0x%08x", " utime=0x%08x", " uaddr2=0x%08x", " val3=0x%08x"),
    ("CMP_REQUEUE_PI", " val=%d", " val2=%d", " uaddr2=0x%08x", " val3=0x%08x"),
)


def _futex(event: EventType, c: Context) -> Form | None:
    fields = [event.field(name) for name in ("op", "uaddr", "val", "utime", "uaddr2", "val3")]
    known = [f for f in fields if f is not None]
    if len(known) < len(fields):
        return None

    def show(r: Records) -> list[str]:
        columns = [r.number(f.offset, f.size).tolist() for f in known]
        return [_futex_text(*values) for values in zip(*columns, strict=True)]

    return "%s", (show,)


def _futex_text(op: int, address: int, *values: int) -> str:
    command = op & ~0x180
    if command >= len(_FUTEX):
        return f"op=0x{op:x} uaddr=0x{address:08x}"
    name, *formats = _FUTEX[command]
    out = (
        f"op=FUTEX_{name}" + ("|FUTEX_PRIVATE_FLAG" if op & 128 else "") + ("|FUTEX_CLOCK_REALTIME" if op & 256 else "")
    )
    out += f" uaddr=0x{address:08x}"
    return out + "".join(shown % value for shown, value in zip(formats, values, strict=True) if shown)


_TLB = ("flush on task switch", "remote shootdown", "local shootdown", "local mm shootdown")


def _tlb(event: EventType, c: Context) -> Form | None:
    pages, reason = event.field("pages"), event.field("reason")
    if pages is None or reason is None:
        return None
    memo = Memo(lambda v: f"{_TLB[v] if v < len(_TLB) else ''} ({v})")
    return "pages=%d reason=%s", (number(pages), lambda r: list(map(memo.__getitem__, unsigned(reason)(r))))


_FORMS: dict[str, Callable[[EventType, Context], Form | None]] = {
    "sched:sched_switch": _switch,
    "sched:sched_wakeup": _wakeup,
    "sched:sched_wakeup_new": _wakeup,
    "timer:hrtimer_expire_entry": _hrtimer((("now", "now"), ("function", "function"))),
    "timer:hrtimer_start": _hrtimer((("function", "function"), ("expires", "expires"), ("softexpires", "softexpires"))),
    "syscalls:sys_enter_futex": _futex,
    "tlb:tlb_flush": _tlb,
}
_ALLOCATIONS = ("kfree", "kmalloc", "kmalloc_node", "kmem_cache_alloc", "kmem_cache_alloc_node", "kmem_cache_free")
_CALL_SITES = {f"kmem:{name}" for name in _ALLOCATIONS}
