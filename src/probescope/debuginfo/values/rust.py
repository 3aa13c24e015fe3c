"""Types of Rust: texts, slices, vectors, boxes. Enums are told by their variants (``VType.variants``).

    &str, &[T], Box<[T]>, Box<str>   { data_ptr, length }        Vec<T>    { buf: { .. ptr .. }, len }
    String                           { vec: Vec<u8> }            Box<T>    a pointer
    Rc<T>, Arc<T>                    a pointer to two counts and T

Which names parts have changed with the versions (RawVec got an inner one in 1.84); what is looked for is the pointer.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.debuginfo.values.shapes import Inline, Pointee, Sequence, Shape, Text
from probescope.debuginfo.values.vtypes import VType, first_pointer


def recognise(t: VType) -> Shape | None:
    if t.kind == "pointer":
        return _owned(t)
    if t.kind != "struct" or t.die is None:
        return None
    fat = _fat(t)
    if fat is not None:
        return fat
    known = _KNOWN.get(t.name.partition("<")[0])
    return known(t) if known is not None else None


def is_reference(t: VType) -> bool:
    """Pointers that always lead to a value: ``&T``, ``&mut T``."""
    return (t.kind == "pointer" and t.is_rust and t.name.rpartition("::")[2][:1] == "&") or t.name.startswith("&")


def _owned(t: VType) -> Shape | None:
    name = t.die.name if t.die is not None else ""
    return Pointee(0, t.target) if "boxed::Box<" in name else None


def _fat(t: VType) -> Shape | None:
    data, length = t.member("data_ptr"), t.member("length")
    if data is None or length is None or data.type.kind != "pointer":
        return None
    if t.die is not None and (t.die.name in ("&str", "&mut str") or "Box<str" in t.die.name):
        return Text(data.offset, length.offset)
    return Sequence(data.offset, length.offset, data.type.target, open="[", close="]")


def _string(t: VType) -> Shape | None:
    inner = t.member("vec")
    found = _vec(inner.type) if inner is not None else None
    return Text(inner.offset + found.pointer, inner.offset + found.length) if inner is not None and found else None


def _vec(t: VType) -> Sequence | None:
    buf, length, element = t.member("buf"), t.member("len"), t.parameter(0)
    pointer = first_pointer(buf.type) if buf is not None else None
    if buf is None or length is None or element is None or pointer is None:
        return None
    return Sequence(buf.offset + pointer.offset, length.offset, element, open="[", close="]")


def _counted(t: VType) -> Shape | None:
    """Rc and Arc: two counts come before the value."""
    pointer, inner = first_pointer(t), t.parameter(0)
    if pointer is None or inner is None:
        return None
    at = -(-16 // max(inner.align(), 1)) * max(inner.align(), 1)
    return Pointee(pointer.offset, inner, at)


def _cell(t: VType) -> Shape | None:
    value = t.member("value")
    return Inline(value.offset, value.type) if value is not None else None


def _map(t: VType) -> Shape | None:
    from probescope.debuginfo.values import rust_maps

    name = t.base_name
    if name in ("HashMap", "HashSet"):
        return rust_maps.hashed(t)
    return rust_maps.queued(t) if name == "VecDeque" else rust_maps.sorted_(t)


_KNOWN: dict[str, Callable[[VType], Shape | None]] = {
    "alloc::string::String": _string,
    "alloc::vec::Vec": _vec,
    "alloc::rc::Rc": _counted,
    "alloc::sync::Arc": _counted,
    "core::cell::Cell": _cell,
    "core::cell::UnsafeCell": _cell,
    "std::collections::hash::map::HashMap": _map,
    "std::collections::hash::set::HashSet": _map,
    "alloc::collections::btree::map::BTreeMap": _map,
    "alloc::collections::btree::set::BTreeSet": _map,
    "alloc::collections::vec_deque::VecDeque": _map,
}
