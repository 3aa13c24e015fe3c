"""Bytes <-> Python values, by type, as laid out in ``model/abi.py``.

Values on the Python side, here and in evaluate/: integers, enums and pointers are ``int``; booleans ``bool``; String
and Buffer ``bytes`` (a String ends before its first NUL); tuples, records and arrays ``tuple``; structs ``bytes``;
opaques their numbers:

    kstack id     ustack (id, pid)     ksym address     usym (address, pid)     inet, mac: bytes     the others: int

``decoder`` and ``encoder`` do the work of looking at a type once, and return a function to call for each value.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Packer
from typing import Any

from probescope.model.abi import RecordLayout, has_tail, item_types, offsets, size_align
from probescope.model.types import (
    Array,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    String,
    Struct,
    Tuple,
    Type,
    TypeTable,
    signed,
    width,
    wrap,
)

Value = Any
Bytes = bytes | bytearray | memoryview
Decoder = Callable[[Bytes, int], Value]
Encoder = Callable[[Value], bytes]

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_OPAQUE_CODES = {"kstack": "iI", "ustack": "iI", "usym": "QIxxxx", "strerror": "i", "float": "f", "double": "d"}


def _packer(t: Type) -> Packer:
    code = _CODES[width(t)]
    return Packer("=" + (code.lower() if signed(t) else code))


def decoder(t: Type, types: TypeTable | None = None) -> Decoder:
    """``(bytes, offset) -> value``. Raises ``struct.error`` (a ``ValueError`` subclass it is not) when bytes are
    missing."""
    match t:
        case Bool():
            return lambda b, at: b[at] != 0
        case Int() | Enum() | Pointer():
            unpack = _packer(t).unpack_from
            return lambda b, at: unpack(b, at)[0]
        case String(size=n):
            return lambda b, at: bytes(b[at : at + n]).split(b"\0", 1)[0]
        case Buffer(size=n):
            length = Packer("=I").unpack_from
            return lambda b, at: bytes(b[at + 4 : at + 4 + min(n, length(b, at)[0])])
        case Tuple() | Record():
            return _items_decoder(item_types(t), types)
        case Array(element=e, count=n):
            return _array_decoder(e, n, types)
        case Opaque():
            return _opaque_decoder(t)
        case Struct():
            size = size_align(t, types)[0]
            return lambda b, at: bytes(b[at : at + size])
        case _:
            raise TypeError(f"{t} is not a stored type")


def _items_decoder(items: tuple[Type, ...], types: TypeTable | None) -> Decoder:
    at, _ = offsets(items, types)
    parts = [(o, decoder(t, types)) for o, t in zip(at, items, strict=True)]
    return lambda b, start: tuple(d(b, start + o) for o, d in parts)


def _array_decoder(element: Type, count: int, types: TypeTable | None) -> Decoder:
    size = size_align(element, types)[0]
    one = decoder(element, types)
    return lambda b, at: tuple(one(b, at + i * size) for i in range(count))


def _opaque_decoder(t: Opaque) -> Decoder:
    match t.kind:
        case "inet":
            return lambda b, at: bytes(b[at + 1 : at + 1 + min(b[at], 16)])
        case "mac":
            return lambda b, at: bytes(b[at : at + 6])
        case "ustack" | "usym":
            unpack = Packer("=" + _OPAQUE_CODES[t.kind]).unpack_from
            return unpack
        case _:
            code = _OPAQUE_CODES.get(t.kind, _CODES[size_align(t)[0]])
            unpack = Packer("=" + code).unpack_from
            return lambda b, at: unpack(b, at)[0]


def encoder(t: Type, types: TypeTable | None = None) -> Encoder:
    """``value -> bytes`` of exactly the type's size; too long strings and buffers are cut."""
    match t:
        case Bool():
            return lambda v: b"\1" if v else b"\0"
        case Int() | Enum() | Pointer():
            pack = _packer(t).pack
            return lambda v: pack(wrap(int(v), t))
        case String(size=n):
            return lambda v: bytes(v).split(b"\0", 1)[0][:n].ljust(n, b"\0")
        case Buffer(size=n):
            pad = size_align(t)[0] - 4
            return lambda v: len(v[:n]).to_bytes(4, _order()) + bytes(v[:n]).ljust(pad, b"\0")
        case Tuple() | Record():
            return _items_encoder(t, types)
        case Array(element=e, count=n):
            one = encoder(e, types)
            return lambda v: b"".join(one(v[i]) for i in range(n))
        case Opaque():
            return _opaque_encoder(t)
        case Struct():
            size = size_align(t, types)[0]
            return lambda v: bytes(v[:size]).ljust(size, b"\0")
        case _:
            raise TypeError(f"{t} is not a stored type")


def _order() -> Any:
    import sys

    return sys.byteorder


def _items_encoder(t: Type, types: TypeTable | None) -> Encoder:
    items = item_types(t)
    total = size_align(t, types)[0]
    at, _ = offsets(items, types)
    parts = [(o, encoder(i, types)) for o, i in zip(at, items, strict=True)]

    def encode(value: Value) -> bytes:
        out = bytearray(total)
        for (o, e), v in zip(parts, value, strict=True):
            raw = e(v)
            out[o : o + len(raw)] = raw
        return bytes(out)

    return encode


def _opaque_encoder(t: Opaque) -> Encoder:
    match t.kind:
        case "inet":
            return lambda v: bytes([len(v)]) + bytes(v).ljust(19, b"\0")
        case "mac":
            return lambda v: bytes(v[:6]).ljust(8, b"\0")
        case "ustack" | "usym":
            pack = Packer("=" + _OPAQUE_CODES[t.kind]).pack
            return lambda v: pack(*v)
        case "kstack":
            pack = Packer("=iI").pack
            return lambda v: pack(v, 0)
        case _:
            pack = Packer("=" + _OPAQUE_CODES.get(t.kind, _CODES[size_align(t)[0]])).pack
            return pack


def record_decoder(layout: RecordLayout, types: TypeTable | None = None) -> Callable[[Bytes], tuple[Value, ...]]:
    """The values of one event record, from its first byte (the header) on."""
    length = Packer("=I").unpack_from
    fixed = [(o, None if has_tail(t) else decoder(t, types)) for o, t in zip(layout.offsets, layout.types, strict=True)]
    start = layout.fixed

    def decode(b: Bytes) -> tuple[Value, ...]:
        at, out = start, []
        for o, d in fixed:
            if d is not None:
                out.append(d(b, o))
            else:
                n = length(b, o)[0]
                out.append(bytes(b[at : at + n]))
                at += n
        return tuple(out)

    return decode


def zero(t: Type) -> Value:
    """The value of a type whose bytes are all zero."""
    match t:
        case Bool():
            return False
        case Int() | Enum() | Pointer():
            return 0
        case String() | Buffer() | Struct():
            return b""
        case Tuple() | Record():
            return tuple(zero(i) for i in item_types(t))
        case Array(element=e, count=n):
            return (zero(e),) * n
        case Opaque(kind="inet"):
            return b""
        case Opaque(kind="mac"):
            return bytes(6)
        case Opaque(kind="ustack" | "usym"):
            return (0, 0)
        case _:
            return 0
