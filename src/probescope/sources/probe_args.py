"""Arguments of probe definitions: C expressions over variables to chains of registers and memory.

file->f_path.dentry->d_name.name:string     with file in %di and layouts of the structs
+0(+40(+24(%di))):string
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from probescope.diagnostics import nearest
from probescope.frozen import replace
from probescope.model.capture import Pieces
from probescope.model.fetch import (
    Absolute,
    Deref,
    Fetch,
    FetchArg,
    FetchType,
    Immediate,
    Kind,
    Known,
    Register,
    Sum,
    Symbol,
    behind,
)
from probescope.model.probe_def import ArgDef, Container, Element, Member, Star, Var
from probescope.model.probe_found import FoundArg
from probescope.model.types import (
    Array,
    Enum,
    Int,
    Layout,
    Pointer,
    Struct,
    Type,
    TypeTable,
    Void,
    is_scalar,
    number_width,
    signed,
)
from probescope.model.types import Member as Field

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_die import Die
    from probescope.model.capture import Capture

WORD = 64
MAX_ELEMENTS = 64


class CannotFetch(Exception):
    """``what`` for a diagnostic; ``x`` the part of the argument that it is about, if it is one."""

    def __init__(self, what: str, *hints: str, x: Fetch | None = None) -> None:
        super().__init__(what)
        self.what, self.hints, self.x = what, hints, x


class Value(NamedTuple):
    """``x`` gives it; ``type`` ``None`` where nobody told. ``bits``: of a bit field, (width, shift, container).
    ``die``: the type as debug information has it, of a variable."""

    x: Fetch
    type: Type | None
    bits: tuple[int, int, int] | None = None
    die: Die | None = None


Captured = Callable[[Value], "Capture | None"]
Result = Callable[[], "Value | None"]
"""What a function returns, where its type is known. Raises ``CannotFetch`` where no probe can read it."""
Variables = Callable[[str], Value]
"""The value of a variable by its name. Raises ``CannotFetch``."""


class Chains:
    """``table``: layouts of structs. ``capture``: how a value is had that is more than a number, if it is."""

    def __init__(
        self,
        variables: Variables,
        table: TypeTable | None,
        capture: Captured | None = None,
        result: Result | None = None,
    ) -> None:
        self._variables, self._table, self._capture, self._result = variables, table, capture, result

    def argument(self, a: ArgDef) -> FoundArg:
        assert a.x is not None
        if isinstance(a.x, Known) and a.x.kind == "retval" and a.type is None:
            returned = self._returned(a.x)
            whole = self._capture(returned) if self._capture is not None and returned.type is not None else None
            return FoundArg(FetchArg(a.name, a.x, None), returned.type if whole is not None else None, "", whole)
        value = self.value(a.x)
        if value.type is None and value.bits is None:
            return FoundArg(FetchArg(a.name, _marked(value.x, a.user), _untyped(a)), None)
        whole = self._capture(value) if self._capture is not None and a.type is None and not value.bits else None
        if whole is None and isinstance(value.x, Pieces):
            raise CannotFetch(f"{_shown(a.x)} is in several registers", x=a.x)
        x, kind = self._finished(value, a)
        variable = a.x.name if isinstance(a.x, Var) else ""
        return FoundArg(FetchArg(a.name, _marked(x, a.user), kind), value.type, variable, whole)

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, x: Fetch) -> Value:
        match x:
            case Var():
                return self._variable(x)
            case Member(x=Known(kind="retval")) | Element(x=Known(kind="retval")) | Star(x=Known(kind="retval")):
                if self._returned(x.x).type is None:
                    raise CannotFetch(
                        "the type of what it returns is not known", "+OFFSET($retval) is memory behind it", x=x
                    )
                return self._part(x)
            case Member() | Element() | Star():
                return self._part(x)
            case Container():
                return self._container(x)
            case Deref(x=inner, offset=offset, user=user):
                return Value(behind(self.value(inner).x, offset, user=user), None)
            case _:
                return Value(x, None)

    def _part(self, x: Member | Element | Star) -> Value:
        match x:
            case Member():
                return self._member(x)
            case Element():
                return self._element(x)
            case Star():
                inner = self._outer(x.x)
                return Value(behind(inner.x), self._target(inner, x))

    def _outer(self, x: Fetch) -> Value:
        """What a member is of."""
        return self._returned(x) if isinstance(x, Known) and x.kind == "retval" else self.value(x)

    def _returned(self, x: Fetch) -> Value:
        try:
            found = self._result() if self._result is not None else None
        except CannotFetch as e:
            raise CannotFetch(e.what, *e.hints, x=x) from None
        return found or Value(x, None)

    def _variable(self, x: Var) -> Value:
        try:
            return self._variables(x.name)
        except CannotFetch as e:
            raise CannotFetch(e.what, *e.hints, x=e.x or x) from None

    def _target(self, value: Value, x: Fetch) -> Type:
        t = value.type
        if isinstance(t, Array):
            return t.element
        if not isinstance(t, Pointer):
            raise CannotFetch(f"{_shown(x)}: this is {_article(t)}, not a pointer", x=x)
        return t.target

    def _member(self, x: Member) -> Value:
        outer = self._outer(x.x)
        t: Type | None = outer.type
        if isinstance(t, Pointer) and not x.arrow and _is_reference(outer.die):
            outer, t = Value(behind(outer.x), t.target), None
        if isinstance(t, Array) and x.arrow:
            outer = Value(outer.x, t.element)
        elif isinstance(t, Pointer):
            if not x.arrow:
                raise CannotFetch(f"{_shown(x.x)} is a pointer: its members are behind '->'", x=x)
            outer = Value(behind(outer.x), t.target)
        elif x.arrow:
            raise CannotFetch(f"{_shown(x.x)} is {_article(t)}, not a pointer: its members are behind '.'", x=x)
        owner = outer.type
        if not isinstance(owner, Struct):
            raise CannotFetch(f"{_shown(x.x)} has no members: it is {_article(owner)}", x=x)
        found, layout = self._field(owner, x)
        return _inside(outer.x, found, layout)

    def _field(self, t: Struct, x: Member) -> tuple[Field, Layout]:
        layout = self._table.layout(t.name) if self._table is not None else None
        if layout is None:
            raise CannotFetch(
                f"nothing is known of the members of {t.name}", "it is only declared where this was compiled", x=x
            )
        found = layout.member(x.name)
        if found is None:
            names = [m.name for m in layout.members]
            hints = [f"did you mean {n}?" for n in nearest(x.name, names)] or [f"it has {', '.join(names[:12])}"]
            raise CannotFetch(f"{t.name} has no member {x.name}", *hints, x=x)
        return found, layout

    def _element(self, x: Element) -> Value:
        if x.count:
            return self._elements(x)
        outer = self._outer(x.x)
        match outer.type:
            case Array(element=element, count=count):
                if count and x.index >= count:
                    raise CannotFetch(f"{_shown(x.x)} has {count} elements", x=x)
                if not isinstance(outer.x, Deref):
                    raise CannotFetch(f"{_shown(x.x)} is not in memory", x=x)
                at = outer.x.offset + x.index * self.size(element, x)
                return Value(replace(outer.x, offset=at), element)
            case Pointer(target=element):
                return Value(behind(outer.x, x.index * self.size(element, x)), element)
            case t:
                raise CannotFetch(f"{_shown(x.x)} is {_article(t)}: it has no elements", x=x)

    def _elements(self, x: Element) -> Value:
        """Several, one after the other: what they are is an array of so many."""
        first = self._element(replace(x, count=0))
        outer = self._outer(x.x).type
        if isinstance(outer, Array) and outer.count and x.index + x.count > outer.count:
            raise CannotFetch(f"{_shown(x.x)} has {outer.count} elements", x=x)
        if not isinstance(first.x, Deref) or first.type is None or not number_width(first.type):
            hints = "each by itself: x[0].member x[1].member"
            raise CannotFetch(f"{_shown(x)}: several elements are had of numbers and pointers", hints, x=x)
        return Value(first.x, Array(first.type, x.count))

    def _container(self, x: Container) -> Value:
        """Where the struct begins that a pointer leads into."""
        inner = self.value(x.x)
        if inner.type is not None and not isinstance(inner.type, Pointer):
            raise CannotFetch(f"{_shown(x.x)} is {_article(inner.type)}, not a pointer", x=x)
        owner = self._type(x)
        at, t = 0, owner
        for name in x.member:
            found, _ = self._field(t, Member(x.x, name, span=x.span)) if isinstance(t, Struct) else (None, None)
            if found is None or found.bit_size:
                raise CannotFetch(f"no pointer leads to {'.'.join(x.member)} of {x.type}", x=x)
            at, t = at + found.offset, found.type
        base = inner.x if isinstance(inner.x, Sum) else Sum(inner.x, 0)
        moved = base.offset - at
        return Value(Sum(base.x, moved) if moved else base.x, Pointer(owner))

    def _type(self, x: Container) -> Type:
        table = self._table
        names = [x.type] if " " in x.type else [f"struct {x.type}", f"union {x.type}", x.type]
        for name in names if table is not None else ():
            found = table.named(name) if table is not None else None
            if isinstance(found, Struct):
                return found
            layout = table.layout(name) if table is not None else None
            if layout is not None:
                return Struct(layout.name)
        raise CannotFetch(f"nothing is known of a type {x.type}", "a struct or union, or a typedef of one", x=x)

    def size(self, t: Type, x: Fetch | None = None) -> int:
        if isinstance(t, Array):
            return t.count * self.size(t.element, x)
        if isinstance(t, Struct):
            layout = self._table.layout(t.name) if self._table is not None else None
            if layout is None:
                raise CannotFetch(f"the size of {t.name} is not known", x=x)
            return layout.size
        if isinstance(t, Void):
            return 1
        return number_width(t) or 8

    # --- how it is taken ----------------------------------------------------------------------------------------------

    def _finished(self, value: Value, a: ArgDef) -> tuple[Fetch, FetchType]:
        kind = a.type
        if kind is not None and kind.is_text:
            return self._text(value, a, kind)
        if value.bits is not None and (kind is None or not kind.bits):
            width_, shift, container = value.bits
            of = value.type or Void()
            sign = signed(of) and 8 * number_width(of) == width_ < container
            return value.x, FetchType("b", width_, shift, container, signed=sign)
        t: Type | None = value.type
        if kind is not None and (kind.bits or kind.kind not in ("u", "s", "x")):
            return value.x, kind
        count = kind.count if kind is not None else 0
        if isinstance(t, Array) and not t.count and not count:
            name = a.text.partition(":")[0].partition("=")[2] or a.text.partition(":")[0]
            raise CannotFetch(f"{name} does not tell how many elements it has", f"{name}[0-7] are the first eight")
        if isinstance(t, Array) and not t.count and number_width(t.element):
            t = t.element
        if isinstance(t, Array) and t.count and number_width(t.element):
            count = count or min(t.count, MAX_ELEMENTS)
            t = t.element
        return value.x, FetchType(_letter(t, kind), _bits(t, self), count=count)

    def _text(self, value: Value, a: ArgDef, kind: FetchType) -> tuple[Fetch, FetchType]:
        t = value.type
        inner = t.target if isinstance(t, Pointer) else t.element if isinstance(t, Array) else None
        if inner is None:
            raise CannotFetch(f"{a.text.partition(':')[0]} is {_article(t)}, no text: neither a pointer nor an array")
        if not (isinstance(inner, Int) and inner.size == 1) and not isinstance(inner, Void):
            raise CannotFetch(f"{a.text.partition(':')[0]} is no text: it points to {inner}, not to char")
        return (behind(value.x) if isinstance(t, Pointer) else value.x), kind


def _is_reference(die: Die | None) -> bool:
    """What a language follows by itself: references of C++ and Rust."""
    if die is None:
        return False
    from probescope.debuginfo import dwarf_const as c

    return die.tag in (c.TAG_REFERENCE, c.TAG_RVALUE_REFERENCE) or die.name.startswith("&")


def _inside(outer: Fetch, found: Field, layout: Layout) -> Value:
    """A member of a struct that is in memory, or in a register."""
    bits = None
    if found.bit_size:
        bits = (found.bit_size, found.bit_offset, 8 * number_width(found.type))
    if isinstance(outer, Deref):
        return Value(replace(outer, offset=outer.offset + found.offset), found.type, bits)
    if isinstance(outer, Pieces):
        return _in_pieces(outer, found, layout)
    if layout.size > WORD // 8:
        raise CannotFetch(f"{layout.name} is in several registers")
    shift = 8 * found.offset + (found.bit_offset if found.bit_size else 0)
    wide = found.bit_size or 8 * (number_width(found.type) or layout.size - found.offset)
    whole = not shift and not found.bit_size
    return Value(outer, found.type, None if whole else (wide, shift, WORD))


def _in_pieces(outer: Pieces, found: Field, layout: Layout) -> Value:
    """A member of what is in several registers: whole ones of it, or a part of one."""
    at, taken = 0, []
    wide = number_width(found.type)
    for x, size in outer.parts:
        if wide and at <= found.offset and found.offset + wide <= at + size:
            shift = 8 * (found.offset - at) + (found.bit_offset if found.bit_size else 0)
            bits = (found.bit_size or 8 * wide, shift, WORD) if shift or found.bit_size else None
            return Value(x, found.type, bits)
        if not wide and at >= found.offset:
            taken.append((x, size))
        at += size
    if wide or not taken:
        raise CannotFetch(f"{found.name} of {layout.name} is in several registers")
    return Value(Pieces(tuple(taken)), found.type)


def _marked(x: Fetch, user: bool) -> Fetch:
    """The last step of a chain reads memory of the process (``@user``)."""
    return replace(x, user=True) if user and isinstance(x, Deref) else x


def _untyped(a: ArgDef) -> FetchType | None:
    """Of the kernel's own terms, where only a size makes a type."""
    kind = a.type
    if kind is None or kind.bits or kind.kind not in ("u", "s", "x"):
        return kind
    return replace(kind, bits=WORD)


def _letter(t: Type | None, asked: FetchType | None) -> Kind:
    if asked is not None:
        return asked.kind
    return "s" if t is not None and signed(t) else "x"


def _bits(t: Type | None, chains: Chains) -> int:
    if t is None or isinstance(t, Void):
        return WORD
    size = chains.size(t)
    return 8 * max(n for n in (1, 2, 4, 8) if n <= max(size, 1))


def _shown(x: Fetch) -> str:
    match x:
        case Var(name=name):
            return name
        case Member(x=inner, name=name, arrow=arrow):
            return f"{_shown(inner)}{'->' if arrow else '.'}{name}"
        case Element(x=inner, index=index, count=count):
            return f"{_shown(inner)}[{index}{f'-{index + count - 1}' if count else ''}]"
        case Container(x=inner, type=name, member=member):
            return f"container_of({_shown(inner)}, {name}, {'.'.join(member)})"
        case Star(x=inner):
            return f"*{_shown(inner)}"
        case _:
            return str(x)


def _article(t: Type | None) -> str:
    match t:
        case None:
            return "of no known type"
        case Void():
            return "void"
        case Array():
            return "an array"
        case Pointer():
            return "a pointer"
        case Enum() | Struct():
            return str(t)
        case _:
            return "a number" if is_scalar(t) else str(t)


__all__ = ["Absolute", "CannotFetch", "Chains", "Immediate", "Known", "Register", "Symbol", "Value", "Variables"]
