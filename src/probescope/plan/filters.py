"""Predicates as filters of the kernel: PERF_EVENT_IOC_SET_FILTER takes comparisons of a tracepoint's fields.

    args.prev_prio > 4 && comm == "bash"        prev_prio > 4 && COMM == "bash"
    args.a == 1 || args.b == 2                  (a == 1 || b == 2)
    strglob(args.name, "lib*")                  name ~ "lib*"

A filter never drops what the predicate accepts: of ``&&`` those parts are taken that can be said, of ``||`` both or
none. What the filter lets pass is looked at by the predicate all the same, so that it may be wider.
Source: kernel/trace/trace_events_filter.c; Documentation/trace/events.rst, "Event filtering".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from probescope.frozen import dataclass
from probescope.ir import expr as e
from probescope.ir.program import Clause
from probescope.model.site import CtxBytes, CtxLoad, DataLoc, Site, TracepointAttach
from probescope.model.types import U64, Bool, Enum, Int, String, signed, width

LONGEST = 4096
"""Characters of a filter: the ioctl takes no more than a page."""
MOST_TEXT = 200  # MAX_FILTER_STR_VAL is 256
_OPS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_PLAIN = re.compile(rb"[\w ./:,+@=<>()%#-]+")
_GLOB = re.compile(rb"[\w ./:,+@=<>()%#*-]+")


@dataclass(frozen=True, slots=True)
class Filtered:
    """``text``: the kernel's filter, empty for none. ``whole``: it says all that the predicate does; else ``rest``
    tells, in words, what is left to user space."""

    text: str = ""
    whole: bool = False
    rest: tuple[str, ...] = ()


Fetched = Callable[[e.Expr], str]
"""The field of a dynamic event that holds an argument, a result or a register, all of it; empty if none does."""


@dataclass(frozen=True, slots=True)
class _At:
    """Where a filter is for."""

    site: Site
    fetched: Fetched | None


def filtered(predicate: e.Expr | None, site: Site, fetched: Fetched | None = None) -> Filtered:
    """What the kernel can filter of a predicate, for one site. ``fetched``: where probes are dynamic events."""
    if predicate is None:
        return Filtered(whole=True)
    if fetched is None and not isinstance(site.attach, TracepointAttach):
        return Filtered(rest=("only tracepoints have filters",))
    said: list[str] = []
    rest: list[str] = []
    for part in _parts(predicate):
        try:
            said.append(_term(part, _At(site, fetched)))
        except _Cannot as why:
            rest.append(str(why))
    text = " && ".join(said)
    if len(text) > LONGEST:
        return Filtered(rest=("the filter would be too long",))
    return Filtered(text, not rest, tuple(dict.fromkeys(rest)))


def reason(clause: Clause, by_rows: str, fetched: Fetched | None = None) -> str:
    """What of a clause is done where: by the kernel, and in user space."""
    found = filtered(clause.predicate, clause.sites[0], fetched)
    said: list[str] = []
    if clause.predicate is not None:
        said.append(f"the kernel filters by {found.text}" if found.text else "the kernel filters nothing")
        if not found.whole:
            said.append(f"user space has the rest of the predicate: {' and '.join(found.rest)}")
    said.append(f"a row at a time: {by_rows}" if by_rows else "over columns of many events at once")
    return "; ".join(said)


class _Cannot(Exception):
    """Why a part is left to user space."""


def _parts(x: e.Expr) -> Iterator[e.Expr]:
    if isinstance(x, e.Logic) and x.op == "and":
        yield from _parts(x.a)
        yield from _parts(x.b)
    else:
        yield x


def _term(x: e.Expr, at: _At) -> str:
    match x:
        case e.Logic(op=op, a=a, b=b):
            return f"({_term(a, at)} {'&&' if op == 'and' else '||'} {_term(b, at)})"
        case e.Binary(op=op, a=a, b=e.Const() as c) if op in _OPS:
            return _compared(op, a, c, at)
        case e.Binary(op=op, a=e.Const() as c, b=b) if op in _OPS:
            return _compared(_TURNED[op], b, c, at)
        case e.Cast(type=Bool(), x=e.Binary(op="and", a=a, b=e.Const(value=int() as mask))):
            name, _, high = _integer(a, at)
            if not 0 < mask <= high:
                raise _Cannot("a constant that the field cannot have")
            return f"{name} & {mask}"
        case e.Cast(type=Bool(), x=inner) if isinstance(inner, e.Field | e.Cast):  # whether a number is not zero
            return f"{_integer(inner, at)[0]} != 0"
        case e.Call(name="strglob", args=(e.Field() as f, e.Const(value=bytes() as glob))):
            return f'{_text(f, at)} ~ "{_quoted(glob, _GLOB)}"'
        case _:
            raise _Cannot("more than comparisons of fields with constants")


def _compared(op: str, x: e.Expr, c: e.Const, at: _At) -> str:
    if isinstance(c.value, bytes):
        if op not in ("eq", "ne"):
            raise _Cannot("texts by their order")
        if isinstance(x.type, String) and len(c.value) >= x.type.size:
            raise _Cannot("a text as long as the field")
        name = "COMM" if isinstance(x, e.Context) and x.name == "comm" else _text(x, at)
        return f'{name} {_OPS[op]} "{_quoted(c.value, _PLAIN)}"'
    name, low, high = _integer(x, at)
    if not low <= c.value <= high:
        raise _Cannot("a constant that the field cannot have")
    return f"{name} {_OPS[op]} {c.value}"


def _integer(x: e.Expr, at: _At) -> tuple[str, int, int]:
    """Name and range of a field behind casts that keep its value."""
    while isinstance(x, e.Cast) and _keeps(x):
        x = x.x
    if isinstance(x, e.Context) and x.name == "tid" and not x.arg:
        return "common_pid", 0, (1 << 31) - 1
    if isinstance(x, e.Context) and x.name == "cpu":
        return "CPU", 0, (1 << 31) - 1
    if isinstance(x, e.Context):
        raise _Cannot(f"{x.name} (no field of the event)")
    if at.fetched is not None and x.type == U64 and (name := at.fetched(x)):
        return name, 0, (1 << 64) - 1
    if not isinstance(x, e.Field) or not isinstance(x.type, Int | Enum):
        raise _Cannot("more than comparisons of fields with constants")
    found, attach = at.site.field(x.name), at.site.attach
    assert isinstance(attach, TracepointAttach)
    if found is None or not isinstance(found.where, CtxLoad):
        raise _Cannot(f"args.{x.name} is not a number in the record")
    if attach.syscall >= 0 and width(x.type) < 8 and x.name != "__syscall_nr":
        raise _Cannot(
            f"args.{x.name} has rubbish above its {8 * width(x.type)} bits, which the kernel would compare too"
        )
    bits = 8 * width(x.type)
    return (x.name, -(1 << bits - 1), (1 << bits - 1) - 1) if signed(x.type) else (x.name, 0, (1 << bits) - 1)


def integer_field(x: e.Expr, site: Site) -> tuple[str, str]:
    """The name that filters have for a number of a tracepoint; or nothing, and why there is none."""
    try:
        return _integer(x, _At(site, None))[0], ""
    except _Cannot as why:
        return "", str(why)


def _keeps(x: e.Cast) -> bool:
    """Whether every value of the operand's type is the same in the new one."""
    of, to = x.x.type, x.type
    if not (isinstance(of, Int | Enum) and isinstance(to, Int | Enum)):
        return False
    if signed(of):
        return signed(to) and width(to) >= width(of)
    return width(to) > width(of) or (width(to) == width(of) and not signed(to))


def _text(x: e.Expr, at: _At) -> str:
    if isinstance(x, e.Field) and isinstance(x.type, String):
        found = at.site.field(x.name)
        if found is not None and isinstance(found.where, CtxBytes | DataLoc):
            return x.name
    raise _Cannot("more than comparisons of fields with constants")


def _quoted(value: bytes, allowed: re.Pattern[bytes]) -> str:
    if len(value) > MOST_TEXT or not allowed.fullmatch(value):
        raise _Cannot("a text that filters cannot spell")
    return value.decode("ascii")
