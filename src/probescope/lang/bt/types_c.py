"""The C types of a program: those that its script defines, and below them those of the kernel.

The script's own definitions hide the kernel's of the same name. The kernel's are asked only for names that are not
known here: a program that touches no kernel type never has them loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from probescope.debuginfo import cbase
from probescope.diagnostics import nearest
from probescope.errors import UsageError
from probescope.lang.bt import cdecl, fold
from probescope.model.abi import size_align
from probescope.model.types import (
    BOOL,
    Array,
    Enum,
    Int,
    Layout,
    Struct,
    Type,
    TypeTable,
    Void,
)

NO_TYPES = "this kernel offers no types (CONFIG_DEBUG_INFO_BTF)"


class CTypes:
    """A ``TypeTable``: definitions of the script first, then those of traced ``programs`` and of the ``kernel``; both
    may be ``None``."""

    def __init__(
        self, declarations: Iterable[cdecl.CDeclaration], kernel: TypeTable | None, programs: TypeTable | None = None
    ) -> None:
        self.kernel = kernel
        self._tables: tuple[TypeTable, ...] = tuple(t for t in (programs, kernel) if t is not None)
        self._own: TypeTable | None = None
        self._problems: dict[str, str] = {}
        flat = [d for declaration in declarations for d in _with_nested(declaration)]
        if flat:
            from probescope.debuginfo.ctype_table import ScriptTypes

            self._own = ScriptTypes(flat, kernel)
            self._tables = (self._own, *self._tables)

    # --- the TypeTable protocol ---------------------------------------------------------------------------------------

    def layout(self, name: str) -> Layout | None:
        for table in self._tables:
            try:
                found = table.layout(name)
            except UsageError as e:  # a definition of the script that makes no sense: near() tells the reason
                self._problems[name] = e.what
                return None
            if found is not None:
                return found
        return None

    def named(self, name: str) -> Type | None:
        for table in self._tables:
            try:
                found = table.named(name)
            except UsageError as e:
                self._problems[name] = e.what
                return None
            if found is not None:
                return found
        return base_type(name)

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        return next((found for t in self._tables if (found := t.enumerator(name)) is not None), None)

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return next((found for t in self._tables if (found := t.enum_values(name))), ())

    def names(self) -> list[str]:
        return [n for t in self._tables for n in t.names()]

    # --- beyond it ----------------------------------------------------------------------------------------------------

    def size(self, t: Type) -> int | None:
        """Bytes of a type in C's memory; void counts as 1, as compilers have it."""
        if isinstance(t, Void):
            return 1
        if isinstance(t, Struct):
            found = self.layout(t.name)
            return found.size if found is not None else None
        if isinstance(t, Array):
            one = self.size(t.element)
            return None if one is None else one * t.count
        try:
            return size_align(t, self)[0]
        except TypeError:
            return None

    def shadows(self, name: str) -> bool:
        """Whether the script gives a name its own meaning."""
        return self._own is not None and name in self._own.names()

    def near(self, name: str, language: Sequence[str] = ()) -> Sequence[str]:
        """Hints for a name that leads nowhere: the script's own names first, then ``language`` and the kernel's."""
        if name in self._problems:
            return [self._problems[name]]
        own = self._own.names() if self._own is not None else []
        for names in (own, [*language, *self._kernel_names_like(name)]):
            found = nearest(name, names)[:1]
            if found:
                return [f"did you mean '{found[0]}'?"]
        return [] if self.kernel_known else [f"{NO_TYPES}: define it in the script"]

    @property
    def kernel_known(self) -> bool:
        """Whether the kernel offers any type at all; asked for hints alone, since it loads them."""
        return self.kernel is not None and bool(self.kernel.names())

    def _kernel_names_like(self, name: str) -> list[str]:
        """Only those that begin alike: comparing all of them would take long. Without its keyword a struct is near."""
        if self.kernel is None:
            return []
        keyword, _, last = name.rpartition(" ")
        if not keyword and self.kernel.layout(f"struct {name}") is not None:
            return [f"struct {name}"]
        start = f"{keyword} {last[:2]}".lstrip()
        return [n for n in self.kernel.names() if n.startswith(start)]


def _with_nested(d: cdecl.CDeclaration) -> Iterator[cdecl.CDeclaration]:
    """A definition, after those that stand inside it without belonging to a member."""
    if isinstance(d, cdecl.CStruct):
        yield from d.nested
    yield d


_BASE: dict[str, Type] = {"bool": BOOL, "_Bool": BOOL}


def base_type(name: str) -> Type | None:
    """The types that every 64-bit Linux has by that name, in C and in this language."""
    found = _BASE.get(name)
    if found is not None:
        return found
    size = fold.SIZES.get(name)
    return Int(*size) if size is not None else cbase.builtin(name)
