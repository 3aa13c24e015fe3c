"""Arguments of a definition at one place: each by itself, and those that ``$vars`` and ``$params`` stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from probescope.diagnostics import Diagnostic, nearest
from probescope.errors import ScriptError
from probescope.frozen import dataclass, replace
from probescope.model.arch import Arch
from probescope.model.capture import Capture
from probescope.model.fetch import Absolute, Deref, Fetch, FetchArg, Known, Register, Symbol, behind
from probescope.model.probe_def import ArgDef, Element, Member, ProbeDef, Star, Var
from probescope.model.probe_found import FoundArg
from probescope.model.types import TypeTable
from probescope.sources import probe_floats
from probescope.sources.probe_args import CannotFetch, Chains, Result, Value, Variables

WORD = 8


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an argument may ask for at a place. ``entry``: a function is entered there; ``ret``: it returns there.
    ``every``: names of all variables, or of the parameters alone. ``static``: memory of a symbol of a binary; ``None``
    for the kernel, which finds its symbols itself. ``capture``: of values that are more than a number. ``result``:
    what the function returns. ``operands``: arguments of a USDT probe, where ``$argN`` are those."""

    arch: Arch
    variables: Variables
    table: TypeTable | None
    entry: bool
    ret: bool
    every: Callable[[str], Iterable[str]]
    static: Callable[[str], Fetch] | None = None
    capture: Callable[[Value], Capture | None] | None = None
    result: Result | None = None
    operands: tuple[FoundArg | None, ...] | None = None


def arguments(d: ProbeDef, around: Surroundings) -> tuple[tuple[FoundArg, ...], tuple[str, ...]]:
    """The arguments, and what ``$vars`` and ``$params`` had to leave out. Raises ``ScriptError``."""
    chains = Chains(_Guarded(around), around.table, around.capture, around.result)
    out: list[FoundArg] = []
    lost: list[str] = []
    for a in d.args:
        if a.every:
            _everything(a, around, chains, out, lost)
            continue
        try:
            assert a.x is not None
            out.append(_operand(a, around) or chains.argument(replace(a, x=leaf(a.x, around))))
        except CannotFetch as e:
            span = e.x.span if e.x is not None and e.x.span.line else a.span
            raise ScriptError([Diagnostic("error", e.what, span, e.hints, d.source)]) from None
    return tuple(out), tuple(lost)


def _operand(a: ArgDef, around: Surroundings) -> FoundArg | None:
    """An argument of a USDT probe by its number, with the size that its note tells, or the text that it points to."""
    if around.operands is None or not isinstance(a.x, Known) or a.x.kind != "argN":
        return None
    x, kind = leaf(a.x, around), a.type
    if kind is not None:
        return FoundArg(FetchArg(a.name, behind(x) if kind.is_text else x, kind))
    found = around.operands[a.x.number - 1]
    return found and replace(found, fetch=replace(found.fetch, name=a.name or found.fetch.name))


class _Guarded:
    """Variables, but not where a function returns: its frame is gone."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def __call__(self, name: str) -> Value:
        if self._around.ret:
            raise CannotFetch(
                f"{name} is gone when the function returns",
                "$retval is what it returns; a probe at its entry has the parameters",
            )
        return self._around.variables(name)


def _everything(a: ArgDef, around: Surroundings, chains: Chains, out: list[FoundArg], lost: list[str]) -> None:
    taken = {f.fetch.name for f in out}
    for name in dict.fromkeys(around.every(a.every)):
        if name in taken:
            continue
        try:
            out.append(chains.argument(ArgDef(name, Var(name), text=name)))
        except CannotFetch as e:
            lost.append(e.what)


def leaf(x: Fetch, around: Surroundings) -> Fetch:
    """The same expression in terms that the kernel knows at this place. Raises ``CannotFetch``."""
    match x:
        case Register(name=name):
            return _register(x, name, around.arch)
        case Known(kind="goid"):
            return Var("$goid", span=x.span)
        case Known(kind="retval") if not around.ret:
            raise CannotFetch("$retval is there only where a function returns", "FUNCTION%return", x=x)
        case Known(kind="argN", number=n):
            return _argument(x, n, around)
        case Symbol(name=name, offset=offset) if around.static is not None:
            return _moved(around.static(name), offset, x)
        case Deref(x=inner):
            return replace(x, x=leaf(inner, around))
        case Member(x=inner) | Element(x=inner) | Star(x=inner):
            return replace(x, x=leaf(inner, around))
        case _:
            return x


def _register(x: Fetch, name: str, arch: Arch) -> Fetch:
    plain = arch.aliases.get(name, name)
    if probe_floats.is_register(plain, arch):
        raise CannotFetch(f"%{name} is {probe_floats.WHY.replace('in ', '', 1)}", probe_floats.HOW, x=x)
    if plain not in arch.regs:
        hints = [f"did you mean %{n}?" for n in nearest(name, [*arch.regs])] or [f"there are {', '.join(arch.regs)}"]
        raise CannotFetch(f"there is no register %{name}", *hints, x=x)
    return Register(plain)


def _argument(x: Fetch, n: int, around: Surroundings) -> Fetch:
    """By the calling convention; of a USDT probe by its note."""
    if around.operands is not None:
        found = around.operands[n - 1] if n <= len(around.operands) else None
        if found is None:
            known = (
                f"it has {len(around.operands)} arguments" if n > len(around.operands) else "it is in no place for that"
            )
            raise CannotFetch(f"$arg{n} cannot be had: {known}", x=x)
        return found.fetch.x
    if not around.entry or around.ret:
        raise CannotFetch(f"$arg{n} is there only where a function is entered", x=x)
    registers = around.arch.arg_regs
    if n <= len(registers):
        return Register(registers[n - 1])
    return Deref(Register(around.arch.sp), around.arch.stack_args + WORD * (n - 1 - len(registers)))


def _moved(x: Fetch, offset: int, where: Fetch) -> Fetch:
    if not isinstance(x, Absolute):
        raise CannotFetch("this symbol is no memory", x=where)
    return replace(x, address=x.address + offset)
