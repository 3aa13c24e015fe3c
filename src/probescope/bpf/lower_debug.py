"""``debugf``: text into the kernel's own trace (/sys/kernel/tracing/trace_pipe), by bpf_trace_vprintk.

    constants   "text %lld %s", NUL           stack or scratch   [number][address of a text] ...     8 bytes each

The kernel formats: it knows d i u x X and s, with width and flags but no precision; what else there is, and kernels
before 5.16 ("bpf: Add bpf_trace_vprintk helper"), leave the text to user space, where debugf goes to stderr.
Source: bpf_bprintf_prepare of kernel/bpf/helpers.c.
"""

from __future__ import annotations

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_scalar import narrow
from probescope.bpf.pieces import CONSTANTS
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action
from probescope.model.format import Conv
from probescope.model.types import Int, String, Type, is_integer, is_scalar

FEATURE = "helper:trace_vprintk"
MOST_VALUES = 12  # MAX_BPRINTF_VARARGS
_SIZES = {"hh": 1, "h": 2, "": 4}
_FLAGS = frozenset("0+- ")
_ELSEWHERE = "debugf() prints to stderr: "


def debug(l: Lower, st: s.Emit, action: Action) -> bool:
    """Whether the kernel prints it."""
    text = kernel_format(action)
    if text is None:
        l.pieces.note(f"{_ELSEWHERE}the kernel's own formats lack something of it")
        return False
    if not l.features.has(FEATURE):
        l.pieces.note(f"{_ELSEWHERE}this kernel does not let programs print into its trace (bpf_trace_vprintk)")
        return False
    b, conversions = l.b, action.format.conversions if action.format is not None else ()
    data = b.const(0)
    if conversions:
        place = l.temp(8 * len(conversions))
        for i, (conv, value) in enumerate(zip(conversions, st.values, strict=True)):
            b.store(place.base, place.off + 8 * i, _word(l, conv, value), 8)
        data = l.address(place)
    fmt = b.map_value(l.pieces.use(CONSTANTS), l.pieces.constant(text))
    b.call("trace_vprintk", fmt, b.const(len(text)), data, b.const(8 * len(conversions)))
    return True


def _word(l: Lower, conv: Conv, value: x.Expr) -> Reg:
    """A number, cut as C does it without a length, or the address of a text that ends."""
    if isinstance(value.type, String):
        place = l.temp_text(value.type.size)
        l.into(value, place)
        l.b.store_imm(place.base, place.off + value.type.size, 0, 1)
        return l.plain(l.address(place))
    number = l.scalar(value)
    size = _SIZES.get(conv.length, 8) if conv.kind != "p" else 8
    return narrow(l, number, Int(size, conv.kind in "di")) if size < 8 else number


def kernel_format(action: Action) -> bytes | None:
    """The format as the kernel takes it, with its NUL; ``None`` if it cannot say the same."""
    if action.format is None or len(action.types) > MOST_VALUES:
        return None
    out = []
    types = iter(action.types)
    for part in action.format.parts:
        made = part.replace("%", "%%") if isinstance(part, str) else _conversion(part, next(types))
        if made is None:
            return None
        out.append(made)
    text = "".join(out)
    fine = text.isascii() and all(c.isprintable() or c.isspace() for c in text)
    return text.encode() + b"\0" if fine else None


def _conversion(c: Conv, t: Type) -> str | None:
    if c.precision >= 0 or not _FLAGS.issuperset(c.flags):
        return None
    width = c.flags + (str(c.width) if c.width > 0 else "")
    if c.kind == "s":
        return f"%{width}s" if isinstance(t, String) else f"%{width}lld" if isinstance(t, Int) else None
    if c.kind == "p":
        return "0x%llx" if is_scalar(t) and not width else None
    return f"%{width}ll{c.kind}" if c.kind in "diuxX" and is_integer(t) else None
