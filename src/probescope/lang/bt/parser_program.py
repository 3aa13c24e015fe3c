"""The outermost layer: directives, C definitions, config, imports, then probes, macros, functions and maps.

program   shebang? directives-and-definitions* (config | import)* (probe | macro | fn | let @map)*
probe     points ("," points)* ","? ("/" expression "/")? block
points    point ("??" point)*
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from probescope.lang.bt.ast import (
    AttachPoint,
    Config,
    ConfigEntry,
    Expr,
    Import,
    Item,
    Macro,
    MacroParam,
    Map,
    MapDecl,
    Probe,
    Subprog,
    SubprogParam,
    TypeExpr,
)
from probescope.lang.bt.parser_base import Enough, Unparsable
from probescope.lang.bt.parser_stmt import StatementParser
from probescope.lang.bt.pointtext import PointError, extent
from probescope.lang.bt.words import is_reserved

if TYPE_CHECKING:
    from probescope.lang.bt.lexer import Lexer, Token

_ORDER = {"struct": 0, "union": 0, "enum": 0, "typedef": 0, "config": 1, "import": 1}
_LATE = (
    "C definitions must come before everything else",
    "config and imports must come before probes, macros and functions",
)


@cache
def first_word() -> re.Pattern[str]:
    """A word that begins something other than a probe (``config:`` would be one)."""
    return re.compile(r"(struct|union|enum|typedef|config|import|macro|fn|let)\b(?!\s*[:*\[])")


class ProgramParser(StatementParser):
    def __init__(self, lexer: Lexer, params: Sequence[str] = (), *, pid: bool = False) -> None:
        super().__init__(lexer)
        self.params = params
        self.pid = pid
        self.phase = 0  # 0: C definitions may still come; 1: config and imports; 2: neither

    def items(self) -> list[Item]:
        """All items of the text; what is wrong with it is in ``findings``."""
        try:
            return self._items()
        except Enough:
            return []

    def _items(self) -> list[Item]:
        out: list[Item] = []
        lexer = self.lexer
        while lexer.skip_layout() < len(lexer.text):
            try:
                out.append(self._item())
            except Unparsable as e:
                self.record(e.finding)
                if e.fatal:
                    break
                self._skip_item()
        return out

    def _item(self) -> Item:
        found = first_word().match(self.lexer.text, self.lexer.pos)
        word = found.group() if found else ""
        phase = _ORDER.get(word, 2)
        if not found:
            self.phase = 2
            return self._probe()
        self.seek(self.index)
        if phase < self.phase:
            self.report(f"syntax error, {_LATE[phase]}", self.token.span)
        self.phase = max(phase, self.phase)
        item = _ITEMS[word](self)
        if self.kind != "raw":
            self.lexer.resume(self.index)
            self.kind = "raw"
        return item

    def _skip_item(self) -> None:
        """After an error outside of blocks: on to behind the next block or ``;``."""
        if self.kind == "raw":
            self.seek(self.index)
        self.nesting = 0
        self.in_predicate = False
        self.parameters = frozenset()
        level = 0
        while self.kind != "end":
            level += (self.kind == "{") - (self.kind == "}")
            if level <= 0 and self.kind in ("}", ";"):
                self.leave_tokens()
                return
            self.advance()
        self.lexer.pos = len(self.lexer.text)

    # ---- probes -------------------------------------------------------------------------------------------------

    def _probe(self) -> Probe:
        tokens = self._points()
        first, last = tokens[0][0], tokens[-1][0]
        self.seek(self.index)
        predicate = self._predicate()
        if self.kind != "{":
            self.fail("'{'")
        points: list[AttachPoint] = []
        for token, rank in tokens:  # only now: what is no probe at all has been refused above, in better words
            self._read_point(token, rank, points)
        body = self.block(value=False, ends_item=True)
        return Probe(first.span.to(last.span), tuple(points), predicate, body)

    def _points(self) -> list[tuple[Token, int]]:
        """The attach points up to the predicate or the block, as raw text, each with its rank."""
        lexer = self.lexer
        tokens: list[tuple[Token, int]] = []
        rank = 0
        while True:
            end = extent(lexer.text, lexer.pos)
            if end == lexer.pos:
                if tokens and not rank and lexer.text[end : end + 1] in ("/", "{"):
                    return tokens  # behind a comma too many
                self.seek(self.index)
                self.fail("a probe, such as kprobe:vfs_read", *self._why_no_probe())
            tokens.append((lexer.raw(end), rank))
            lexer.skip_layout()
            mark = "??" if lexer.text.startswith("??", lexer.pos) else ","
            if not lexer.text.startswith(mark, lexer.pos):
                return tokens
            rank = rank + 1 if mark == "??" else 0
            lexer.raw(lexer.pos + len(mark))
            lexer.skip_layout()

    def _why_no_probe(self) -> tuple[str, ...]:
        return ("a probe's block is not followed by ';'",) if self.kind == ";" else ()

    def _read_point(self, token: Token, rank: int, points: list[AttachPoint]) -> None:
        from probescope.lang.bt.attachpoint import parse

        try:
            specs = parse(token.text, self.params, pid=self.pid, span=token.span)
        except PointError as e:
            self.report(e.what, token.span, *e.hints)
            return
        for spec in specs:
            written = token.text if len(specs) == 1 else spec.text
            points.append(AttachPoint(token.span, spec, written, rank))

    def _predicate(self) -> Expr | None:
        if self.kind != "/":
            return None
        self.advance()
        self.in_predicate = True
        predicate = self.expression()
        self.in_predicate = False
        self.expect("/", "'/' to close the predicate")
        return predicate

    # ---- config and imports -------------------------------------------------------------------------------------

    def _config(self) -> Config:
        first = self.advance()
        self.expect("=")
        self.expect("{")
        entries: list[ConfigEntry] = []
        while self.kind == "id":
            key = self.advance()
            self.expect("=")
            value = self._config_value()
            entries.append(ConfigEntry(self.since(key), key.text, value))
            if not self.accept(";"):
                break
        if self.kind != "}":
            self.fail("'}' or a key of the configuration" if self.last.kind in (";", "{") else "';' or '}'")
        self.leave_tokens()
        return Config(self.since(first), tuple(entries))

    def _config_value(self) -> int | bool | str:
        if self.kind == "int":
            return self.integer()
        if self.kind == "str":
            return self.string()
        word = self.expect("id", "a value: a number, a word or a string").text
        return {"true": True, "false": False}.get(word, word)

    def _import(self) -> Import:
        return self.import_statement()

    # ---- macros, functions, maps --------------------------------------------------------------------------------

    def _macro(self) -> Macro:
        first = self.advance()
        name = self.expect("id", "the name of a macro").text
        params: list[MacroParam] = []
        if self.accept("("):
            while self.kind != ")":
                params.append(self._macro_param())
                if not self.accept(","):
                    break
            self.expect(")")
        span = self.since(first)
        self.parameters = frozenset(p.name for p in params if not p.kind)
        body = self.block(value=True, ends_item=True)
        self.parameters = frozenset()
        return Macro(span, name, tuple(params), body)

    def _macro_param(self) -> MacroParam:
        token = self.token
        if self.kind not in ("var", "map", "id") or token.text == "@":
            self.fail("a parameter: $variable, @map or a name")
        self.advance()
        if token.kind == "id":
            if is_reserved(token.text):
                self.report(f"syntax error, the builtin '{token.text}' can't be used as a macro's argument", token.span)
            return MacroParam(token.span, "", token.text)
        return MacroParam(token.span, token.text[0], token.text[1:])

    def _subprog(self) -> Subprog:
        first = self.advance()
        name = self.expect("id", "the name of a function").text
        self.expect("(")
        params: list[SubprogParam] = []
        while self.kind != ")":
            token = self.token
            var = self._variable()
            self.expect(":", "':' and the type of the parameter")
            kind = self.type_name()
            params.append(SubprogParam(self.since(token), var, kind))
            if not self.accept(","):
                break
        self.expect(")")
        result: TypeExpr | None = None
        if self.accept(":"):
            result = self.type_name()
        span = self.since(first)
        return Subprog(span, name, tuple(params), result, self.block(value=False, ends_item=True))

    def _map_decl(self) -> MapDecl:
        first = self.advance()
        if self.kind != "map":
            self.fail("a map", "outside of probes only maps are declared: let @m = lruhash(100);")
        name = self.advance()
        self.expect("=")
        kind = self.expect("id", "a type of map, such as lruhash").text
        self.expect("(")
        if self.kind == ")":
            self.fail("the greatest number of entries")
        entries = self.expression()
        self.expect(")")
        span = self.since(first)
        self.expect(";")
        return MapDecl(span, Map(name.span, name.text[1:]), kind, entries)

    def _c_item(self) -> Item:
        """Provided by ``parser.py``, where declarations of C are read."""
        raise NotImplementedError


_ITEMS: dict[str, Callable[[Any], Item]] = {
    **dict.fromkeys(("struct", "union", "enum", "typedef"), lambda parser: parser._c_item()),
    "config": ProgramParser._config,
    "import": ProgramParser._import,
    "macro": ProgramParser._macro,
    "fn": ProgramParser._subprog,
    "let": ProgramParser._map_decl,
}
