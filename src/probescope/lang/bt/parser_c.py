"""C declarations inside a script or a header: struct, union, enum, typedef; our own reader, not a C compiler.

    declaration  specifier declarator ("," declarator)* ";"
    specifier    (qualifier | attribute | word | struct ... | union ... | enum ...)+
    declarator   "*"* (name | "(" declarator ")") ("[" constant "]" | "(" parameters ")")* (":" bits)?

In a header everything else (prototypes, variables, inline functions) is passed over.
"""

from __future__ import annotations

from probescope.lang.bt.cdecl import (
    CDeclaration,
    CEnum,
    CEnumerator,
    CMember,
    CStruct,
    CTagged,
    CTypedef,
)
from probescope.lang.bt.lexer import Token
from probescope.lang.bt.parser_base import Unparsable
from probescope.lang.bt.parser_declarator import DeclaratorParser, Specifier

_MEMBERS = 100_000
"""Greatest number of members of one struct, or of values of one enum."""


class CParser(DeclaratorParser):
    """Reads declarations from the same tokens as the rest of a script; knows the enumerators that came before."""

    def c_declarations(self) -> list[CDeclaration]:
        """One declaration that begins with ``struct``, ``union``, ``enum`` or ``typedef``, its ``;`` included if there.

        After the closing brace of a definition the ``;`` may be missing, as this language allows it.
        """
        if self.accept_word("typedef"):
            return self._typedef()
        first = self.token
        specifier = Specifier(self)
        made: list[CDeclaration] = [specifier.inline] if specifier.inline else []
        if not made and isinstance(specifier.type, CTagged):
            made.append(_forward(specifier.type, first))
        if specifier.inline is None and self.kind != ";":
            self.fail("';' or a definition in braces")
        return made

    def end_of_definition(self) -> None:
        """Consumes the ``;`` behind a definition, or declarators (``struct a {} x;``), which declare nothing here."""
        while self.kind in ("*", ",") or self.kind == "id":
            if self.kind == "id" and self.ahead().kind not in (";", ",", "["):
                return  # the next item of the script
            self.advance()
        self.accept(";")

    def c_header(self) -> list[CDeclaration]:
        """All types of a header; what is no type, and what cannot be read, is passed over."""
        out: list[CDeclaration] = []
        while self.kind != "end":
            try:
                if self.at_word("typedef"):
                    out += self.c_declarations()
                    continue
                if self.kind == "id" and self.token.text in ("struct", "union", "enum"):
                    out += self.c_declarations()
                    if self.accept(";"):
                        continue
                self._skip_external()
            except Unparsable as e:
                if e.fatal:
                    raise
                self.findings.clear()
                self.nesting = 0
                self._skip_external()
        return out

    def _skip_external(self) -> None:
        """On to behind the ``;`` or the closing brace that ends this declaration."""
        if self.accept_word("extern") and self.kind == "str":  # extern "C" {
            self.advance()
            self.accept("{")
            return
        level = 0
        while self.kind != "end":
            kind = self.advance().kind
            level += (kind in ("(", "{", "[")) - (kind in (")", "}", "]"))
            if level <= 0 and kind in (";", "}"):
                self.accept(";")
                return

    def _typedef(self) -> list[CDeclaration]:
        first = self.last
        specifier = Specifier(self)
        made: list[CDeclaration] = []
        while True:
            name, wrap = self.declarator()
            if not name:
                self.fail("a name for the type")
            self.attributes()
            made.append(CTypedef(self.since(first), name, wrap(specifier.type), None if made else specifier.inline))
            if not self.accept(","):
                break
        self.expect(";")
        return made

    # ---- struct and union ---------------------------------------------------------------------------------------

    def c_struct(self, keyword: str) -> tuple[CTagged, CStruct | None]:
        """Behind ``struct`` or ``union``: the type, and its definition if one stands here."""
        first = self.last
        attributes = self.attributes()
        name = self.advance().text if self.kind == "id" else self._anonymous()
        attributes |= self.attributes()
        tagged = CTagged(self.since(first), keyword, name)
        if not self.accept("{"):
            return tagged, None
        self.enter()
        members: list[CMember] = []
        outside, self.nested = self.nested, []
        while self.kind != "}":
            members += self._members()
            if len(members) > _MEMBERS:
                self.refuse(f"more than {_MEMBERS} members in {keyword} {name}", tagged.span, fatal=True)
        self.nesting -= 1
        self.advance()
        attributes |= self.attributes()
        packed, align = "packed" in attributes, attributes.get("aligned", 0)
        struct = CStruct(self.since(first), keyword, name, tuple(members), packed, align, tuple(self.nested))
        self.nested = outside
        return tagged, struct

    def _anonymous(self) -> str:
        self.anonymous += 1
        return f"(anonymous {self.anonymous} in {self.source.name})"

    def _members(self) -> list[CMember]:
        if self.accept(";"):
            return []
        if self.accept_word("_Static_assert") or self.accept_word("static_assert"):
            self.skip_brackets()
            self.expect(";")
            return []
        first = self.token
        specifier = Specifier(self)
        out: list[CMember] = []
        if self.kind == ";":
            out += self._unnamed(specifier, first)
        while self.kind != ";":
            out.append(self._member_of(specifier, first, inline=not out))
            if not self.accept(","):
                break
        if self.kind != "}":  # compilers forgive a last member without its semicolon, and one-liners rely on it
            self.expect(";")
        return out

    def _unnamed(self, specifier: Specifier, first: Token) -> list[CMember]:
        """``struct { ... };`` lifts its members; ``struct tag { ... };`` and ``enum { ... };`` only define what they
        name."""
        inline = specifier.inline
        if inline is None:
            self.fail("the name of a member")
        if isinstance(inline, CStruct) and inline.name.startswith("("):
            return [CMember(self.since(first), "", specifier.type, None, inline)]
        self.nested.append(inline)
        return []

    def _member_of(self, specifier: Specifier, first: Token, *, inline: bool) -> CMember:
        name, wrap = self.declarator()
        bits = None
        if self.accept(":"):
            bits = self.constant("the width of a bit field")
            if not 0 <= bits <= 64 or (bits == 0 and name):
                self.refuse(f"a bit field cannot have {bits} bits", self.since(first))
        elif not name:
            self.fail("the name of a member")
        attributes = self.attributes()
        shown = specifier.inline if inline else None
        return CMember(self.since(first), name, wrap(specifier.type), bits, shown, attributes.get("aligned", 0))

    # ---- enum ---------------------------------------------------------------------------------------------------

    def c_enum(self) -> tuple[CTagged, CEnum | None]:
        first = self.last
        attributes = self.attributes()
        name = self.advance().text if self.kind == "id" else self._anonymous()
        base = ""
        if self.accept(":"):
            base = str(getattr(Specifier(self).type, "name", ""))
        tagged = CTagged(self.since(first), "enum", name)
        if not self.accept("{"):
            return tagged, None
        values: list[CEnumerator] = []
        following = 0
        while self.kind != "}":
            word = self.expect("id", "the name of a value")
            self.attributes()
            if self.accept("="):
                following = self.constant("the value of an enumerator")
            values.append(CEnumerator(word.span, word.text, following))
            self.enumerators[word.text] = following
            following += 1
            if len(values) > _MEMBERS:
                self.refuse(f"more than {_MEMBERS} values in enum {name}", tagged.span, fatal=True)
            if not self.accept(","):
                break
        self.expect("}")
        attributes |= self.attributes()
        return tagged, CEnum(self.since(first), name, tuple(values), base, "packed" in attributes)


def _forward(tagged: CTagged, first: Token) -> CDeclaration:
    if tagged.keyword == "enum":
        return CEnum(tagged.span, tagged.name, None)
    return CStruct(tagged.span, tagged.keyword, tagged.name, None)
