"""Types in mangled C++ names, and the reading of single characters and numbers below everything else."""

from __future__ import annotations

from probescope.debuginfo.itanium_compound import Array, Expansion, Function, Pointing, Qualified
from probescope.debuginfo.itanium_data import BUILTINS, QUALIFIERS
from probescope.debuginfo.itanium_nodes import MAX_NESTING, Malformed, Name, Node, Templated, Wrapped

MAX_SUBSTITUTIONS = 1 << 14


class Reader:
    """``at`` is the place in ``text``. State of the name at hand: ``args`` are its template arguments, ``quals`` the
    qualifiers of a member function, ``returns`` whether its result is mangled, ``converts`` that it is a conversion or
    constructor."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.subs: list[Node] = []
        self.args: list[Node] = []
        self.quals = ""
        self.returns = self.converts = self.conversion = False

    def peek(self, ahead: int = 0) -> str:
        """The next character; NUL at the end, so that it can be looked for in any set of characters."""
        at = self.at + ahead
        return self.text[at] if at < len(self.text) else "\0"

    def eat(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def need(self, text: str) -> None:
        if not self.eat(text):
            raise Malformed(f"{text} expected")

    def digits(self) -> int:
        start = self.at
        while self.peek().isdigit() and self.at - start < 12:
            self.at += 1
        if self.at == start or not self.text[start : self.at].isascii():
            raise Malformed("a number expected")
        return int(self.text[start : self.at])

    def number(self) -> int:
        """With ``n`` for minus."""
        return -self.digits() if self.eat("n") else self.digits()

    def sequence(self) -> int:
        """A number of base 36 and its ``_``."""
        end = self.text.find("_", self.at, self.at + 8)
        word = self.text[self.at : end]
        if end < 0 or not word or not all(c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" for c in word):
            raise Malformed("a sequence number expected")
        self.at = end + 1
        return int(word, 36)

    def remember(self, node: Node) -> Node:
        if len(self.subs) > MAX_SUBSTITUTIONS:
            raise Malformed("too many substitutions")
        self.subs.append(node)
        return node

    def deeper(self) -> None:
        """Called on the way into what may contain itself; ``depth`` is counted down on the way out."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise Malformed("nested too deep")

    # what the parsers built on top of this one bring

    def name(self, *, tag: bool = False) -> Node:
        raise NotImplementedError

    def encoding(self, *, local: bool = False) -> Node:
        raise NotImplementedError

    def expression(self) -> Node:
        raise NotImplementedError

    def source_name(self) -> Name:
        raise NotImplementedError

    def template_args(self, tag: bool = False) -> list[Node]:
        raise NotImplementedError

    def template_arg(self) -> Node:
        raise NotImplementedError

    def template_param(self) -> Node:
        raise NotImplementedError

    def substitution(self) -> Node:
        raise NotImplementedError


class TypeParser(Reader):
    def type(self) -> Node:
        self.deeper()
        node = self._type()
        self.depth -= 1
        return node

    def _type(self) -> Node:
        c = self.peek()
        if c in BUILTINS:
            self.at += 1
            return Name(BUILTINS[c])
        if c in QUALIFIERS:
            return self._qualified()
        if c in "PRO":
            self.at += 1
            return self.remember(Pointing(self.type(), {"P": "*", "R": "&", "O": "&&"}[c]))
        if c == "F":
            return self.remember(self._function(""))
        if c == "A":
            return self.remember(self._array())
        if c == "M":
            self.at += 1
            owner = self.type()
            return self.remember(Pointing(self.type(), "*", owner))
        if c in "CG":
            self.at += 1
            return self.remember(Qualified(self.type(), " _Complex" if c == "C" else " _Imaginary"))
        if c == "D":
            return self._d_type()
        return self._named_type(c)

    def _named_type(self, c: str) -> Node:
        if c == "S" and self.peek(1) != "t":
            node = self.substitution()
            return self.remember(Templated(node, self.template_args())) if self.peek() == "I" else node
        if c == "T" and self.peek(1) in "sue":  # struct, union, enum: elaborated, written without the word
            self.at += 2
            return self.remember(self.name())
        if c == "T":
            node = self.remember(self.template_param())
            return self.remember(Templated(node, self.template_args())) if self._applies() else node
        if c == "u":
            self.at += 1
            return self.remember(self.source_name())
        if c == "U":
            return self._vendor()
        return self.remember(self.name())

    def _applies(self) -> bool:
        """Whether an I after a template parameter begins its arguments: not in the type of a conversion operator, whose
        own arguments they are."""
        return self.peek() == "I" and not self.conversion

    def _vendor(self) -> Node:
        self.need("U")
        if self.peek() in "lt":  # an unnamed type outside of any scope
            self.at -= 1
            return self.remember(self.name())
        name = self.source_name().text
        if self.peek() == "I":
            Templated(Name(name), self.template_args())
        return self.remember(Qualified(self.type(), f" {name}"))

    def _qualified(self) -> Node:
        quals = ""
        while self.peek() in QUALIFIERS:
            quals = QUALIFIERS[self.peek()] + quals
            self.at += 1
        if self.peek() == "F" or (self.peek() == "D" and self.peek(1) in "oOwx"):
            return self.remember(self._function(quals))
        return self.remember(Qualified(self.type(), quals))

    def _function(self, quals: str) -> Node:
        quals += self._exception_specification()
        self.need("F")
        self.eat("Y")  # extern "C"
        result = self.type()
        params = self.parameters()
        ref = self.peek()
        if ref in "RO" and self.peek(1) == "E":
            self.at += 1
            quals += " &" if ref == "R" else " &&"
        self.need("E")
        return Function(result, params, quals)

    def _exception_specification(self) -> str:
        self.eat("Dx")
        if self.eat("Do"):
            return " noexcept"
        if self.eat("DO"):
            self.expression()
            self.need("E")
            return " noexcept"
        if self.eat("Dw"):
            while not self.eat("E"):
                self.type()
            return " throw"
        return ""

    def parameters(self) -> list[Node]:
        """Types up to the end of the function; a single ``v`` stands for none."""
        out: list[Node] = []
        while self.peek() not in "E\0.@" and not (self.peek() in "RO" and self.peek(1) == "E"):
            out.append(self.type())
        if not out:
            raise Malformed("a function without parameters")
        if len(out) == 1 and isinstance(out[0], Name) and out[0].text == "void":
            return []
        return out

    def _array(self) -> Node:
        self.need("A")
        if self.peek().isdigit():
            count: Node = Name(str(self.digits()))
        elif self.peek() == "_":
            count = Name("")
        else:
            count = self.expression()
        self.need("_")
        return Array(self.type(), count)

    def _d_type(self) -> Node:
        code = self.text[self.at : self.at + 2]
        if code in BUILTINS:
            self.at += 2
            return Name(BUILTINS[code])
        if code in ("Dt", "DT"):
            return self.remember(self.decltype())
        if code == "Dp":
            self.at += 2
            return self.remember(Expansion(self.type()))
        if code in ("Do", "DO", "Dw", "Dx"):
            return self.remember(self._function(""))
        if code == "Dv":
            return self.remember(self._vector())
        if code == "DF":
            self.at += 2
            bits = self.digits()
            suffix = "x" if self.eat("x") else ""
            if not suffix:
                self.need("_")
            return Name(f"_Float{bits}{suffix}")
        return self.remember(self.name())

    def _vector(self) -> Node:
        self.at += 2
        if self.eat("_"):
            size: Node = self.expression()
        else:
            size = Name(str(self.digits()))
        self.need("_")
        return Qualified(self.type(), f" __vector({_plain(size)})")

    def decltype(self) -> Node:
        self.at += 2
        node = self.expression()
        self.need("E")
        return Wrapped("decltype (", node, ")")


def _plain(node: Node) -> str:
    return node.text if isinstance(node, Name) else "..."
