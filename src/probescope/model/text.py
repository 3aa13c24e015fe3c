"""Finished values as text, in one place for every collector: plain values, printf conversions, stacks.

Finished means: String is ``str``, Buffer ``bytes``, an opaque value ``str`` or ``StackOut``, tuples and records
``tuple``, structs a tuple of (name, value) pairs, enums ``EnumValue``.
"""

from __future__ import annotations

from typing import Any

from probescope.frozen import dataclass
from probescope.model.aggregate import divide
from probescope.model.format import Conv, Format
from probescope.model.output import Frame, StackOut
from probescope.model.types import Array, Bool, Pointer, Record, Tuple, Type


@dataclass(frozen=True, slots=True)
class EnumValue:
    """A number and the name of the constant that it is; the name is empty where there is none."""

    value: int
    name: str = ""

    def __str__(self) -> str:
        return self.name or str(self.value)

    def __int__(self) -> int:
        return self.value


@dataclass(frozen=True, slots=True)
class Ratio:
    """An average that knows its fraction: an integer wherever none is asked for."""

    total: int
    count: int

    def __int__(self) -> int:
        return divide(self.total, self.count)

    def __float__(self) -> float:
        return self.total / self.count if self.count else 0.0

    def __str__(self) -> str:
        return str(int(self))


@dataclass(frozen=True, slots=True)
class StructValue:
    """A struct's members, by name, finished."""

    members: tuple[tuple[str, Type, Any], ...]


def value_text(t: Type | None, v: Any) -> str:
    """As ``print`` writes it: tuples ``(1, abc)``, arrays ``[1,2]``, records and structs ``{ .a = 1, .b = 2 }``."""
    match t:
        case Bool():
            return "true" if v else "false"
        case Pointer():
            return f"{v:#x}"
        case Tuple(items=items):
            return "(" + ", ".join(value_text(i, x) for i, x in zip(items, v, strict=True)) + ")"
        case Record(fields=fields):
            return _braces([(n, value_text(i, x)) for (n, i), x in zip(fields, v, strict=True)])
        case Array(element=e):
            return "[" + ",".join(value_text(e, x) for x in v) + "]"
        case _:
            return _plain_text(v)


def _plain_text(v: Any) -> str:
    if isinstance(v, StructValue):
        return _braces([(n, value_text(i, x)) for n, i, x in v.members])
    if isinstance(v, StackOut):
        return stack_text(v)
    if isinstance(v, bytes):
        return buffer_text(v)
    return str(v)


def _braces(pairs: list[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f".{n} = {x}" for n, x in pairs) + " }" if pairs else "{}"


def key_text(t: Type | None, v: Any) -> str:
    """Inside the brackets of a map's key: the items of a tuple without its parentheses."""
    if isinstance(t, Tuple):
        return ", ".join(value_text(i, x) for i, x in zip(t.items, v, strict=True))
    return value_text(t, v)


def buffer_text(v: bytes, *, ascii_kept: bool = True, escaped: bool = True) -> str:
    r"""Bytes as ``%r`` (printable ones kept, others ``\x00``), ``%rx`` (all as ``\x00``) or ``%rh`` (``00 01``)."""
    if not escaped:
        return v.hex(" ")
    if not ascii_kept:
        return "".join(f"\\x{b:02x}" for b in v)
    return "".join(chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}" for b in v)


# --- stacks
# -------------------------------------------------------------------------------------------------------------


BARE = ("raw", "build_id")
"""Modes of stacks that name nothing."""


def stack_text(s: StackOut, indent: int = 8) -> str:
    """One frame a line, each indented but for modes raw and build_id, with a newline before the first and after the
    last, as in a map's key."""
    pad = "" if s.mode in BARE else " " * indent
    return "\n" + "".join(f"{pad}{frame_text(f, s.mode)}\n" for f in s.frames)


def frame_text(f: Frame, mode: str = "bpftrace") -> str:
    """``symbol+offset@file:line``; with mode perf ``address symbol+offset (module)``, with mode raw the address;
    with mode build_id ``build-id offset`` in the file, and the address where there is no file."""
    if mode in BARE:
        return f"{f.build_id} {f.offset:#x}" if f.build_id and mode == "build_id" else f"{f.address:x}"
    if mode == "perf":
        if f.inlined:
            return f"{f.address:x} {f.symbol} (inlined)"
        name = f"{f.symbol}+{f.offset}" if f.symbol else "[unknown]"
        return f"{f.address:x} {name} ({f.module or '[unknown]'})"
    if f.symbol:
        name = f"[inlined] {f.symbol}" if f.inlined else f"{f.symbol}+{f.offset}"
        return f"{name}@{f.file}:{f.line}" if f.file else name
    # an address that no symbol covers still says which file it is in
    return f"{f.address:#x} ({f.module})" if f.module else f"{f.address:#x}"


# --- printf
# -------------------------------------------------------------------------------------------------------------

_BITS = {"hh": 8, "h": 16, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64, "q": 64, "L": 64}


def format_text(f: Format, types: tuple[Type, ...], values: tuple[Any, ...]) -> str:
    """Apply a format. Conversions have C's meaning: without a length, integers are cut to 32 bits."""
    out, at = [], 0
    for part in f.parts:
        if isinstance(part, str):
            out.append(part)
        else:
            out.append(convert(part, types[at], values[at]))
            at += 1
    return "".join(out)


def convert(c: Conv, t: Type, v: Any) -> str:
    """One conversion, padded to its width."""
    if c.kind in "diuxXoc" or c.kind == "p":
        return _pad(c, _integer(c, v), numeric=c.kind not in "cp")
    if c.kind in "feg":
        return _with_fraction(c, v)
    text = _FORMS[c.kind](t, v)
    if c.kind == "s" and c.precision >= 0:
        text = text[: c.precision]
    return _pad(c, text, numeric=False)


def _integer(c: Conv, v: Any) -> str:
    n = _number(v)
    if n is None:
        return value_text(None, v)
    if c.kind == "p":
        return f"{n & 0xFFFFFFFFFFFFFFFF:#x}"
    if c.kind == "c":
        return chr(n & 0xFF)
    bits = _BITS.get(c.length, 32)
    n &= (1 << bits) - 1
    if c.kind in "di":
        n -= (1 << bits) if n >> (bits - 1) else 0
        return _signed_text(c, n)
    digits = {"u": f"{n}", "x": f"{n:x}", "X": f"{n:X}", "o": f"{n:o}"}[c.kind]
    if c.precision >= 0:
        digits = digits.rjust(c.precision, "0")
    prefix = {"x": "0x", "X": "0X", "o": "0"}.get(c.kind, "") if "#" in c.flags and n else ""
    return prefix + digits


def _with_fraction(c: Conv, v: Any) -> str:
    """Python's own ``%`` is C's for these. A pair of integers is printed as their quotient."""
    given: Any = Ratio(int(v[0]), int(v[1])) if isinstance(v, tuple) and len(v) == 2 else v
    try:
        number = float(given)
    except (TypeError, ValueError):
        return _pad(c, value_text(None, v), numeric=False)
    width = str(c.width) if c.width >= 0 else ""
    precision = f".{c.precision}" if c.precision >= 0 else ""
    return f"%{c.flags.replace(chr(39), '')}{width}{precision}{c.kind}" % number


def _signed_text(c: Conv, n: int) -> str:
    digits = str(abs(n))
    if c.precision >= 0:
        digits = digits.rjust(c.precision, "0")
    sign = "-" if n < 0 else "+" if "+" in c.flags else " " if " " in c.flags else ""
    return sign + digits


def _number(v: Any) -> int | None:
    try:
        return int(v)
    except (TypeError, ValueError):
        return None


def _pad(c: Conv, text: str, *, numeric: bool) -> str:
    if len(text) >= c.width:
        return text
    if "-" in c.flags:
        return text.ljust(c.width)
    if "0" in c.flags and numeric and c.precision < 0:
        cut = len(text) - len(text.lstrip("+- "))
        cut += 2 if text[cut : cut + 2] in ("0x", "0X") else 0
        return text[:cut] + text[cut:].rjust(c.width - cut, "0")
    return text.rjust(c.width)


def _gfp(_t: Type, v: Any) -> str:
    from probescope.model.gfp import gfp_text

    return gfp_text(int(v))


def _buffer(ascii_kept: bool, escaped: bool) -> Any:
    def form(t: Type, v: Any) -> str:
        return buffer_text(v, ascii_kept=ascii_kept, escaped=escaped) if isinstance(v, bytes) else value_text(t, v)

    return form


_FORMS: dict[str, Any] = {
    "s": value_text,
    "r": _buffer(True, True),
    "rx": _buffer(False, True),
    "rh": _buffer(False, False),
    "gr": _gfp,
}
