"""Filters of events, as people mean them: ``size > 100 && dest == 172.31.28.139 && name ~ "*.so"``.

    or := and ('||' and)*      and := not ('&&' not)*      not := '!' not | '(' or ')' | NAME op value
    op := == != < <= > >= ~ &  value := NUMBER[ns|us|ms|s|m|h] | A.B.C.D | "text" | 'c' | true | CONSTANT

An address is compared as it lies in memory, in network order; a constant is one of an enumeration. ``~`` takes globs,
and ``==`` of a text with ``*`` in it does not. Beside arguments there are comm, pid, tid and cpu.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping

from probescope.errors import ScriptError
from probescope.frozen import dataclass
from probescope.ir.expr import Binary, Call, Cast, Const, Context, Expr, Logic, Unary
from probescope.lang.probe.scanner import NAME, Scanner
from probescope.model.probe_found import ProbeEvent
from probescope.model.types import BOOL, I64, U32, U64, Int, String, is_float

MAX_DEPTH = 64
_OP = re.compile(r"==|!=|<=|>=|<|>|~|&(?!&)|=(?!=)")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,20})(ns|us|ms|s|m|h)?(?![\w.])")
_ADDRESS = re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.])")
_BARE = re.compile(r"[^\s&|()]+")
_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_TRUTH = {"true": 1, "false": 0}
_IR = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

Constants = Callable[[str], int | None]
"""The value of a constant of an enumeration."""


@dataclass(frozen=True, slots=True)
class Compare:
    """``name`` ``op`` ``value``; ``word``: the value was written without quotes, and may be a constant."""

    name: str
    op: str
    value: int | str
    start: int
    end: int
    word: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    x: Node


@dataclass(frozen=True, slots=True)
class Join:
    """``op``: and, or."""

    op: str
    a: Node
    b: Node


Node = Compare | Not | Join


class Filter:
    """The condition of a text. Calling it gives the expression over one event's arguments. Raises ``ScriptError``."""

    def __init__(self, text: str, constants: Constants | None = None) -> None:
        self._s = Scanner(text, "filter")
        self._constants = constants
        self.node = self._either(0)
        self._s.blank()
        if not self._s.done:
            raise self._s.error("this is not expected here", self._s.at, None, "conditions are joined by && and ||")

    # --- text ---------------------------------------------------------------------------------------------------------

    def _either(self, depth: int) -> Node:
        out = self._both(depth)
        while self._next("||"):
            out = Join("or", out, self._both(depth))
        return out

    def _both(self, depth: int) -> Node:
        out = self._one(depth)
        while self._next("&&"):
            out = Join("and", out, self._one(depth))
        return out

    def _next(self, mark: str) -> bool:
        self._s.blank()
        return self._s.take(mark)

    def _one(self, depth: int) -> Node:
        s = self._s
        s.blank()
        if depth > MAX_DEPTH:
            raise s.error("this is nested too deep", s.at)
        if s.peek() == "!" and s.peek(1) != "=":
            s.at += 1
            return Not(self._one(depth + 1))
        if s.take("("):
            inner = self._either(depth + 1)
            if not self._next(")"):
                raise s.error("a ')' is missing", s.at)
            return inner
        return self._comparison()

    def _comparison(self) -> Node:
        s = self._s
        start = s.at
        name = s.match(NAME)
        if not name:
            raise s.error("the name of an argument is missing" if s.done else "this is not a name", start)
        s.blank()
        at = s.at
        op = s.match(_OP)
        if not op:
            return Compare(name, "!=", 0, start, start + len(name))
        if op == "=":
            raise s.error("'==' compares", at, s.at)
        s.blank()
        value, word = self._value()
        return Compare(name, op, value, start, s.at, word)

    def _value(self) -> tuple[int | str, bool]:
        s = self._s
        start, quote = s.at, s.peek()
        if quote in ('"', "'") and quote:
            end = s.text.find(quote, start + 1)
            if end < 0:
                raise s.error("the text has no end", start, len(s.text))
            s.at = end + 1
            return s.text[start + 1 : end], False
        address = s.match(_ADDRESS)
        if address:
            return self._network_order(address, start), False
        number = _NUMBER.match(s.text, start)
        if number:
            s.at = number.end()
            unit = number[1] or ""
            digits = number[0].removesuffix(unit)
            return int(digits, 16 if "x" in digits.lower() else 10) * _UNITS.get(unit, 1), False
        word = s.match(_BARE)
        if not word:
            raise s.error("a value is missing", start)
        return word, True

    def _network_order(self, text: str, start: int) -> int:
        parts = [int(p) for p in text.split(".")]
        if any(p > 255 for p in parts):
            raise self._s.error(f"{text} is no address", start, self._s.at)
        return int.from_bytes(bytes(parts), sys.byteorder)

    # --- meaning ------------------------------------------------------------------------------------------------------

    def _error(self, c: Compare, what: str, *hints: str) -> ScriptError:
        return self._s.error(what, c.start, c.end, *hints)

    def names(self) -> set[str]:
        found: set[str] = set()
        todo: list[Node] = [self.node]
        while todo:
            match todo.pop():
                case Compare(name=name):
                    found.add(name)
                case Not(x=x):
                    todo.append(x)
                case Join(a=a, b=b):
                    todo += [a, b]
        return found

    def __call__(self, event: ProbeEvent, named: Mapping[str, Expr]) -> Expr:
        known = {
            "comm": Context(String(16), "comm"),
            "pid": Context(U32, "pid"),
            "tid": Context(U32, "tid"),
            "common_pid": Context(U32, "tid"),
            "cpu": Context(U32, "cpu"),
            **named,
        }
        return self._expr(self.node, known, event)

    def _expr(self, node: Node, known: Mapping[str, Expr], event: ProbeEvent) -> Expr:
        match node:
            case Not(x=x):
                return Unary(BOOL, "not", self._expr(x, known, event))
            case Join(op=op, a=a, b=b):
                return Logic(BOOL, op, self._expr(a, known, event), self._expr(b, known, event))  # type: ignore[arg-type]
            case Compare():
                return self._compared(node, known, event)

    def _compared(self, c: Compare, known: Mapping[str, Expr], event: ProbeEvent) -> Expr:
        left = known.get(c.name)
        whole = [a for a in event.found.args if a.capture is not None and a.fetch.name == c.name]
        if left is None and whole and is_float(whole[0].type):
            raise self._error(c, f"{c.name} is a floating-point number: the kernel cannot compare it")
        if left is None and whole:
            hints = [f"a member of it, asked for beside it: {c.name}.MEMBER, or {c.name}->MEMBER"]
            raise self._error(c, f"{c.name} is neither a number nor a text: it cannot be compared", *hints)
        if left is None:
            raise self._error(c, f"{event.name} has no argument {c.name}", f"it has {', '.join(known)}")
        if isinstance(left.type, String):
            return self._text(c, left)
        value = self.number(c)
        t = I64 if value < 0 or (isinstance(left.type, Int) and left.type.signed) else U64
        x: Expr = left if left.type == t else Cast(t, left)
        if c.op == "&":
            return Binary(BOOL, "ne", Binary(t, "and", x, Const(t, value)), Const(t, 0))
        if c.op not in _IR:
            raise self._error(c, f"'{c.op}' compares texts, and {c.name} is a number")
        return Binary(BOOL, _IR[c.op], x, Const(t, value))  # type: ignore[arg-type]

    def _text(self, c: Compare, left: Expr) -> Expr:
        value = str(c.value)
        raw = value.encode("utf-8", "surrogateescape")
        constant = Const(String(max(len(raw), 1)), raw)
        if c.op == "~":
            return Call(BOOL, "strglob", (left, constant))
        if c.op not in ("==", "!=", "<", ">", "<=", ">="):
            raise self._error(c, f"'{c.op}' is for numbers, and {c.name} is a text")
        return Binary(BOOL, _IR[c.op], left, constant)  # type: ignore[arg-type]

    def number(self, c: Compare) -> int:
        """What an argument that is a number is compared with. Raises ``ScriptError``."""
        if isinstance(c.value, int):
            if not -(1 << 63) <= c.value < 1 << 64:
                raise self._error(c, "this number has more than 64 bits")
            return c.value
        if c.value in _TRUTH and c.word:
            return _TRUTH[c.value]
        if len(c.value) == 1 and not c.word:
            return ord(c.value)
        found = self._constants(c.value) if c.word and self._constants is not None else None
        if found is None:
            what = f"there is no constant {c.value}" if c.word else f"{c.name} is a number, and this is a text"
            raise self._error(c, what, "numbers, addresses (10.0.0.1), durations (10ms) and constants of enumerations")
        return found


def kernel_text(f: Filter, texts: Mapping[str, bool]) -> str:
    """The same for the kernel's filter of an event. ``texts``: names of its fields, and whether each is a text. Raises
    ``ScriptError``."""
    return _kernel(f, f.node, texts)


def _kernel(f: Filter, node: Node, texts: Mapping[str, bool]) -> str:
    match node:
        case Not(x=x):
            return f"!({_kernel(f, x, texts)})"
        case Join(op=op, a=a, b=b):
            return f"({_kernel(f, a, texts)}) {'&&' if op == 'and' else '||'} ({_kernel(f, b, texts)})"
        case Compare():
            if texts.get(node.name, False):
                return f'{node.name} {node.op} "{node.value}"'
            return f"{node.name} {node.op} {f.number(node)}"
