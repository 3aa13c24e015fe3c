"""Maps, sets and queues of Rust's standard library.

    HashMap<K, V>    .. RawTable<(K, V)> .. { bucket_mask, ctrl, items }          HashSet<T>   a HashMap<T, ()>
    BTreeMap<K, V>   { root: Option<{ node, height }>, length }                   BTreeSet<T>  a BTreeMap<T, SetValZST>
    VecDeque<T>      { head, len, buf: { .. ptr .. cap } }; up to Rust 1.66 { tail, head, buf }

    RawTable    item n .. item 1  item 0 | control bytes: one for each item, sixteen more       ctrl points to the bar
    LeafNode    keys: [K; 11], vals: [V; 11], len: u16 ..        InternalNode   a LeafNode, edges: [pointer; 12]

Source: hashbrown's raw.rs, alloc's collections/btree/node.rs and vec_deque/mod.rs, of Rust 1.63 to 1.95; where parts
lie is told by the debug information.
"""

from __future__ import annotations

from probescope.debuginfo.values.shapes import Buckets, Ring, Shape, Sorted
from probescope.debuginfo.values.vtypes import VType, first_pointer

FANOUT = 11
"""Keys of a node at most (btree/node.rs, CAPACITY)."""


def hashed(t: VType) -> Shape | None:
    mask, control, items = t.deep("bucket_mask"), t.deep("ctrl"), t.deep("items")
    table = _named(t, "RawTable")
    item = table.parameter(0) if table is not None else None
    pointer = first_pointer(control.type) if control is not None else None
    key = item.member("__0") if item is not None else None
    if mask is None or control is None or items is None or item is None or key is None or not item.size:
        return None
    at = control.offset + (pointer.offset if pointer is not None else 0)
    if "HashSet<" in t.name:
        return Buckets(at, mask.offset, items.offset, item.size, key.offset, key.type, pairs=False)
    return Buckets(at, mask.offset, items.offset, item.size, 0, item, pairs=True)


def _named(t: VType, name: str, depth: int = 0) -> VType | None:
    """The first struct of that name inside."""
    if t.base_name == name:
        return t
    if depth > 8:
        return None
    return next((f for m in t.members if m.type.kind == "struct" and (f := _named(m.type, name, depth + 1))), None)


def sorted_(t: VType) -> Shape | None:
    """Its root is an ``Option``: there is a pointer, or none."""
    length, root = t.deep("length"), t.deep("root")
    variants = root.type.variants() if root is not None else None
    some = next((v for v in variants.all if v.name == "Some"), None) if variants is not None else None
    inner = some.type.member("__0") if some is not None else None
    if length is None or root is None or some is None or inner is None:
        return None
    node, height = first_pointer(inner.type), inner.type.member("height")
    leaf = node.type.target if node is not None else None
    if node is None or height is None or leaf is None:
        return None
    at = root.offset + some.offset + inner.offset
    keys, values, many = leaf.member("keys"), leaf.member("vals"), leaf.member("len")
    key = leaf.parameter(0)
    if keys is None or values is None or many is None or key is None:
        return None
    value = None if "BTreeSet<" in t.name else leaf.parameter(1)
    own = (at + node.offset, at + height.offset, length.offset)
    return Sorted(*own, leaf.size, many.offset, keys.offset, values.offset, key, value)


def queued(t: VType) -> Shape | None:
    tail = t.member("tail")  # up to 1.66, with ``head`` behind the last one
    head, length = (t.member("head"), t.member("len")) if tail is None else (tail, t.member("head"))
    buf = t.member("buf")
    pointer = first_pointer(buf.type) if buf is not None else None
    room = buf.type.deep("cap") if buf is not None else None
    element = t.parameter(0)
    if head is None or length is None or buf is None or pointer is None or room is None or element is None:
        return None
    places = (buf.offset + pointer.offset, head.offset, length.offset, buf.offset + room.offset)
    return Ring(*places, element, until=tail is not None)
