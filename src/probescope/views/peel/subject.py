"""What is looked at: a function, its probes, and what a program can ask of its arguments and of what it returns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from probescope.frozen import dataclass
from probescope.lang.bt.pointtext import part
from probescope.model.types import Bool, Enum, Int, Pointer, Type, Void, is_scalar

if TYPE_CHECKING:
    from probescope.model.site import Field, Site

Kind = Literal["number", "pointer", "text", "guess"]
MOST_ARGUMENTS = 8
TEXT = 64
"""Characters of texts that are keys."""
GUESSED = 6
"""Registers that arguments are passed in, System V x86-64; AArch64 has eight."""
_PLAIN = re.compile(r"[A-Za-z_$][\w$.]*\Z")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}\Z")


@dataclass(frozen=True, slots=True)
class Subject:
    """A function; ``binary``: the file that has it, "" for the kernel."""

    function: str
    binary: str = ""

    @property
    def title(self) -> str:
        return f"{self.function} of {self.binary}" if self.binary else f"{self.function} of the kernel"

    @property
    def kernel(self) -> bool:
        return not self.binary

    @property
    def plain(self) -> bool:
        """Named as C names things."""
        return _PLAIN.match(self.function) is not None

    def probes(self, way: str = "kprobe") -> tuple[str, str]:
        """Where it is entered, where it returns. ``way``: of the kernel's functions, kprobe or fentry."""
        if self.kernel:
            back = "fexit" if way == "fentry" else "kretprobe"
            return f"{way}:{self.function}", f"{back}:{self.function}"
        name = self.function
        if not self.plain and _ADDRESS.match(name) is None:
            name = f'cpp:"{name}"'
        path = part(self.binary)
        return f"uprobe:{path}:{name}", f"uretprobe:{path}:{name}"


@dataclass(frozen=True, slots=True)
class Argument:
    """``text``: as it is declared. ``keys``: expressions that tell its values apart; empty where it cannot be read, for
    the reason that ``lost`` gives."""

    name: str
    text: str
    kind: Kind
    keys: tuple[str, ...]
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A subject as this machine has it. ``result``: ``None`` of functions that return nothing. ``guessed``: nothing
    declares the arguments. ``calls``: functions that its code calls, in the same file; ``outside``: in others.
    ``who``: what tells apart who calls it; ``symbol``: that of its code."""

    subject: Subject
    entry: str
    back: str
    arguments: tuple[Argument, ...] = ()
    result: Argument | None = None
    guessed: bool = False
    notes: tuple[str, ...] = ()
    calls: tuple[Subject, ...] = ()
    outside: tuple[Subject, ...] = ()
    who: str = "tid"
    symbol: str = ""

    @property
    def root(self) -> str:
        """Its name for what knows none of C++."""
        return self.symbol if self.symbol and self.subject.plain else self.subject.function


def declared(site: Site, lines: Sequence[str]) -> tuple[Argument, ...]:
    """By its debug information or BTF. ``lines`` declare the parameters as C does, in their order."""
    by_name = {f.name: f for f in site.fields}
    out = []
    for line in lines[:MOST_ARGUMENTS]:
        name = name_of(line)
        field = by_name.get(name)
        out.append(_argument(name, line, field, f"args.{name}", site) if name else _nameless(line))
    return tuple(out)


def guessed(count: int, pointers: Sequence[int]) -> tuple[Argument, ...]:
    """By its machine code: ``pointers`` are followed."""
    return tuple(
        Argument(f"arg{i}", f"arg{i}{' (a pointer)' if i in pointers else ''}", "guess", (f"arg{i}", _text(f"arg{i}")))
        for i in range(min(count, GUESSED))
    )


def returned(field: Field | None, lines: Sequence[str]) -> Argument | None:
    """``field``: of the return probe; ``None`` where it returns nothing, or more than a register. ``lines`` declare it,
    beside the parameters where these are known too (fexit)."""
    if field is None or isinstance(field.type, Void):
        return None
    text = next((line for line in lines if name_of(line) == "retval"), "retval")
    if _is_text(field.type):
        return Argument("retval", text, "text", ("retval", _text("retval")))
    if not is_scalar(field.type):
        return None
    return Argument("retval", text, _kind(field.type) if lines else "guess", ("retval",))


def name_of(declaration: str) -> str:
    """The name in ``const char *name``, ``int (*compare)(int)``, ``int argv[3]``; "" if there is none."""
    inner = re.search(r"\(\*+\s*(\w+)", declaration)
    if inner is not None:
        return inner[1]
    plain = re.search(r"(\w+)(?:\[[^\]]*\])*\Z", declaration.strip())
    return plain[1] if plain is not None and plain[1] != declaration.strip() else ""


def _argument(name: str, line: str, field: Field | None, expr: str, site: Site) -> Argument:
    if field is None:
        said = next((n for n in site.notes if n.startswith(f"{name} ")), "")
        return Argument(name, line, "number", (), said.partition(": it ")[2] or "cannot be read where it is entered")
    if _is_text(field.type):
        user = site.source in ("uprobe", "uretprobe")
        return Argument(name, line, "text", (expr, _text(expr) if user else _either(expr)))
    if isinstance(field.type, Int | Enum | Bool | Pointer):
        return Argument(name, line, _kind(field.type), (expr,))
    return Argument(name, line, "number", (), f"is no number: {{ print(args.{name}) }} shows it")


def _nameless(line: str) -> Argument:
    return Argument("", line, "number", (), "has no name")


def _kind(t: Type) -> Kind:
    return "pointer" if isinstance(t, Pointer) else "number"


def _is_text(t: Type) -> bool:
    return isinstance(t, Pointer) and isinstance(t.target, Int) and t.target.size == 1 and t.target.signed


def _text(expr: str) -> str:
    return f"str({expr}, {TEXT})"


def _either(expr: str) -> str:
    """A text that a function of the kernel is given may lie in the program: addresses of that are below the middle."""
    return f"((uint64){expr} < 0x8000000000000000 ? str(uptr({expr}), {TEXT}) : str(kptr({expr}), {TEXT}))"
