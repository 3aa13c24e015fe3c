"""The base of all nodes of the syntax tree: frozen, slotted, compared by value, cheap to define.

Type checkers see ordinary frozen dataclasses (``dataclass_transform``). At run time the class body is turned into
slots and one shared constructor, because ``@dataclass`` compiles half a dozen functions a class, and sixty classes of
that would cost more than parsing a whole tool (start-up is a feature).

Spans and the other fields named in ``UNCOMPARED`` take no part in comparison: two trees are
equal when they mean the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from probescope.diagnostics import Span

UNCOMPARED = frozenset({"span", "text", "spec", "callers"})


def _inherited(bases: tuple[type, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f for base in bases for f in getattr(base, "_fields", ())))


@dataclass_transform(frozen_default=True)
class _NodeType(type):
    """Makes slots of the annotations, and remembers order and defaults of the fields."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _NodeType:
        own = [f for f, kind in body.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar")]
        defaults = {f: body.pop(f) for f in own if f in body}
        body["__slots__"] = tuple(own)
        body["__match_args__"] = _inherited(bases) + tuple(own)
        made: Any = super().__new__(mcs, name, bases, body)
        for base in bases:
            defaults = {**getattr(base, "_defaults", {}), **defaults}
        fields: tuple[str, ...] = body["__match_args__"]
        made._fields = fields
        made._defaults = defaults
        made._compared = tuple(f for f in fields if f not in UNCOMPARED)
        made._setters = tuple(getattr(made, f).__set__ for f in fields)
        return made  # type: ignore[no-any-return]


class Node(metaclass=_NodeType):
    """Anything in the tree. ``span`` is its place in the text of the program it came from."""

    span: Span

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]
        _compared: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, Any]]
        _setters: ClassVar[tuple[Any, ...]]
    else:

        def __init__(self, *args: Any, **named: Any) -> None:
            setters = self._setters
            if named or len(args) != len(setters):
                args = _complete(type(self), args, named)
            for put, value in zip(setters, args, strict=True):
                put(self, value)

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}")

        def __delattr__(self, name: str) -> None:
            raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}")

        def __eq__(self, other: object) -> bool:
            if type(self) is not type(other):
                return NotImplemented
            return all(getattr(self, f) == getattr(other, f) for f in self._compared)

        def __hash__(self) -> int:
            return hash((type(self).__name__, *(getattr(self, f) for f in self._compared)))

        def __repr__(self) -> str:
            inner = ", ".join(f"{f}={getattr(self, f)!r}" for f in self._compared)
            return f"{type(self).__name__}({inner})"

        def __reduce__(self) -> object:
            return type(self), tuple(getattr(self, f) for f in self._fields)


def _complete(cls: type[Any], args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The whole row of field values from positional ones, named ones and defaults; ``TypeError`` as for any call."""
    fields: tuple[str, ...] = cls._fields
    values = dict(zip(fields, args, strict=False))
    if len(args) > len(fields) or any(n in values or n not in fields for n in named):
        raise TypeError(f"{cls.__name__} takes {fields}, got {len(args)} values and {sorted(named)}")
    values.update(named)
    missing = [f for f in fields if f not in values and f not in cls._defaults]
    if missing:
        raise TypeError(f"{cls.__name__} lacks {missing}")
    return tuple(values.get(f, cls._defaults.get(f)) for f in fields)


N = TypeVar("N", bound=Node)


def replace(node: N, **changes: object) -> N:
    """A copy of ``node`` with some fields changed."""
    make: Any = type(node)
    return make(*(changes[f] if f in changes else getattr(node, f) for f in node._fields))  # type: ignore[no-any-return]


def children(node: Node) -> Iterator[Node]:
    """The direct child nodes, in the order of the text; also those inside tuples."""
    for name in node._compared:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif type(value) is tuple:
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """``node`` and all nodes below it, outermost first, in the order of the text; needs no recursion."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def depth(node: Node, most: int = sys.maxsize) -> int:
    """The height of the tree in nodes, counted no further than ``most``."""
    level, height = [node], 0
    while level and height < most:
        height += 1
        level = [child for parent in level for child in children(parent)]
    return height


def rebuild(node: N, change: Callable[[Any], Any]) -> N:
    """``node`` with ``change`` applied to each direct child; the same node if no child changed."""
    changed = False
    values: list[Any] = []
    for name in node._fields:
        value = old = getattr(node, name)
        if isinstance(value, Node):
            value = change(value)
        elif type(value) is tuple and value and isinstance(value[0], Node):
            value = tuple([change(item) for item in value])
            if all(a is b for a, b in zip(value, old, strict=True)):
                value = old
        changed = changed or value is not old
        values.append(value)
    make: Any = type(node)
    return make(*values) if changed else node


def relocate(node: N, span: Span) -> N:
    """The whole tree with every place set to ``span``: of what came from another text."""
    inner = rebuild(node, lambda child: relocate(child, span))
    return replace(inner, span=span)
