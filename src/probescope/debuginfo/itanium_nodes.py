"""What a mangled C++ name is made of, and how each part is written: as binutils writes it (``> >``, ``char const*``).

C types wrap around names: ``void (*f)(int)`` has a part left of ``f`` and one right of it. So each node writes a left
and a right side. Nodes are shared (substitutions), so a short name may stand for a huge text: ``Out`` stops in time.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_TEXT = 1 << 16
MAX_NODES = 1 << 17
MAX_NESTING = 160


class Malformed(Exception):
    """The name does not follow the grammar, or goes beyond a limit."""


class Scope:
    """The template arguments of the function being written, and the scope that they themselves are in."""

    __slots__ = ("args", "outer")

    def __init__(self, args: Sequence[Node], outer: Scope | None) -> None:
        self.args, self.outer = args, outer


class Out:
    """The text so far. ``pack_index`` and ``pack_max``: which element of parameter packs is being written. ``scope``:
    what template parameters mean; in the parameters of a generic lambda (``in_lambda``) they are ``auto``."""

    __slots__ = ("depth", "in_lambda", "nodes", "pack_index", "pack_max", "parts", "scope", "size")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = self.nodes = self.depth = self.pack_index = 0
        self.pack_max: int | None = None
        self.scope: Scope | None = None
        self.in_lambda = False

    def put(self, text: str) -> None:
        if text:
            self.parts.append(text)
            self.size += len(text)
            if self.size > MAX_TEXT:
                raise Malformed("the text is too long")

    def last(self) -> str:
        return self.parts[-1][-1] if self.parts else ""

    def enter(self) -> None:
        self.nodes += 1
        self.depth += 1
        if self.nodes > MAX_NODES or self.depth > MAX_NESTING:
            raise Malformed("too many parts")

    def show(self, node: Node) -> None:
        self.left(node)
        self.right(node)

    def left(self, node: Node) -> None:
        self.enter()
        node.left(self)
        self.depth -= 1

    def right(self, node: Node) -> None:
        self.enter()
        node.right(self)
        self.depth -= 1

    def pack_length(self) -> int | None:
        """Of the packs written since ``pack_max`` was set to ``None``; still ``None`` if there was no pack."""
        return self.pack_max

    def list(self, nodes: Sequence[Node]) -> None:
        """With commas between what is not empty: an empty parameter pack writes nothing."""
        first = True
        for node in nodes:
            mark = len(self.parts)
            if not first:
                self.put(", ")
            after = len(self.parts)
            self.show(node)
            if len(self.parts) == after:
                del self.parts[mark:]
            else:
                first = False


def text_of(node: Node) -> str:
    out = Out()
    out.show(node)
    return "".join(out.parts)


class Node:
    __slots__ = ()

    def left(self, o: Out) -> None:
        raise NotImplementedError

    def right(self, o: Out) -> None:
        return None

    def shape(self, o: Out) -> str:
        """``f`` for a function type, ``a`` for an array: pointers to these need parentheses."""
        return ""

    def wraps(self, o: Out) -> bool:
        """Whether it has a right part: what it is the result of stands inside it, without a blank."""
        return bool(self.shape(o))

    def base(self) -> str:
        """The last name, which constructors repeat."""
        return ""


class Name(Node):
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def left(self, o: Out) -> None:
        o.put(self.text)

    def base(self) -> str:
        return self.text


class StdName(Name):
    """A standard abbreviation: written in full, but its constructors repeat only the short name."""

    __slots__ = ("short",)

    def __init__(self, text: str, short: str) -> None:
        super().__init__(text)
        self.short = short

    def base(self) -> str:
        return self.short


class Nested(Node):
    """``scope::name``."""

    __slots__ = ("name", "scope")

    def __init__(self, scope: Node, name: Node) -> None:
        self.scope, self.name = scope, name

    def left(self, o: Out) -> None:
        o.show(self.scope)
        o.put("::")
        o.show(self.name)

    def base(self) -> str:
        return self.name.base()


class Templated(Node):
    __slots__ = ("args", "name")

    def __init__(self, name: Node, args: Sequence[Node]) -> None:
        self.name, self.args = name, args

    def left(self, o: Out) -> None:
        o.show(self.name)
        if o.last() == "<":  # operator< <int>
            o.put(" ")
        o.put("<")
        o.list(self.args)
        o.put(" >" if o.last() == ">" else ">")

    def base(self) -> str:
        return self.name.base()


class Structor(Node):
    """A constructor or destructor."""

    __slots__ = ("destructor", "scope")

    def __init__(self, scope: Node, destructor: bool) -> None:
        self.scope, self.destructor = scope, destructor

    def left(self, o: Out) -> None:
        o.put("~" if self.destructor else "")
        o.put(self.scope.base())


class Wrapped(Node):
    """Text around a node: ``vtable for X``, ``X[abi:tag]``, ``decltype (X)``."""

    __slots__ = ("after", "before", "node")

    def __init__(self, before: str, node: Node, after: str = "") -> None:
        self.before, self.node, self.after = before, node, after

    def left(self, o: Out) -> None:
        o.put(self.before)
        o.show(self.node)
        o.put(self.after)

    def base(self) -> str:
        return self.node.base()


class Joined(Node):
    """Nodes and texts in a row: ``construction vtable for A-in-B``."""

    __slots__ = ("items",)

    def __init__(self, *items: Node | str) -> None:
        self.items = items

    def left(self, o: Out) -> None:
        for item in self.items:
            if isinstance(item, str):
                o.put(item)
            else:
                o.show(item)


class Listed(Node):
    """``before a, b after``."""

    __slots__ = ("after", "before", "nodes")

    def __init__(self, before: str, nodes: Sequence[Node], after: str) -> None:
        self.before, self.nodes, self.after = before, nodes, after

    def left(self, o: Out) -> None:
        o.put(self.before)
        o.list(self.nodes)
        o.put(self.after)


class Encoding(Node):
    """A function with its parameters. ``result`` is written for templates only, ``args`` are the template's."""

    __slots__ = ("args", "name", "params", "quals", "result")

    def __init__(
        self, name: Node, result: Node | None, params: Sequence[Node], quals: str, args: Sequence[Node]
    ) -> None:
        self.name, self.result, self.params, self.quals, self.args = name, result, params, quals, args

    def left(self, o: Out) -> None:
        o.scope, lambda_outside = Scope(self.args, o.scope), o.in_lambda
        o.in_lambda = False
        self._write(o)
        o.scope, o.in_lambda = o.scope.outer, lambda_outside

    def _write(self, o: Out) -> None:
        if self.result is not None:
            o.left(self.result)
            if not self.result.wraps(o):
                o.put(" ")
        o.show(self.name)
        o.put("(")
        o.list(self.params)
        o.put(")")
        if self.result is not None:
            o.right(self.result)
        o.put(self.quals)

    def base(self) -> str:
        return self.name.base()
