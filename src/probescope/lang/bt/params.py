"""Parameters of the command line in a script: ``$1``, ``$#``, ``str($1)``, ``getopt("name", default)``.

A positional parameter is a number where it reads as one, else a string; inside ``str()`` it is always a string. One
that was not given is 0, or the empty string inside ``str()``. Named ones have the type of their default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probescope.diagnostics import Diagnostic, Source, nearest
from probescope.errors import ScriptError, UsageError
from probescope.frozen import dataclass, field
from probescope.lang.bt import fold, literals
from probescope.lang.bt.ast import Binary, Bool, Call, Expr, Int, Node, Positional, PositionalCount, Program, Str
from probescope.lang.bt.node import rebuild, replace


@dataclass(frozen=True, slots=True)
class Params:
    """``named`` maps a name to its text, ``None`` where no ``=value`` was given."""

    positional: tuple[str, ...] = ()
    named: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, before: Sequence[str], after: Sequence[str] = ()) -> Params:
        """From the words of the command line: ``before`` and ``after`` the double dash. Named ones only come after
        it."""
        positional = list(before)
        named: dict[str, str | None] = {}
        for word in after:
            if word.startswith("--") and len(word) > 2:
                name, equals, value = word[2:].partition("=")
                named[name] = value if equals else None
            else:
                positional.append(word)
        return cls(tuple(positional), named)


@dataclass(frozen=True, slots=True)
class Option:
    """A named parameter that a script knows, for its help: ``kind`` is ``bool``, ``int`` or ``str``."""

    name: str
    kind: str
    default: int | bool | str
    description: str = ""


def resolve(
    program: Program, params: Params, source: Source | None = None
) -> tuple[Program, list[Option], list[Diagnostic]]:
    """The program with all parameters put in, the options it knows, and warnings.

    Raises ``ScriptError`` for wrong uses in the script, ``UsageError`` for wrong words on the command line.
    """
    resolver = _Resolver(params, source)
    made = resolver.change(program)
    assert isinstance(made, Program)
    if any(f.severity == "error" for f in resolver.findings):
        raise ScriptError(resolver.findings)
    resolver.check_names()
    return made, list(resolver.options.values()), resolver.findings


def number(text: str) -> int | None:
    """The integer that a parameter's text is, or ``None``."""
    try:
        if text.startswith("-"):
            value = -literals.integer(text[1:])
            return value if value >= fold.LEAST else None
        return literals.integer(text)
    except literals.LiteralError:
        return None


class _Resolver:
    def __init__(self, params: Params, source: Source | None) -> None:
        self.params = params
        self.source = source
        self.findings: list[Diagnostic] = []
        self.options: dict[str, Option] = {}

    def change(self, node: Node) -> Node:
        if isinstance(node, Positional):
            return self._value(node)
        if isinstance(node, PositionalCount):
            return Int(node.span, len(self.params.positional))
        if isinstance(node, Call) and node.args:
            if node.function == "str":
                first = self._as_text(node.args[0])
                if first is not None:
                    return replace(node, args=(first, *(self.change(a) for a in node.args[1:])))
            if node.function == "getopt":
                return self._option(node)
        return rebuild(node, self.change)

    def _text(self, node: Positional) -> str:
        given = self.params.positional
        return given[node.index - 1] if node.index <= len(given) else ""

    def _value(self, node: Positional) -> Expr:
        text = self._text(node)
        if not text:
            self._warn(f"Positional parameter ${node.index} is empty or not provided", node)
            return Int(node.span, 0)
        value = number(text)
        return Str(node.span, text) if value is None else Int(node.span, value)

    def _as_text(self, arg: Expr) -> Expr | None:
        """The argument of ``str()``: ``$1`` as a string, ``$1 + 2`` as its rest; ``None`` for anything else."""
        if isinstance(arg, Positional):
            return Str(arg.span, self._text(arg))
        if not (isinstance(arg, Binary) and isinstance(arg.left, Positional) and arg.op == "+"):
            return None
        text = self._text(arg.left).encode("utf-8", "surrogateescape")
        offset = fold.integer(arg.right)
        if offset is None or offset < 0:
            self._error("only a constant that is not negative can be added to a parameter", arg)
            return Str(arg.span, "")
        if offset > len(text):
            self._warn("literal string will always be empty", arg)
        return Str(arg.span, text[offset:].decode("utf-8", "surrogateescape"))

    # ---- getopt -------------------------------------------------------------------------------------------------

    def _option(self, node: Call) -> Expr:
        name, *_ = node.args
        if not isinstance(name, Str):
            self._error("First argument to 'getopt' must be a string literal", node)
            return Int(node.span, 0)
        default: Expr = node.args[1] if len(node.args) > 1 else Bool(node.span, value=False)
        if not isinstance(default, Int | Bool | Str):
            self._error("the default of 'getopt' must be a literal: a string, a number, true or false", default)
            return Int(node.span, 0)
        description = node.args[2] if len(node.args) > 2 else None
        if len(node.args) > 3 or not (description is None or isinstance(description, Str)):
            self._error("'getopt' takes a name, a default and a description, all literals", node)
        text = description.value if isinstance(description, Str) else ""
        kind = {Int: "int", Bool: "bool", Str: "str"}[type(default)]
        option = Option(name.value, kind, default.value, text)
        self._remember(option, node)
        value = self._given(option)
        if isinstance(value, bool):
            return Bool(node.span, value)
        return Int(node.span, value) if isinstance(value, int) else Str(node.span, value)

    def _remember(self, option: Option, node: Call) -> None:
        known = self.options.setdefault(option.name, option)
        if known.default != option.default or known.kind != option.kind:
            self._error(f"option '{option.name}' has another default elsewhere: {known.default}", node)
        elif known.description != option.description:
            self._error(f"option '{option.name}' has another description elsewhere", node, "wrap it in a macro")

    def _given(self, option: Option) -> int | bool | str:
        if option.name not in self.params.named:
            return option.default
        text = self.params.named[option.name]
        if option.kind == "bool":
            word = "true" if text is None else text.lower()
            if word in ("true", "1", "false", "0"):
                return word in ("true", "1")
            raise UsageError(
                f"program command line option --{option.name} invalid boolean (value: {text})",
                hints=["true or false, 1 or 0"],
            )
        if text is None:
            raise UsageError(f"option --{option.name} needs a value: --{option.name}=...")
        if option.kind == "str":
            return text
        value = number(text)
        if value is None:
            raise UsageError(f"program command line option --{option.name} invalid integer (value: {text})")
        return value

    def check_names(self) -> None:
        unknown = [n for n in self.params.named if n not in self.options]
        if not unknown:
            return
        hints = [f"did you mean --{n}?" for n in nearest(unknown[0], self.options, most=1)]
        names = ", ".join(f"--{n}" for n in unknown)
        raise UsageError(f"unexpected program command line options: {names}", hints=[*hints, self._help()])

    def _help(self) -> str:
        """What the script's options are: in a line, or with their descriptions in a line each."""
        rows = {f"--{o.name}": o.description for o in self.options.values()}
        if not any(rows.values()):
            return f"expected program options: {', '.join(rows) or 'none'}"
        told = [f"{name}: {text}" if text else name for name, text in rows.items()]
        return "expected program options:\n" + "\n".join(told)

    def _error(self, message: str, node: Node, *hints: str) -> None:
        self.findings.append(Diagnostic("error", message, node.span, hints, self.source))

    def _warn(self, message: str, node: Node) -> None:
        self.findings.append(Diagnostic("warning", message, node.span, (), self.source))
