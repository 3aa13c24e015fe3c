"""Values as text, each language's in its own manner.

    C++   {x=1, y=2}    "text"    {1, 2, 3}    {"a": 1}    Circle{...}: the class that the vtable tells
    Rust  Point{x: 1, y: 2}   "text"   [1, 2]   Some(5)        Go   {X: 1, Y: 2}   "text"   [1 2]

Whatever the bytes are, this ends: depth, items, characters and memory are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from probescope.debuginfo.values import registry, walks
from probescope.debuginfo.values import shapes as sh
from probescope.debuginfo.values.memory import Memory, Unreadable
from probescope.debuginfo.values.rust import is_reference
from probescope.debuginfo.values.value import MAX_TEXT, Value
from probescope.debuginfo.values.vtypes import VType
from probescope.errors import DwarfError
from probescope.model.visible import visible

MAX_DEPTH = 8
MAX_ITEMS = 16
MAX_MEMBERS = 32
MAX_VALUES = 400
SHOWN_TEXT = 128
PATIENCE = 0.5
"""Seconds of a user's printer."""
GONE = "?"
"""What could not be read."""

Dynamic = Callable[[int], VType | str | None]
"""The class whose vtable lies at an address of the process; its name where its type is not known."""
GoType = Callable[[int], VType | str | None]
"""The type that a descriptor of Go's runtime describes."""


class Printer:
    """Of one hit. ``dynamic`` and ``go_type`` know addresses of the process."""

    def __init__(self, dynamic: Dynamic | None = None, go_type: GoType | None = None) -> None:
        self._dynamic, self._go_type = dynamic, go_type
        self._values = 0

    def show(self, t: VType, address: int, memory: Memory) -> str:
        return self.text(Value(t, address, memory, self), 0)

    def plain(self, v: Value) -> str:
        """Without the printer that a user wrote for the type itself."""
        return self._built_in(v, 1)

    def text(self, v: Value, depth: int) -> str:
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            return "..."
        own = registry.find(v.type.name)
        if own is not None:
            return self._by_user(own, v)
        return self._built_in(v, depth)

    def _by_user(self, own: registry.Print, v: Value) -> str:
        from probescope.kernel.patience import limited

        try:
            with limited(PATIENCE):
                said = str(own(v))
            return _one_line(said[:MAX_TEXT])
        except Unreadable:
            return GONE
        except Exception as e:  # noqa: BLE001 - of a user's own code: it says so in the place of the value
            said = _one_line(str(e)[:SHOWN_TEXT])
            return f"<{getattr(own, '__name__', 'printer')}: {type(e).__name__}: {said}>"

    def _built_in(self, v: Value, depth: int) -> str:
        try:
            shape = sh.shape_of(v.type)
            if shape is not None:
                return self._shape(v, shape, depth)
            return self._plain(v, depth)
        except (Unreadable, DwarfError):
            return GONE

    # --- by kind ------------------------------------------------------------------------------------------------------

    def _plain(self, v: Value, depth: int) -> str:
        match v.type.kind:
            case "struct" | "union":
                return self._struct(v, depth)
            case "array":
                return self._listed(v, "[" if not v.type.is_cpp else "{", "]" if not v.type.is_cpp else "}", depth)
            case "pointer":
                return self._pointer(v, depth)
            case "reference":
                return self.text(v.deref(), depth + 1)
            case _:
                return scalar(v)

    def _pointer(self, v: Value, depth: int) -> str:
        target = v.type.target
        if is_reference(v.type) and depth <= 2:
            return self.text(v.deref(), depth + 1)
        to = int(v)
        if target.kind == "char" and target.size == 1 and to and not (v.type.is_go or v.type.is_rust):
            text, whole = text_of(v, SHOWN_TEXT)
            return quoted(text, whole)
        return f"{to:#x}" if to else "nil" if v.type.is_go else "nullptr" if v.type.is_cpp else "0x0"

    def _struct(self, v: Value, depth: int) -> str:
        variants = v.type.variants()
        if variants is not None:
            tag = v.memory.word(v.address + variants.at, variants.size) if variants.size else 0
            chosen = variants.chosen(tag)
            return self._members(v.at(chosen.offset, chosen.type), depth, chosen.name) if chosen is not None else GONE
        name = v.type.name.rpartition("::")[2] if v.type.is_rust and "<" not in v.type.name else ""
        dynamic = self._class(v)
        if isinstance(dynamic, VType):
            return self._members(Value(dynamic, v.address, v.memory, self), depth, dynamic.name)
        return self._members(v, depth, dynamic or name)

    def _class(self, v: Value) -> VType | str | None:
        """The class of an object with a vtable."""
        pointer = next(((at, m) for at, m in v.type.flat() if m.name.startswith(("_vptr.", "_vptr$"))), None)
        if pointer is None or pointer[0] or self._dynamic is None:
            return None
        return self._dynamic(v.memory.word(v.address))

    def _members(self, v: Value, depth: int, name: str) -> str:
        parts: list[tuple[str, str]] = []
        for at, m in v.type.flat():
            if m.name.startswith(("_vptr.", "_vptr$")):
                continue
            if len(parts) >= MAX_MEMBERS:
                parts.append(("", "..."))
                break
            parts.append((m.name, self.text(v.at(at, m.type, m.bits), depth + 1)))
        return _braced(v.type, name, parts)

    # --- shapes -------------------------------------------------------------------------------------------------------

    def _shape(self, v: Value, shape: sh.Shape, depth: int) -> str:
        match shape:
            case sh.Text():
                return quoted(*text_of(v, SHOWN_TEXT))
            case sh.Sequence(open=opened, close=closed):
                return self._listed(v, opened, closed, depth)
            case sh.Ring():
                return self._listed(v, "[", "]", depth)
            case sh.Sorted(value=value):
                return self._listed(v, "{", "}", depth, value is not None)
            case sh.Tree(pairs=pairs) | sh.Chain(pairs=pairs) | sh.Buckets(pairs=pairs):
                return self._listed(v, "{", "}", depth, pairs)
            case sh.Pointee(pointer=pointer, empty=empty):
                return self.text(v.deref(), depth + 1) if v.memory.word(v.address + pointer) else empty
            case sh.Maybe(flag=flag, value=value, type=t, empty=empty):
                there = v.memory.word(v.address + flag, 1)
                return self.text(v.at(value, t), depth + 1) if there else empty
            case sh.Inline(at=at, type=t):
                return self.text(v.at(at, t), depth)
            case sh.Bits():
                return _bits(v, shape)
            case sh.Counted(pointer=pointer, at=at, name=name, size=size):
                to = v.memory.word(v.address + pointer)
                return f"{name}[{v.memory.word(to + at, size)}]" if to else "nil"
            case sh.Interface():
                return self._interface(v, shape, depth)
            case _:
                return self._plain(v, depth)

    def _listed(self, v: Value, opened: str, closed: str, depth: int, pairs: bool = False) -> str:
        many = walks.count(v, sh.shape_of(v.type))
        texts: list[str] = []
        for item in self._until_unreadable(v, texts):
            if len(texts) >= MAX_ITEMS:
                break
            texts.append(self._pair(item, depth + 1) if pairs else self.text(item, depth + 1))
        if len(texts) < many or (many < 0 and len(texts) >= MAX_ITEMS):
            texts.append(f"... {many} in all" if many >= 0 else "...")
        return opened + (" " if v.type.is_go else ", ").join(texts) + closed

    def _until_unreadable(self, v: Value, texts: list[str]) -> Iterator[Value]:
        try:
            yield from walks.items(v)
        except Unreadable:
            if not texts:
                texts.append(GONE)

    def _pair(self, item: Value, depth: int) -> str:
        if isinstance(item, walks.Entry):
            return f"{self.text(item, depth)}: {self.text(item.second, depth)}"
        names = ("__0", "__1") if item.type.is_rust else ("first", "second")
        first, second = (item.type.member(n) for n in names)
        if first is None or second is None:
            return self.text(item, depth)
        key = self.text(item.at(first.offset, first.type), depth)
        return f"{key}: {self.text(item.at(second.offset, second.type), depth)}"

    def _interface(self, v: Value, s: sh.Interface, depth: int) -> str:
        tag, data = v.memory.word(v.address + s.tag), v.memory.word(v.address + s.data)
        if not tag:
            return "nil"
        described = v.memory.word(tag + s.table) if s.table >= 0 else tag
        found = self._go_type(described) if self._go_type is not None else None
        if not isinstance(found, VType):
            return f"{found or f'type {described:#x}'}({data:#x})"
        if found.kind == "pointer":  # the word itself is the pointer
            return f"{found.name}({self._aimed(found.target, data, v, depth)})"
        return f"{found.name}({self._aimed(found, data, v, depth)})"

    def _aimed(self, t: VType, address: int, v: Value, depth: int) -> str:
        return self.text(Value(t, address, v.memory, self), depth + 1) if address and t.size else f"{address:#x}"


def _one_line(text: str) -> str:
    """What a user's printer made: texts of the program may be in it, which must not look like events, or command a
    terminal."""
    return visible(text).replace("\n", "\\n")


# --- scalars and texts ------------------------------------------------------------------------------------------------


def scalar(v: Value) -> str:
    number = int(v)
    match v.type.kind:
        case "bool":
            return "true" if number else "false"
        case "float":
            return f"{float(v):.9g}" if v.type.size <= 4 else repr(float(v))
        case "enum":
            return v.type.enumerators().get(number) or str(number)
        case "char" if v.type.size == 1:
            return repr(chr(number)) if 32 <= number < 127 else str(number)
        case "char":
            return repr(chr(number)) if number < 0x110000 and chr(number).isprintable() else f"{number:#x}"
        case "void" | "func":
            return f"{v.address:#x}"
        case _:
            return str(number)


def text_of(v: Value, most: int) -> tuple[str, bool]:
    """Up to ``most`` characters, and whether that is all. Raises ``TypeError`` for what is no text."""
    shape = sh.shape_of(v.type)
    if isinstance(shape, sh.Text):
        start, many = v.memory.word(v.address + shape.pointer), v.memory.word(v.address + shape.length)
        if not many:
            return "", True
        size = min(many, most) * shape.unit
        data = v.memory.taken(start, size) or v.memory.read(start, size)
        return _decoded(data, shape.unit), len(data) == many * shape.unit
    if isinstance(shape, sh.Inline):
        return text_of(v.at(shape.at, shape.type), most)
    if v.type.kind == "array" and v.type.target.kind == "char":
        data = v.bytes(min(v.type.size, most))
        return _decoded(data.partition(b"\0")[0], 1), True
    if v.type.kind != "pointer":
        raise TypeError(f"{v.type.name} is no text")
    return _to_nul(v, most)


def _to_nul(v: Value, most: int) -> tuple[str, bool]:
    start = v.memory.word(v.address)
    data = v.memory.taken(start, most)
    if not data:
        for size in (most, 64, 16, 1):  # it may end short of a page that is not there
            try:
                data = v.memory.read(start, size)
                break
            except Unreadable:
                continue
        else:
            raise Unreadable(f"nothing can be read at {start:#x}")
    text, end, _ = data.partition(b"\0")
    return _decoded(text, 1), bool(end)


def _decoded(data: bytes, unit: int) -> str:
    return data.decode({1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}.get(unit, "latin-1"), "replace")


def quoted(text: str, whole: bool) -> str:
    shown = "".join(_ESCAPES.get(ch) or (ch if ch.isprintable() else f"\\x{ord(ch):02x}") for ch in text)
    return f'"{shown}"' + ("" if whole else "...")


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _bits(v: Value, s: sh.Bits) -> str:
    start, finish = v.memory.word(v.address + s.start), v.memory.word(v.address + s.finish)
    many = 8 * max(finish - start, 0) + v.memory.word(v.address + s.offset, 4)
    shown = min(many, 64)
    word = v.memory.word(start, 8) if shown else 0
    texts = ["true" if word >> i & 1 else "false" for i in range(shown)]
    return "{" + ", ".join([*texts, *([f"... {many} in all"] if many > shown else [])]) + "}"


def _braced(t: VType, name: str, parts: list[tuple[str, str]]) -> str:
    if t.is_rust:
        numbered = parts and all(n.startswith("__") or not n for n, _ in parts)
        if numbered:
            return f"{name}({', '.join(text for _, text in parts)})"
        inner = ", ".join(f"{n}: {text}" if n else text for n, text in parts)
        return f"{name}{{{inner}}}" if parts else name or "()"
    mark = ": " if t.is_go else "="
    return name + "{" + ", ".join(f"{n}{mark}{text}" if n else text for n, text in parts) + "}"
