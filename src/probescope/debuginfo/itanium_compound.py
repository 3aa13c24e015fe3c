"""How compound C++ types and parameter packs are written (names and functions: ``itanium_nodes``)."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.debuginfo.itanium_nodes import MAX_NESTING, Malformed, Name, Node, Out, Scope


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

    def wraps(self, o: Out) -> bool:
        return self.node.wraps(o)


class Pointing(Node):
    """A pointer, a reference (``&``, ``&&``) or, with ``owner``, a pointer to member."""

    __slots__ = ("mark", "node", "owner")

    def __init__(self, node: Node, mark: str, owner: Node | None = None) -> None:
        self.node, self.mark, self.owner = node, mark, owner

    def _target(self, o: Out) -> tuple[Node, str, Scope | None]:
        """References to references are one: && only if all of them are. The scope is that of the target."""
        node, mark, scope = self.node, self.mark, o.scope
        for _ in range(MAX_NESTING):
            inner, inner_scope = node, scope
            while isinstance(inner, Alias):
                inner, inner_scope = inner.resolved(o, inner_scope)
            if mark[0] != "&" or not isinstance(inner, Pointing) or inner.mark[0] != "&":
                break
            mark = "&" if "&" in (mark, inner.mark) else "&&"
            node, scope = inner.node, inner_scope
        return node, mark, scope

    def left(self, o: Out) -> None:
        node, mark, scope = self._target(o)
        o.scope, outer = scope, o.scope
        o.left(node)
        shape = node.shape(o)
        o.scope = outer
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
        node, _, scope = self._target(o)
        o.scope, outer = scope, o.scope
        if node.shape(o):
            o.put(")")
        o.right(node)
        o.scope = outer

    def wraps(self, o: Out) -> bool:
        node, _, scope = self._target(o)
        o.scope, outer = scope, o.scope
        found = bool(node.shape(o))
        o.scope = outer
        return found


class Function(Node):
    """A function type; ``quals`` are those of a member: `` const &``."""

    __slots__ = ("params", "quals", "result")

    def __init__(self, result: Node, params: Sequence[Node], quals: str) -> None:
        self.result, self.params, self.quals = result, params, quals

    def left(self, o: Out) -> None:
        o.left(self.result)
        if not self.result.wraps(o):
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
    """Stands for another node, which is found while writing."""

    __slots__ = ()

    def resolved(self, o: Out, scope: Scope | None) -> tuple[Node, Scope | None]:
        """The node, and the scope that it is in."""
        raise NotImplementedError

    def left(self, o: Out) -> None:
        outer = o.scope
        node, o.scope = self.resolved(o, outer)
        o.left(node)
        o.scope = outer

    def right(self, o: Out) -> None:
        outer = o.scope
        node, o.scope = self.resolved(o, outer)
        o.right(node)
        o.scope = outer

    def shape(self, o: Out) -> str:
        outer = o.scope
        o.enter()
        node, o.scope = self.resolved(o, outer)
        found = node.shape(o)
        o.scope = outer
        o.depth -= 1
        return found

    def wraps(self, o: Out) -> bool:
        outer = o.scope
        o.enter()
        node, o.scope = self.resolved(o, outer)
        found = node.wraps(o)
        o.scope = outer
        o.depth -= 1
        return found


class Param(Alias):
    """``T_``: an argument of the innermost template function around."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def resolved(self, o: Out, scope: Scope | None) -> tuple[Node, Scope | None]:
        if o.in_lambda:
            return Name(f"auto:{self.index + 1}"), scope
        if scope is None or self.index >= len(scope.args):
            raise Malformed("an unknown template parameter")
        return scope.args[self.index], scope.outer


class Pack(Alias):
    """An argument that is a pack: writes the element at hand."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    def resolved(self, o: Out, scope: Scope | None) -> tuple[Node, Scope | None]:
        if o.pack_max is None:
            o.pack_max, o.pack_index = len(self.nodes), 0
        return (self.nodes[o.pack_index] if o.pack_index < len(self.nodes) else Name("")), scope


class PackLength(Node):
    """``sizeof...(T)``: the number of elements."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    def left(self, o: Out) -> None:
        found = [n.resolved(o, o.scope)[0] if isinstance(n, Param) else n for n in self.nodes]
        if len(found) == 1 and not isinstance(found[0], Pack):  # a function parameter: how many it is does not show
            o.put("sizeof...(")
            o.show(found[0])
            o.put(")")
        else:
            o.put(str(sum(len(n.nodes) if isinstance(n, Pack) else 1 for n in found)))


class Lambda(Node):
    """``{lambda(int)#1}``."""

    __slots__ = ("number", "params")

    def __init__(self, params: Sequence[Node], number: int) -> None:
        self.params, self.number = params, number

    def left(self, o: Out) -> None:
        outside, o.in_lambda = o.in_lambda, True
        o.put("{lambda(")
        o.list(self.params)
        o.put(f")#{self.number}}}")
        o.in_lambda = outside

    def base(self) -> str:
        return "lambda"


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
            self._unexpanded(o, mark)
        elif count == 0:
            del o.parts[mark:]
        for i in range(1, count or 0):
            o.put(", ")
            o.pack_index = i
            o.show(self.node)
        o.pack_index, o.pack_max = saved

    def _unexpanded(self, o: Out, mark: int) -> None:
        if not isinstance(self.node, Name):
            o.parts.insert(mark, "(")
            o.put(")")
        o.put("...")
