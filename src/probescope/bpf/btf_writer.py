"""BTF of our own: types of functions, so that the kernel accepts callbacks; source lines for its verifier log; map
types.

    header  magic 0xeb9f | version 1 | flags | 24 | type offset, length | string offset, length     (24 bytes)
    type    name offset | kflag << 31 | kind << 24 | vlen | size or type                            (12 bytes, then by
    kind) strings NUL-terminated, the first one empty; offsets count from its start

Types are numbered from 1 in the order of their making; equal ones are made once. 0 is void. Sources:
Documentation/bpf/btf.rst, include/uapi/linux/btf.h; what the verifier wants of func_info and line_info: check_btf_func
and check_btf_line of kernel/bpf/verifier.c.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from probescope.bpf.code import Code
from probescope.diagnostics import Source, Span

_MAGIC: Final = 0xEB9F
_HEADER: Final = struct.Struct("<HBBIIIII")
_INT, _PTR, _ARRAY, _STRUCT, _FUNC, _FUNC_PROTO, _VAR, _DATASEC = 1, 2, 3, 4, 12, 13, 14, 15
_SIGNED: Final = 1
_STATIC, _GLOBAL = 0, 1
_LONGEST_LINE: Final = 200
_LARGEST_LINE: Final = (1 << 22) - 1
_LARGEST_COLUMN: Final = (1 << 10) - 1

Linkage = Literal["static", "global"]
Member = tuple[str, int, int]
"""Name, type, offset in bytes."""


class BtfWriter:
    """``data()`` is the blob for BPF_BTF_LOAD."""

    def __init__(self) -> None:
        self._types = bytearray()
        self._strings = bytearray(b"\0")
        self._offsets: dict[str, int] = {"": 0}
        self._known: dict[tuple[object, ...], int] = {}
        self._count = 0

    def string(self, text: str) -> int:
        """The offset of a text among the strings."""
        at = self._offsets.get(text)
        if at is None:
            at = self._offsets[text] = len(self._strings)
            self._strings += text.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0"
        return at

    def _add(self, name: str, kind: int, vlen: int, size: int, more: bytes = b"") -> int:
        key = (name, kind, vlen, size, more)
        found = self._known.get(key)
        if found is None:
            self._types += struct.pack("<III", self.string(name), kind << 24 | vlen, size) + more
            self._count += 1
            found = self._known[key] = self._count
        return found

    def integer(self, name: str, size: int, *, signed: bool = False) -> int:
        """``size`` in bytes: 1, 2, 4, 8 or 16."""
        return self._add(name, _INT, 0, size, struct.pack("<I", (_SIGNED if signed else 0) << 24 | size * 8))

    def pointer(self, to: int = 0) -> int:
        return self._add("", _PTR, 0, to)

    def array(self, element: int, count: int) -> int:
        index = self.integer("unsigned int", 4)
        return self._add("", _ARRAY, 0, 0, struct.pack("<III", element, index, count))

    def struct(self, name: str, size: int, members: Sequence[Member]) -> int:
        more = b"".join(struct.pack("<III", self.string(identifier(n)), t, off * 8) for n, t, off in members)
        return self._add(identifier(name), _STRUCT, len(members), size, more)

    def prototype(self, result: int, parameters: Sequence[tuple[str, int]] = ()) -> int:
        more = b"".join(struct.pack("<II", self.string(identifier(n)), t) for n, t in parameters)
        return self._add("", _FUNC_PROTO, len(parameters), result, more)

    def function(self, name: str, prototype: int, linkage: Linkage = "static") -> int:
        return self._add(identifier(name), _FUNC, _GLOBAL if linkage == "global" else _STATIC, prototype)

    def variable(self, name: str, type_: int, linkage: Linkage = "global") -> int:
        more = struct.pack("<I", _GLOBAL if linkage == "global" else _STATIC)
        return self._add(identifier(name), _VAR, 0, type_, more)

    def section(self, name: str, size: int, variables: Sequence[tuple[int, int, int]]) -> int:
        """``variables``: (type id of the variable, offset, size in bytes), ascending."""
        more = b"".join(struct.pack("<III", *v) for v in variables)
        return self._add(name, _DATASEC, len(variables), size, more)

    def data(self) -> bytes:
        length = len(self._types)
        header = _HEADER.pack(_MAGIC, 1, 0, _HEADER.size, 0, length, length, len(self._strings))
        return header + bytes(self._types) + bytes(self._strings)


def identifier(name: str) -> str:
    """A name as BTF takes it: letters, digits, ``_`` and ``.``, no digit first, at most 127."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in name)[:127]
    return f"_{text[:126]}" if text[:1].isdigit() else text


def func_info(writer: BtfWriter, code: Code, title: str = "") -> tuple[tuple[int, int], ...]:
    """``ProgSpec.func_info``: one entry a function, in order. The verifier asks for these where the address of a
    callback is taken; it wants callbacks static, and looks no further than their kind: every parameter is a u64 here,
    the program's a pointer. ``title``: what the program itself is called; as in the code if that is empty."""
    number, pointer = writer.integer("unsigned long long", 8), writer.pointer()
    out = []
    for n, ((start, name), (_, parameters)) in enumerate(zip(code.functions, code.signatures, strict=True)):
        if n:
            result, kinds = writer.integer("long", 8, signed=True), [(f"a{k}", number) for k in range(parameters)]
        else:
            result, kinds = writer.integer("int", 4, signed=True), [("ctx", pointer)]
        linkage: Linkage = "static" if n else "global"
        called = name if n else title or name
        out.append((start, writer.function(called, writer.prototype(result, kinds), linkage)))
    return tuple(out)


def pack_func_info(pairs: Iterable[tuple[int, int]]) -> bytes:
    """The array of struct bpf_func_info: u32 instruction, u32 type id."""
    return b"".join(struct.pack("<II", *pair) for pair in pairs)


def line_info(writer: BtfWriter, code: Code, source: Source) -> bytes:
    """The array of struct bpf_line_info, one for each place where the source line changes: u32 instruction, file, line
    text, line << 10 | column. Each function needs one at its start."""
    at_starts = {start: Span() for start, _ in code.functions}
    at_starts.update(code.lines)
    out = bytearray()
    name = writer.string(source.name)
    texts = source.text.split("\n")
    current = Span()
    for insn, span in sorted(at_starts.items()):
        current = span if span.line else current
        line = texts[current.line - 1].strip() if 0 < current.line <= len(texts) else ""
        place = min(current.line, _LARGEST_LINE) << 10 | min(current.column, _LARGEST_COLUMN)
        out += struct.pack("<IIII", insn, name, writer.string(printable(line)), place)
    return bytes(out)


def printable(line: str) -> str:
    return "".join(c if c.isprintable() else " " for c in line[:_LONGEST_LINE])
