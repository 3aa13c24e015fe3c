"""Types of libstdc++, recognised by name; where their parts are is told by the binary's own debug information.

Names of members that the layouts hang on: bits/basic_string.h (_M_dataplus, _M_string_length), bits/stl_vector.h
(_M_start, _M_finish), bits/unique_ptr.h (_M_head_impl), bits/shared_ptr_base.h (_M_ptr), optional (_M_payload,
_M_engaged), bits/stl_tree.h (_M_header, _M_node_count), bits/hashtable.h (_M_before_begin, _M_element_count),
bits/stl_list.h (_M_node).
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.debuginfo.values.shapes import Bits, Chain, Inline, Maybe, Pointee, Sequence, Shape, Text, Tree
from probescope.debuginfo.values.vtypes import VMember, VType

WORD = 8


def recognise(t: VType) -> Shape | None:
    if t.kind != "struct" or not t.name.startswith("std::"):
        return None
    found = _KNOWN.get(t.base_name)
    return found(t) if found is not None else None


def _string(t: VType) -> Shape | None:
    pointer, length = t.deep("_M_dataplus", "_M_p"), t.deep("_M_string_length")
    if pointer is None or length is None:
        return None
    return Text(pointer.offset, length.offset, max(pointer.type.target.size, 1))


def _view(t: VType) -> Shape | None:
    pointer, length = t.deep("_M_str"), t.deep("_M_len")
    if pointer is None or length is None:
        return None
    return Text(pointer.offset, length.offset, max(pointer.type.target.size, 1))


def _vector(t: VType) -> Shape | None:
    start, finish = t.deep("_M_start"), t.deep("_M_finish")
    if start is None or finish is None:
        return None
    if start.type.kind == "struct":  # of bits
        first, last, bit = (
            (m.type.deep("_M_p") for m in (start, finish)),
            finish.type.deep("_M_p"),
            finish.type.deep("_M_offset"),
        )
        begin = next(first)
        if begin is None or last is None or bit is None:
            return None
        return Bits(start.offset + begin.offset, finish.offset + last.offset, finish.offset + bit.offset)
    return Sequence(start.offset, finish.offset, start.type.target, end=True)


def _span(t: VType) -> Shape | None:
    pointer, length = t.deep("_M_ptr", kind="pointer"), t.deep("_M_extent_value")
    return Sequence(pointer.offset, length.offset, pointer.type.target) if pointer and length else None


def _initializers(t: VType) -> Shape | None:
    pointer, length = t.deep("_M_array", kind="pointer"), t.deep("_M_len")
    return Sequence(pointer.offset, length.offset, pointer.type.target) if pointer and length else None


def _unique(t: VType) -> Shape | None:
    pointer = t.deep("_M_head_impl", kind="pointer")
    return _pointee(pointer)


def _shared(t: VType) -> Shape | None:
    return _pointee(t.deep("_M_ptr", kind="pointer"))


def _pointee(pointer: VMember | None) -> Shape | None:
    return Pointee(pointer.offset, pointer.type.target) if pointer is not None else None


def _optional(t: VType) -> Shape | None:
    flag, value = t.deep("_M_engaged"), t.deep("_M_payload", "_M_value")
    return Maybe(flag.offset, value.offset, value.type) if flag is not None and value is not None else None


def _array(t: VType) -> Shape | None:
    inner = t.deep("_M_elems")
    return Inline(inner.offset, inner.type) if inner is not None else None


def _atomic(t: VType) -> Shape | None:
    inner = t.deep("_M_i") or t.deep("_M_b", "_M_p")
    return Inline(inner.offset, inner.type) if inner is not None else None


def _tree(pairs: bool) -> Callable[[VType], Shape | None]:
    def found(t: VType) -> Shape | None:
        inner = t.deep("_M_t")
        item = inner.type.parameter(1) if inner is not None else None  # of _Rb_tree<Key, Value, ...>
        header, count = t.deep("_M_header"), t.deep("_M_node_count")
        if item is None or header is None or count is None:
            return None
        places = [header.type.deep(n) for n in ("_M_parent", "_M_left", "_M_right")]
        if any(p is None for p in places):
            return None
        parent, left, right = (p.offset for p in places if p is not None)
        at = _up(header.type.size, item.align())
        return Tree(header.offset + parent, count.offset, left, right, at, item, pairs)

    return found


def _hash(pairs: bool) -> Callable[[VType], Shape | None]:
    def found(t: VType) -> Shape | None:
        inner = t.deep("_M_h")
        item = inner.type.parameter(1) if inner is not None else None  # of _Hashtable<Key, Value, ...>
        before, count = t.deep("_M_before_begin"), t.deep("_M_element_count")
        if item is None or before is None or count is None:
            return None
        return Chain(before.offset, 0, _up(WORD, item.align()), count.offset, item, pairs=pairs)

    return found


def _list(t: VType) -> Shape | None:
    node, item = t.deep("_M_node"), t.parameter(0)
    first = node.type.deep("_M_next") if node is not None else None
    if node is None or first is None or item is None:
        return None
    size = node.type.deep("_M_size") or node.type.deep("_M_storage")
    at = _up(2 * WORD, item.align())
    count = node.offset + size.offset if size is not None else -1
    return Chain(node.offset + first.offset, first.offset, at, count, item, ring=node.offset)


def _forward(t: VType) -> Shape | None:
    head, item = t.deep("_M_head"), t.parameter(0)
    return Chain(head.offset, 0, _up(WORD, item.align()), -1, item) if head is not None and item is not None else None


def _up(n: int, align: int) -> int:
    return (n + align - 1) // max(align, 1) * max(align, 1)


_KNOWN: dict[str, Callable[[VType], Shape | None]] = {
    "basic_string": _string,
    "basic_string_view": _view,
    "vector": _vector,
    "span": _span,
    "initializer_list": _initializers,
    "unique_ptr": _unique,
    "shared_ptr": _shared,
    "weak_ptr": _shared,
    "optional": _optional,
    "array": _array,
    "atomic": _atomic,
    "map": _tree(True),
    "multimap": _tree(True),
    "set": _tree(False),
    "multiset": _tree(False),
    "unordered_map": _hash(True),
    "unordered_multimap": _hash(True),
    "unordered_set": _hash(False),
    "unordered_multiset": _hash(False),
    "list": _list,
    "forward_list": _forward,
}
