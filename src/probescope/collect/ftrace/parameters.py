"""What functions of the kernel are given, as people read it: names and types from BTF, values from registers."""

from __future__ import annotations

from probescope.errors import BtfError
from probescope.model.types import Enum, Int, Pointer, Type

Parameters = tuple[tuple[str, Type], ...] | None
"""(name, type); ``None``: not known."""


def parameters(function: str) -> Parameters:
    """Of ``name`` or ``name [module]``."""
    from probescope.sources.kernel_btf import VMLINUX, functions

    name, _, module = function.partition(" [")
    try:
        known = functions(module.rstrip("]") or VMLINUX)
        found = known.find(name) if known else None
    except BtfError:
        return None
    return tuple((p.name, p.type) for p in found.params) if found else None


def described(params: Parameters, values: tuple[int, ...]) -> str:
    if params is None:
        return ", ".join(map(hex, values))
    shown = [f"{name}={_value(kind, value)}" for (name, kind), value in zip(params, values, strict=False)]
    return ", ".join([*shown, "..."] if len(params) > len(values) else shown)


def _value(kind: Type, value: int) -> str:
    """Signed numbers in decimal, of their own size; all else in hexadecimal."""
    match kind:
        case Int(size=size, signed=signed):
            number = value & (1 << 8 * size) - 1
            if signed:
                return str(number - (1 << 8 * size) if number >> (8 * size - 1) else number)
            return f"{number:#x}"
        case Enum():
            return str(value & 0xFFFFFFFF)
        case Pointer():
            return f"{value:#x}"
        case _:
            return f"{value:#x}"
