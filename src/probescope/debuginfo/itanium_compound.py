"""How compound C++ types and parameter packs are written (names and functions: ``itanium_nodes``)."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.debuginfo.itanium_nodes import MAX_NESTING, Malformed, Name, Node, Out


class Qualified(Node):
    """``int const``."""

    __slots__ = ("node", "qual")

    def __init__(self, node: Node, qual: str) -> None:
        self.node, self.qual = node, qual

    def left(self, o: Out) -> None:
        o.left(self.node)
        o.put(self.qual)

    def right(self, o: Out) -> None:
        o.right(self.node)

    def shape(self, o: Out) -> str:
        return self.node.shape(o)


class Pointing(Node):
    """A pointer, a reference (``&``, ``&&``) or, with ``owner``, a pointer to member."""

    __slots__ = ("mark", "node", "owner")

    def __init__(self, node: Node, mark: str, owner: Node | None = None) -> None:
        self.node, self.mark, self.owner = node, mark, owner

    def _target(self, o: Out) -> tuple[Node, str]:
        """References to references are one: && only if all of them are."""
        node, mark = self.node, self.mark
        for _ in range(MAX_NESTING):
            inner = node.resolved(o) if isinstance(node, Alias) else node
            if mark[0] != "&" or not isinstance(inner, Pointing) or inner.mark[0] != "&":
                break
            mark = "&" if "&" in (mark, inner.mark) else "&&"
            node = inner.node
        return node, mark

    def left(self, o: Out) -> None:
        node, mark = self._target(o)
        o.left(node)
        shape = node.shape(o)
        if shape == "a":
            o.put(" ")
        if shape:
            o.put("(")
        elif self.owner is not None:
            o.put(" ")
        if self.owner is not None:
            o.show(self.owner)
            o.put("::")
        o.put(mark)

    def right(self, o: Out) -> None:
        node, _ = self._target(o)
        if node.shape(o):
            o.put(")")
        o.right(node)


class Function(Node):
    """A function type; ``quals`` are those of a member: `` const &``."""

    __slots__ = ("params", "quals", "result")

    def __init__(self, result: Node, params: Sequence[Node], quals: str) -> None:
        self.result, self.params, self.quals = result, params, quals

    def left(self, o: Out) -> None:
        o.left(self.result)
        if not self.result.shape(o):
            o.put(" ")

    def right(self, o: Out) -> None:
        o.put("(")
        o.list(self.params)
        o.put(")")
        o.put(self.quals)
        o.right(self.result)

    def shape(self, o: Out) -> str:
        return "f"


class Array(Node):
    __slots__ = ("count", "node")

    def __init__(self, node: Node, count: Node) -> None:
        self.node, self.count = node, count

    def left(self, o: Out) -> None:
        o.left(self.node)

    def right(self, o: Out) -> None:
        o.put("[" if o.last() == "]" else " [")
        o.show(self.count)
        o.put("]")
        o.right(self.node)

    def shape(self, o: Out) -> str:
        return "a"


class Alias(Node):
    """Stands for another node that is known, or found, while writing."""

    __slots__ = ()

    def resolved(self, o: Out) -> Node:
        raise NotImplementedError

    def left(self, o: Out) -> None:
        o.left(self.resolved(o))

    def right(self, o: Out) -> None:
        o.right(self.resolved(o))

    def shape(self, o: Out) -> str:
        o.enter()
        found = self.resolved(o).shape(o)
        o.depth -= 1
        return found


class Forward(Alias):
    """A template parameter of a conversion operator's type, which stands before the arguments are known."""

    __slots__ = ("index", "node")

    def __init__(self, index: int) -> None:
        self.index = index
        self.node: Node | None = None

    def resolved(self, o: Out) -> Node:
        if self.node is None:
            raise Malformed("an unknown template parameter")
        return self.node


class Pack(Alias):
    """A template parameter that is a pack: writes the element at hand."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    def resolved(self, o: Out) -> Node:
        if o.pack_max is None:
            o.pack_max, o.pack_index = len(self.nodes), 0
        return self.nodes[o.pack_index] if o.pack_index < len(self.nodes) else Name("")


class Expansion(Node):
    """``T...``: the pattern once for each element of its packs."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def left(self, o: Out) -> None:
        saved = o.pack_index, o.pack_max
        o.pack_index, o.pack_max = 0, None
        mark = len(o.parts)
        o.show(self.node)
        count = o.pack_length()
        if count is None:
            o.put("...")
        elif count == 0:
            del o.parts[mark:]
        for i in range(1, count or 0):
            o.put(", ")
            o.pack_index = i
            o.show(self.node)
        o.pack_index, o.pack_max = saved
