"""``print fmt:`` read: the language of C expressions, as far as kernels use it there.

    format  := string (',' expr)*
    expr    := unary | expr OP expr | expr '?' expr ':' expr          precedences of C
    unary   := ('-' | '+' | '!' | '~' | '&') unary | '(' type ')' unary | postfix
    postfix := primary ('[' expr ']')*
    primary := number | char | string+ | 'REC' '->' field | helper '(' ... ')' | 'sizeof' '(' type ')' | '(' expr ')'
             | '(' '{' (type name '=' expr ';')* expr ';' '}' ')'    as the kernel's min() and max() leave behind

What is not in it (calls of unknown functions, members of structures, dereferences) is a FormatError; such events are
printed field by field.
"""

from __future__ import annotations

from probescope.errors import FormatError
from probescope.formats.tracing import tree as t
from probescope.formats.tracing.ctype_sizes import WORDS, size_of
from probescope.formats.tracing.lexer import Word, unescaped, words
from probescope.model.operators import PRECEDENCE
from probescope.model.recording import EventType, RawField

MAX_DEPTH = 60
MAX_ARGS = 128


class Parser:
    """Of one event's print format. ``long_size`` in bytes, of the recorded machine."""

    def __init__(self, event: EventType, long_size: int) -> None:
        self.words: list[Word] = words(event.print_fmt)
        self.fields = {f.name: f for f in event.fields}
        self.long_size = long_size
        self.locals: dict[str, t.Node] = {}
        self.declaring = 0
        self.at = 0
        self.depth = 0

    # --- words ---

    def fail(self, what: str) -> FormatError:
        return FormatError(what, section="print fmt", offset=self.words[self.at][2])

    def look(self, ahead: int = 0) -> tuple[str, str]:
        kind, text, _ = self.words[min(self.at + ahead, len(self.words) - 1)]
        return kind, text

    def takes(self, op: str) -> bool:
        if self.look() == ("op", op):
            self.at += 1
            return True
        return False

    def want(self, op: str) -> None:
        if not self.takes(op):
            raise self.fail(f"`{op}` expected, found {self.look()[1]!r}")

    def name(self) -> str:
        kind, text = self.look()
        if kind != "name":
            raise self.fail(f"a name expected, found {text!r}")
        self.at += 1
        return text

    def field(self, name: str) -> RawField:
        found = self.fields.get(name)
        if found is None:
            raise self.fail(f"no field {name}")
        return found

    def strings(self) -> str:
        """One literal or several side by side, as written."""
        out = ""
        while self.look()[0] == "string":
            out += self.look()[1]
            self.at += 1
        return out

    # --- grammar ---

    def whole(self) -> t.PrintFmt:
        if self.look()[0] != "string":
            raise self.fail("a print format begins with a string")
        text = unescaped(self.strings())
        args: list[t.Node] = []
        while self.takes(","):
            if len(args) >= MAX_ARGS:
                raise self.fail(f"more than {MAX_ARGS} arguments")
            args.append(self.expr())
        if self.look()[0] != "end":
            raise self.fail(f"`,` expected, found {self.look()[1]!r}")
        return t.PrintFmt(text, tuple(args))

    def expr(self) -> t.Node:
        self.deeper()
        test = self.binary(1)
        if self.takes("?"):
            yes = test if self.look() == ("op", ":") else self.expr()
            self.want(":")
            test = t.Cond(test, yes, self.expr())
        self.depth -= 1
        return test

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"expressions more than {MAX_DEPTH} deep")

    def binary(self, least: int) -> t.Node:
        left = self.unary()
        while True:
            kind, op = self.look()
            level = PRECEDENCE.get(op, 0) if kind == "op" else 0
            if level < least or not level:
                return left
            self.at += 1
            self.deeper()
            left = t.Binary(op, left, self.binary(level + 1))
            self.depth -= 1

    def unary(self) -> t.Node:
        kind, text = self.look()
        if kind == "op" and text in {"-", "+", "!", "~", "&"}:
            self.at += 1
            self.deeper()
            value = self.unary()
            self.depth -= 1
            if text == "-" and isinstance(value, t.Num):
                return t.Num(-value.value, value.width, value.signed)
            return value if text in "+&" else t.Unary(text, value)
        if (kind, text) == ("op", "(") and self.is_type():
            self.at += 1
            names, stars = self.type()
            self.want(")")
            self.deeper()
            value = self.unary()
            self.depth -= 1
            return self.cast(names, stars, value)
        return self.postfix(self.primary())

    def cast(self, names: list[str], stars: int, value: t.Node) -> t.Node:
        if not stars:
            return t.Cast(*size_of(names, self.long_size), value)
        size, signed = size_of(names, self.long_size) if stars == 1 else (self.long_size, False)
        return t.Cast(self.long_size, False, value, size, signed)

    def is_type(self) -> bool:
        """Does ``(`` begin a cast? A known word does; another name does where nothing but stars stands before ``)`` and
        something that a value begins with follows."""
        kind, text = self.look(1)
        if kind != "name" or text == "REC":
            return False
        if text in WORDS or size_of([text], 8)[0]:
            return True
        ahead = 2
        while self.look(ahead) == ("op", "*"):
            ahead += 1
        after = self.look(ahead + 1)
        return self.look(ahead) == ("op", ")") and (after[0] in {"name", "number"} or after == ("op", "("))

    def type(self) -> tuple[list[str], int]:
        names: list[str] = []
        stars = 0
        while self.look()[0] == "name" or self.look() == ("op", "*"):
            if self.takes("*"):
                stars += 1
            else:
                names.append(self.name())
        if not names:
            raise self.fail("a type expected")
        return names, stars

    def postfix(self, value: t.Node) -> t.Node:
        levels = 0
        while self.takes("["):
            levels += 1
            if levels > 4:
                raise self.fail("more than 4 dimensions")
            at = self.expr()
            self.want("]")
            value = t.Index(value, at)
        return value

    def primary(self) -> t.Node:
        kind, text = self.look()
        if kind == "number":
            self.at += 1
            return _number(text, self.long_size)
        if kind == "char":
            self.at += 1
            return t.Num(ord(unescaped(text)[:1] or "\0") & 0xFF)
        if kind == "string":
            return t.Str(unescaped(self.strings()))
        if self.takes("("):
            if self.look() == ("name", "REC") and self.look(1) == ("op", ")"):
                self.at += 2
                return self.named("REC")
            inner = self.block() if self.takes("{") else self.expr()
            self.want(")")
            return inner
        if kind != "name":
            raise self.fail(f"a value expected, found {text!r}")
        self.at += 1
        return self.named(text)

    def block(self) -> t.Node:
        """A statement expression; its names are put in their places."""
        while self.look()[0] == "name" and self.look(1)[0] == "name":
            *_, name = self.type()[0]
            self.want("=")
            if len(self.locals) >= MAX_ARGS:
                raise self.fail(f"more than {MAX_ARGS} names")
            self.declaring += 1
            self.locals[name] = self.expr()
            self.declaring -= 1
            self.want(";")
        value = self.expr()
        self.takes(";")
        self.want("}")
        return value

    def named(self, name: str) -> t.Node:
        if name == "REC":
            self.want("->")
            return t.Field(self.field(self.name()))
        if not self.takes("("):
            if name in self.locals and self.declaring:  # names made of names could double without end
                raise self.fail(f"{name} within another name")
            return self.locals.get(name) or t.Symbol(name)
        from probescope.formats.tracing.helpers import call

        node = call(self, name)
        self.want(")")
        return node


def parse_print_fmt(event: EventType, long_size: int) -> t.PrintFmt:
    """Raises FormatError where the event's ``print_fmt`` cannot be read."""
    return Parser(event, long_size).whole()


def _number(text: str, long_size: int) -> t.Num:
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    hexadecimal = digits[:2].lower() == "0x"
    if hexadecimal:
        value = int(digits, 16)
    elif len(digits) > 1 and digits[0] == "0" and not set(digits) - set("01234567"):
        value = int(digits, 8)
    else:
        value = int(digits[:40])
    value &= (1 << 64) - 1
    unsigned = "u" in suffix
    width = 8 if suffix.count("l") == 2 else long_size if "l" in suffix else 4
    if width == 4 and value >> (32 if unsigned or hexadecimal else 31):
        width = 8
    bits = width * 8
    return t.Num(value, width, not (unsigned or value >> (bits - 1)))
