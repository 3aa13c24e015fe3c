"""Data classes that cost next to nothing to define: start-up is a feature.

The standard library's ``dataclass`` writes and compiles source text for each class, about half a millisecond apiece;
a program here touches two hundred such classes before it attaches anything. This decorator takes the same arguments,
means the same, and builds its methods from closures: a hundred times cheaper to define, somewhat slower to call.

Supported: ``frozen``, ``slots``, ``eq``, ``kw_only``, ``field(default=, default_factory=, compare=, repr=,
kw_only=)``, inheritance, ``__post_init__``, ``__match_args__``, ``replace``, ``fields``. Type checkers see it as a
dataclass (PEP 681).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")

_MISSING: Any = type("MISSING", (), {"__repr__": lambda _: "MISSING"})()


class FieldSpec:
    """One field: its name and what ``field()`` said of it."""

    __slots__ = ("compare", "default", "default_factory", "kw_only", "name", "repr", "setter")

    def __init__(self, default: Any, factory: Any, compare: bool, repr_: bool, kw_only: bool) -> None:
        self.name = ""
        self.default = default
        self.default_factory = factory
        self.compare = compare
        self.repr = repr_
        self.kw_only = kw_only
        self.setter: Callable[[Any, Any], None] = _MISSING


def field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    compare: bool = True,
    repr: bool = True,  # noqa: A002 - the name that dataclasses gave it
    kw_only: bool = False,
) -> Any:
    return FieldSpec(default, default_factory, compare, repr, kw_only)


class FrozenInstanceError(AttributeError):
    """An attempt to change a frozen value."""


@overload
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: type[T] | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """As ``dataclasses.dataclass``."""

    def build(c: type[T]) -> type[T]:
        return _build(c, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)

    return build if cls is None else build(cls)


def _own_fields(cls: type, *, kw_only: bool) -> list[FieldSpec]:
    out = []
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063 - not inherited ones
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        value = cls.__dict__.get(name, _MISSING)
        spec = value if isinstance(value, FieldSpec) else FieldSpec(value, _MISSING, True, True, False)
        spec.name = name
        spec.kw_only = spec.kw_only or kw_only
        out.append(spec)
    return out


def _build(cls: type[T], *, frozen: bool, slots: bool, eq: bool, kw_only: bool) -> type[T]:
    own = _own_fields(cls, kw_only=kw_only)
    inherited = [f for b in reversed(cls.__mro__[1:]) for f in b.__dict__.get("__own_fields__", ())]
    namespace = dict(cls.__dict__)
    for f in own:
        if slots or isinstance(namespace.get(f.name), FieldSpec):
            namespace.pop(f.name, None)
    if slots:
        namespace.pop("__dict__", None)
        namespace.pop("__weakref__", None)
        taken = {f.name for f in inherited}
        namespace["__slots__"] = tuple(f.name for f in own if f.name not in taken)
    namespace["__own_fields__"] = tuple(own)
    merged = {f.name: f for f in [*inherited, *own]}
    order = [f for f in merged.values() if not f.kw_only]
    keywords = [f for f in merged.values() if f.kw_only]
    namespace["__fields__"] = (*order, *keywords)
    namespace.setdefault("__match_args__", tuple(f.name for f in order))
    metaclass: Any = type(cls)
    new: type[T] = metaclass(cls.__name__, cls.__bases__, namespace)
    new.__qualname__ = cls.__qualname__
    _fix_class_cells(cls, new)
    _install(new, order, keywords, frozen=frozen, eq=eq)
    return new


def _fix_class_cells(old: type, new: type) -> None:
    """Methods that use ``super()`` or ``__class__`` hold a cell with the class they were written in; it is another
    one now."""
    for value in list(new.__dict__.values()):
        function = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        for cell in getattr(function, "__closure__", None) or ():
            try:
                if cell.cell_contents is old:
                    cell.cell_contents = new
            except ValueError:  # an empty cell
                continue


def _setters(cls: type, fs: list[FieldSpec]) -> list[tuple[FieldSpec, Callable[[Any, Any], None]]]:
    out = []
    for f in fs:
        descriptor = next((b.__dict__[f.name] for b in cls.__mro__ if hasattr(b.__dict__.get(f.name), "__set__")), None)
        if descriptor is not None:
            out.append((f, descriptor.__set__))
        else:
            out.append((f, _dict_setter(f.name)))
    return out


def _dict_setter(name: str) -> Callable[[Any, Any], None]:
    return lambda self, value: object.__setattr__(self, name, value)


def _install(cls: type, order: list[FieldSpec], keywords: list[FieldSpec], *, frozen: bool, eq: bool) -> None:
    own = cls.__dict__
    target: Any = cls
    if "__init__" not in own:
        target.__init__ = _make_init(cls, order, keywords)
    if "__repr__" not in own:
        target.__repr__ = _make_repr([f.name for f in [*order, *keywords] if f.repr])
    if eq and "__eq__" not in own:
        names = tuple(f.name for f in [*order, *keywords] if f.compare)
        target.__eq__ = _make_eq(names)
        target.__hash__ = _make_hash(cls, names) if frozen else None
    if frozen:
        target.__setattr__ = _refuse_set
        target.__delattr__ = _refuse_del
    target.__getstate__ = _getstate
    target.__setstate__ = _setstate


def _make_init(cls: type, order: list[FieldSpec], keywords: list[FieldSpec]) -> Callable[..., None]:
    positional = _setters(cls, order)
    everything = positional + _setters(cls, keywords)
    most = len(positional)
    post = getattr(cls, "__post_init__", None)
    names = {f.name for f, _ in everything}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        given = len(args)
        if given > most:
            raise TypeError(f"{cls.__name__}() takes {most} positional arguments but {given} were given")
        i = 0
        for f, put in everything:
            if i < given:
                put(self, args[i])
                i += 1
                if kwargs and f.name in kwargs:
                    raise TypeError(f"{cls.__name__}() got multiple values for argument {f.name!r}")
            elif kwargs and f.name in kwargs:
                put(self, kwargs[f.name])
            elif f.default is not _MISSING:
                put(self, f.default)
            elif f.default_factory is not _MISSING:
                put(self, f.default_factory())
            else:
                raise TypeError(f"{cls.__name__}() missing required argument: {f.name!r}")
        if kwargs and not kwargs.keys() <= names:
            raise TypeError(f"{cls.__name__}() got an unexpected argument {min(kwargs.keys() - names)!r}")
        if post is not None:
            self.__post_init__()

    return __init__


def _make_repr(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    return __repr__


def _make_eq(names: tuple[str, ...]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in names)

    return __eq__


def _make_hash(cls: type, names: tuple[str, ...]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash((cls.__name__, *[getattr(self, n) for n in names]))

    return __hash__


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to {name!r} of a frozen {type(self).__name__}")


def _refuse_del(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete {name!r} of a frozen {type(self).__name__}")


def _getstate(self: Any) -> dict[str, Any]:
    return {f.name: getattr(self, f.name) for f in self.__fields__}


def _setstate(self: Any, state: dict[str, Any]) -> None:
    for f, put in _setters(type(self), list(type(self).__fields__)):
        put(self, state[f.name])


def fields(of: Any) -> tuple[FieldSpec, ...]:
    """The fields of a class or instance made here, in order."""
    return tuple(of.__fields__)


def replace(value: T, /, **changes: Any) -> T:
    """A copy with some fields changed."""
    current = {f.name: getattr(value, f.name) for f in value.__fields__}  # type: ignore[attr-defined]
    return type(value)(**{**current, **changes})
