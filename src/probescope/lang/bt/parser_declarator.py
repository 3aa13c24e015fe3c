"""The pieces of C declarations: specifiers, declarators, attributes. What they declare is ``parser_c.py``.

specifier    (qualifier | attribute | word | struct ... | union ... | enum ...)+
declarator   "*"* (name | "(" declarator ")") ("[" constant "]" | "(" parameters ")")*
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.diagnostics import Span
from probescope.lang.bt import fold
from probescope.lang.bt.cdecl import CArray, CBase, CEnum, CFunction, CPointer, CStruct, CTagged, CType
from probescope.lang.bt.lexer import Lexer, Token
from probescope.lang.bt.parser_stmt import StatementParser

_IGNORED = frozenset(
    (
        "const volatile restrict __restrict __restrict__ inline __inline __inline__ static extern register _Atomic "
        "__extension__ __const __volatile__ _Noreturn"
    ).split()
)
_ATTRIBUTE = ("__attribute__", "__attribute")
_TAGS = {"__user": "user", "__percpu": "percpu", "__rcu": "rcu", "__kernel": "kernel", "__iomem": "iomem"}

_MOST_PIECES = 16
"""Greatest number of stars, and of brackets, of one declarator (they may nest, too)."""

_ORDER = ("unsigned", "signed", "char", "short", "int", "long", "float", "double", "_Bool", "_Complex")

Wrap = Callable[[CType], CType]


class DeclaratorParser(StatementParser):
    def __init__(self, lexer: Lexer) -> None:
        super().__init__(lexer)
        self.enumerators: dict[str, int] = {}
        self.anonymous = 0
        self.strict = True  # a script's own text: no blank between the brackets of an attribute
        self.nested: list[CStruct | CEnum] = []  # definitions without a member in the struct that is being read
        self.tags: list[str] = []  # __user and its like, up to the star that they belong to

    # ---- declarators --------------------------------------------------------------------------------------------

    def declarator(self) -> tuple[str, Wrap]:
        """The declared name (may be empty), and what the declarator makes of the type before it."""
        self.enter()
        stars = self._stars()
        name = ""
        inner: Wrap = _same
        if self.kind == "(" and self._is_inner():
            self.advance()
            name, inner = self.declarator()
            self.expect(")")
        elif self.kind == "id" and self.token.text not in _IGNORED:
            name = self.advance().text
        suffixes = self._suffixes()
        self.nesting -= 1

        def wrap(base: CType) -> CType:
            for star in stars:
                base = star(base)
            for suffix in reversed(suffixes):
                base = suffix(base)
            return inner(base)

        return name, wrap

    def _is_inner(self) -> bool:
        """Whether ``(`` groups a declarator (``(*f)(int)``) rather than beginning parameters (``(int)``)."""
        following = self.ahead()
        return following.kind in ("*", "(", "[") or following.text in _ATTRIBUTE

    def _stars(self) -> list[Wrap]:
        out: list[Wrap] = []
        while True:
            self.attributes()
            if self.kind != "*":
                return out
            self._check_count(out)
            out.append(_pointer_to(self.advance().span, tuple(self.tags)))
            self.tags.clear()

    def _check_count(self, pieces: list[Wrap]) -> None:
        if len(pieces) >= _MOST_PIECES:
            self.refuse(f"a declaration with more than {_MOST_PIECES} stars or brackets", self.token.span, fatal=True)

    def _suffixes(self) -> list[Wrap]:
        out: list[Wrap] = []
        while self.kind in ("[", "("):
            first = self.token
            self._check_count(out)
            if self.kind == "(":
                out.append(_function_of(self._parameters(), self.since(first)))
                continue
            self.advance()
            self._qualifiers()
            count = None if self.kind == "]" else self.constant("the size of an array")
            if count is not None and not 0 <= count <= 1 << 40:
                self.refuse(f"an array cannot have {count} elements", self.since(first))
            self.expect("]")
            out.append(_array_of(self.since(first), count))
        return out

    def _parameters(self) -> tuple[tuple[CType, ...], bool]:
        self.expect("(")
        self.enter()
        params: list[CType] = []
        variadic = False
        while self.kind != ")":
            if self.accept("..."):
                variadic = True
                break
            specifier = Specifier(self)
            _, wrap = self.declarator()
            params.append(wrap(specifier.type))
            if not self.accept(","):
                break
        self.nesting -= 1
        self.expect(")")
        if len(params) == 1 and isinstance(params[0], CBase) and params[0].name == "void":
            params = []
        return tuple(params), variadic

    def constant(self, what: str) -> int:
        first = self.token
        value = fold.integer(self.expression(), self.enumerators)
        if value is None:
            self.refuse(f"{what} is not a constant that can be computed here", self.since(first))
        return value

    # ---- attributes ---------------------------------------------------------------------------------------------

    def _qualifiers(self) -> None:
        while self.kind == "id":
            word = self.token.text
            if word in _TAGS:
                self.tags.append(_TAGS[word])
            elif word not in _IGNORED:
                return
            self.advance()

    def attributes(self) -> dict[str, int]:
        """What ``__attribute__((...))`` here says of layout: ``packed``, ``aligned``; qualifiers are passed over."""
        out: dict[str, int] = {}
        self._qualifiers()
        while self.kind == "id" and self.token.text in _ATTRIBUTE:
            word = self.advance()
            inner = self.ahead()
            if self.kind != "(" or inner.kind != "(" or (self.strict and inner.start != self.token.stop):
                self.fail("'((' after __attribute__")
            self._read_attributes(out, word)
            self._qualifiers()
        return out

    def _read_attributes(self, out: dict[str, int], word: Token) -> None:
        self.advance()
        self.advance()
        while self.kind != ")":
            name = self.advance().text.strip("_")
            if name == "packed":
                out["packed"] = 1
            elif name == "aligned":
                out["aligned"] = 16
                if self.accept("("):
                    out["aligned"] = self.constant("an alignment")
                    self.expect(")")
            elif name == "btf_type_tag" and self.kind == "(" and self.ahead().kind == "str":
                self.tags.append(self.ahead().text.strip('"'))
                self.skip_brackets()
            elif self.kind == "(":
                self.skip_brackets()
            if self.kind == "end":
                self.refuse("the brackets of this __attribute__ are not closed", word.span, fatal=True)
            if not self.accept(","):
                break
        self.expect(")", "')' at the end of __attribute__")
        self.expect(")", "'))' at the end of __attribute__")

    def skip_brackets(self) -> None:
        level = 0
        while self.kind != "end":
            level += (self.kind in ("(", "{", "[")) - (self.kind in (")", "}", "]"))
            self.advance()
            if level <= 0:
                return

    # ---- what the layer of definitions provides -----------------------------------------------------------------

    def c_struct(self, keyword: str) -> tuple[CTagged, CStruct | None]:
        raise NotImplementedError

    def c_enum(self) -> tuple[CTagged, CEnum | None]:
        raise NotImplementedError


class Specifier:
    """The type that the words at the start of a declaration name; ``inline`` is the definition among them, if any."""

    def __init__(self, parser: DeclaratorParser) -> None:
        self.inline: CStruct | CEnum | None = None
        first = parser.token
        parser.tags.clear()
        words: list[str] = []
        named: CType | None = None
        while True:
            parser.attributes()
            if parser.kind != "id":
                break
            word = parser.token.text
            if word in ("struct", "union", "enum") and named is None and not words:
                parser.advance()
                named, self.inline = parser.c_enum() if word == "enum" else parser.c_struct(word)
            elif named is None and (not words or (word in _ORDER and words[0] in _ORDER)):
                words.append(parser.advance().text)
            else:
                break
        if named is None and not words:
            parser.fail("a type")
        self.type: CType = named if named is not None else CBase(parser.since(first), _canonical(words))


def _same(base: CType) -> CType:
    return base


def _pointer_to(span: Span, tags: tuple[str, ...]) -> Wrap:
    return lambda base: CPointer(span, base, tags)


def _array_of(span: Span, count: int | None) -> Wrap:
    return lambda base: CArray(span, base, count)


def _function_of(params: tuple[tuple[CType, ...], bool], span: Span) -> Wrap:
    return lambda base: CFunction(span, base, *params)


def _canonical(words: list[str]) -> str:
    """``long unsigned int`` -> ``unsigned long``; ``_Bool`` -> ``bool``."""
    if words == ["_Bool"]:
        return "bool"
    if len(words) == 1 and words[0] not in ("signed", "unsigned"):
        return words[0]
    sign = "unsigned" if "unsigned" in words else ("signed" if "signed" in words and "char" in words else "")
    longs = ["long"] * min(words.count("long"), 2)
    rest = [w for w in ("short", "char", "float", "double") if w in words]
    core = longs + rest or ["int"]
    return " ".join(([sign] if sign else []) + core)
