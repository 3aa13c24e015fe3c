"""C++ names of the Itanium ABI, which GCC and Clang follow on Linux: names, scopes, templates, special names.

    _ZNKSt6vectorIiSaIiEE4sizeEv  ->  std::vector<int, std::allocator<int> >::size() const

Recursive descent over the grammar of https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling. Types are in
``itanium_types``, expressions in ``itanium_expr``. Everything that was parsed and may be repeated is a candidate for a
substitution (``S_``, ``S0_``...); ``T_``, ``T0_``... are the template arguments of the name being parsed.
"""

from __future__ import annotations

from probescope.debuginfo.itanium_compound import Lambda, Pack, Param
from probescope.debuginfo.itanium_data import OPERATORS, QUALIFIERS, SPECIAL, STANDARD
from probescope.debuginfo.itanium_expr import ExpressionParser
from probescope.debuginfo.itanium_nodes import (
    Encoding,
    Joined,
    Listed,
    Malformed,
    Name,
    Nested,
    Node,
    StdName,
    Structor,
    Templated,
    Wrapped,
)

_ANONYMOUS = "_GLOBAL_"


class Parser(ExpressionParser):
    """Of one name, given without its leading ``_Z``."""

    def whole(self) -> Node:
        node = self.encoding()
        if self.at < len(self.text):
            raise Malformed("trailing characters")
        return node

    def encoding(self, *, local: bool = False) -> Node:
        """``local``: the scope of something inside a function, whose result is then not written."""
        self.deeper()
        c = self.peek()
        node = self.special() if c == "G" or (c == "T" and self.peek(1) != "_") else self._function_or_data(local)
        self.depth -= 1
        return node

    def _function_or_data(self, local: bool) -> Node:
        outer_args = self.args
        self.args, self.quals, self.returns = [], "", False
        node = self.name(tag=True)
        quals, args, returns = self.quals, self.args, self.returns
        if self.peek() not in "E\0.@":
            result = self.type() if returns else None
            node = Encoding(node, None if local else result, self.parameters(), quals, args)
        self.args = outer_args
        return node

    # --- special names ------------------------------------------------------------------------------------------------

    def special(self) -> Node:
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code in ("GV", "TH", "TW"):
            return Wrapped(SPECIAL[code], self.name(tag=True))
        if code == "TA":
            return Wrapped(SPECIAL[code], self.template_arg())
        if code in SPECIAL:
            return Wrapped(SPECIAL[code], self.type())
        if code in ("Th", "Tv"):
            self.at -= 1
            kind = self._call_offset()
            return Wrapped(f"{kind} thunk to ", self.encoding())
        if code == "Tc":
            self._call_offset()
            self._call_offset()
            return Wrapped("covariant return thunk to ", self.encoding())
        return self._rare_special(code)

    def _rare_special(self, code: str) -> Node:
        if code == "TC":
            derived = self.type()
            self.number()
            self.need("_")
            return Joined("construction vtable for ", self.type(), "-in-", derived)
        if code == "GR":
            name = self.name(tag=True)
            index = 0 if self.eat("_") else self.sequence()
            return Joined(f"reference temporary #{index} for ", name)
        if code in ("GA", "GT"):
            kind = {"t": "transaction clone for ", "n": "non-transaction clone for "}.get(self.peek())
            self.at += code == "GT"
            if code == "GA":
                return Wrapped("hidden alias for ", self.encoding())
            if kind is not None:
                return Wrapped(kind, self.encoding())
        raise Malformed("unknown special name")

    def _call_offset(self) -> str:
        if self.eat("h"):
            self.number()
            self.need("_")
            return "non-virtual"
        self.need("v")
        self.number()
        self.need("_")
        self.number()
        self.need("_")
        return "virtual"

    # --- names --------------------------------------------------------------------------------------------------------

    def name(self, *, tag: bool = False) -> Node:
        """``tag``: the template arguments of this name are what ``T_`` means from here on."""
        self.deeper()
        if self.peek() == "N":
            node = self._nested(tag)
        elif self.peek() == "Z":
            node = self._local(tag)
        else:
            node = self._unscoped(tag)
        self.depth -= 1
        return node

    def _unscoped(self, tag: bool) -> Node:
        if self.peek() == "S" and self.peek(1) != "t":
            node = self.substitution()
            if self.peek() != "I":
                raise Malformed("a substitution as a name needs arguments")
            node = Templated(node, self.template_args(tag))
            self.quals, self.returns = "", True
            return node
        if self.text.startswith("St", self.at):
            self.at += 2
            node = Nested(Name("std"), self.unqualified(Name("std")))
        else:
            node = self.unqualified(None)
        if self.peek() == "I":
            self.remember(node)
            node = Templated(node, self.template_args(tag))
            self.quals, self.returns = "", not self.converts
        else:
            self.quals, self.returns = "", False
        return node

    def _nested(self, tag: bool) -> Node:
        self.need("N")
        quals = self._qualifiers()
        node: Node | None = None
        returns = pushed = False
        while not self.eat("E"):
            self.eat("L")
            node, returns, pushed = self._component(node, tag)
            if self.eat("M"):  # a data member's initializer: its lambdas follow
                continue
        if node is None:
            raise Malformed("an empty nested name")
        if pushed:
            self.subs.pop()  # the whole name is pushed by whoever it is a type for
        self.quals, self.returns = quals, returns
        return node

    def _component(self, scope: Node | None, tag: bool) -> tuple[Node, bool, bool]:
        """(name so far, is it a template whose functions tell their result, was it made a substitution)."""
        c, d = self.peek(), self.peek(1)
        if c == "S" and d == "t":
            self.at += 2
            return Name("std"), False, False
        if c == "S":
            self.converts = False
            return self.substitution(), False, False
        if c == "I":
            if scope is None:
                raise Malformed("arguments of no template")
            node: Node = Templated(scope, self.template_args(tag))
            return self.remember(node), not self.converts, True
        if c == "T":
            return self.remember(self.template_param()), False, True
        if c == "D" and d in "tT":
            return self.remember(self.decltype()), False, True
        name = self.unqualified(scope)
        return self.remember(name if scope is None else Nested(scope, name)), False, True

    def _qualifiers(self) -> str:
        quals = ""
        while self.peek() in QUALIFIERS:
            quals = QUALIFIERS[self.peek()] + quals
            self.at += 1
        if self.peek() in ("R", "O"):
            quals += " &" if self.peek() == "R" else " &&"
            self.at += 1
        return quals

    def _local(self, tag: bool) -> Node:
        self.need("Z")
        function = self.encoding(local=True)
        self.need("E")
        if self.eat("s"):
            self._discriminator()
            self.returns, self.quals = False, ""
            return Nested(function, Name("string literal"))
        if self.eat("d"):
            number = -1 if self.peek() == "_" else self.number()
            self.need("_")
            node = self.name(tag=tag)
            return Nested(Nested(function, Name(f"{{default arg#{number + 2}}}")), node)
        self.quals = ""
        node = self.name(tag=tag)
        self._discriminator()
        return Nested(function, node)

    def _discriminator(self) -> None:
        if self.eat("_"):
            if self.eat("_"):
                self.number()
                self.eat("_")
            elif self.peek().isdigit():
                self.at += 1
            else:
                raise Malformed("a discriminator without a number")

    # --- the last part ------------------------------------------------------------------------------------------------

    def unqualified(self, scope: Node | None) -> Node:
        self.converts = False
        c = self.peek()
        node: Node
        if c.isdigit():
            node = self.source_name()
        elif c == "L":  # internal linkage
            self.at += 1
            return self.unqualified(scope)
        elif c == "U":
            node = self._unnamed()
        elif c in "CD" and self.peek(1) != "C":
            node = self._structor(scope)
        elif self.text.startswith("DC", self.at):
            self.at += 2
            names = []
            while not self.eat("E"):
                names.append(self.source_name().text)
            node = Name(f"[{', '.join(names)}]")
        else:
            node = self.operator_name()
        while self.eat("B"):
            node = Wrapped("", node, f"[abi:{self.source_name().text}]")
        return node

    def source_name(self) -> Name:
        length = self.digits()
        if length <= 0 or self.at + length > len(self.text):
            raise Malformed("a name that is cut")
        text = self.text[self.at : self.at + length]
        self.at += length
        if text.startswith(_ANONYMOUS) and text[8:10] in ("_N", ".N", "$N"):
            text = "(anonymous namespace)"
        return Name(text)

    def _structor(self, scope: Node | None) -> Node:
        code, kind = self.peek(), self.peek(1)
        if scope is None or kind not in "0123456I":
            raise Malformed("a constructor of nothing")
        self.at += 2
        self.converts = True
        if kind == "I":
            self.at += 1
            self.type()
        return Structor(scope, code == "D")

    def _unnamed(self) -> Node:
        self.need("U")
        if self.eat("t"):
            node: Node = Name(f"{{unnamed type#{self._count()}}}")
        elif self.eat("l"):
            params = self.parameters()
            self.need("E")
            node = Lambda(params, self._count())
        else:
            raise Malformed("unknown unnamed entity")
        return node

    def _count(self) -> int:
        """``_`` 1, ``0_`` 2, ``1_`` 3."""
        if self.eat("_"):
            return 1
        number = self.digits() + 2
        self.need("_")
        return number

    def operator_name(self) -> Node:
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code == "cv":
            outer, self.conversion = self.conversion, True
            target = self.type()
            self.conversion, self.converts = outer, True
            return Wrapped("operator ", target)
        if code == "li":
            return Joined('operator"" ', self.source_name())
        if code[:1] == "v" and code[1:].isdigit():
            return Wrapped("operator ", self.source_name())
        if code not in OPERATORS:
            raise Malformed("unknown operator")
        sign = OPERATORS[code][0].strip()
        return Name(f"operator {sign}" if sign[0].isalpha() else f"operator{sign}")

    # --- templates ----------------------------------------------------------------------------------------------------

    def template_args(self, tag: bool = False) -> list[Node]:
        self.need("I")
        converts = self.converts
        if tag:
            self.args = []
        out: list[Node] = []
        while not self.eat("E"):
            arg = self.template_arg()
            out.append(arg)
            if tag:
                self.args.append(Pack(arg.nodes) if isinstance(arg, PackArg) else arg)
        self.converts = converts
        return out

    def template_arg(self) -> Node:
        c = self.peek()
        if c == "X":
            self.at += 1
            node = self.expression()
            self.need("E")
            return node
        if c == "L":
            return self.literal()
        if c in "JI":
            self.at += 1
            nodes = []
            while not self.eat("E"):
                nodes.append(self.template_arg())
            return PackArg(nodes)
        return self.type()

    def template_param(self) -> Node:
        self.need("T")
        index = 0 if self.eat("_") else self.digits() + 1
        if index:
            self.need("_")
        return Param(index)

    def substitution(self) -> Node:
        self.need("S")
        c = self.peek()
        if c in STANDARD:
            self.at += 1
            node: Node = StdName(*STANDARD[c])
            while self.eat("B"):
                node = self.remember(Wrapped("", node, f"[abi:{self.source_name().text}]"))
            return node
        index = 0 if self.eat("_") else self.sequence() + 1
        if index >= len(self.subs):
            raise Malformed("an unknown substitution")
        return self.subs[index]


class PackArg(Listed):
    """``J...E``: the elements of a pack, written with commas; nothing for none."""

    __slots__ = ()

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__("", nodes, "")
