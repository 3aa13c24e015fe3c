"""The v0 mangling of Rust (RFC 2603, "Rust Symbol Name Mangling v0"). The text is written while the name is read."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

MAX_TEXT = 1 << 16
MAX_STEPS = 1 << 16
MAX_NESTING = 120

_BASICS = (
    "a=i8|b=bool|c=char|d=f64|e=str|f=f32|h=u8|i=isize|j=usize|l=i32|m=u32|n=i128|o=u128|p=_|s=i16|t=u16|"
    "u=()|v=...|x=i64|y=u64|z=!"
)
_BASIC: dict[str, str] = {code: text for code, _, text in (p.partition("=") for p in _BASICS.split("|"))}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_INTEGERS = frozenset("ahijlmnostxy")


class V0Malformed(Exception):
    """The name does not follow the grammar, or goes beyond a limit."""


class V0Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.out: list[str] = []
        self.size = self.steps = self.depth = self.silent = self.bound = 0

    def whole(self) -> str:
        if self.peek().isdigit():
            raise V0Malformed("an encoding version that is not known")
        self.path(True)
        if self.peek() in "CMXYNIB":  # the crate that instantiated it
            self.silent += 1
            self.path(False)
            self.silent -= 1
        rest = self.text[self.at :]
        if rest and rest[0] not in ".$":
            raise V0Malformed("trailing characters")
        return "".join(self.out) + ("" if rest.startswith(".llvm.") else rest)

    # --- reading ------------------------------------------------------------------------------------------------------

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else "\0"

    def eat(self, c: str) -> bool:
        if self.peek() == c:
            self.at += 1
            return True
        return False

    def put(self, text: str) -> None:
        if not self.silent:
            self.out.append(text)
            self.size += len(text)
            if self.size > MAX_TEXT:
                raise V0Malformed("the text is too long")

    @contextmanager
    def deeper(self) -> Generator[None, None, None]:
        self.steps += 1
        self.depth += 1
        if self.steps > MAX_STEPS or self.depth > MAX_NESTING:
            raise V0Malformed("nested too deep")
        yield
        self.depth -= 1

    def base62(self) -> int:
        """``_`` is 0, ``0_`` 1, ``10_`` 63."""
        value = 0
        if self.eat("_"):
            return 0
        for _ in range(12):
            if self.eat("_"):
                return value + 1
            digit = _DIGITS.find(self.peek())
            if digit < 0:
                break
            value = value * 62 + digit
            self.at += 1
        raise V0Malformed("a number expected")

    def disambiguator(self) -> int:
        return self.base62() + 1 if self.eat("s") else 0

    def identifier(self) -> tuple[int, str]:
        number = self.disambiguator()
        unicode = self.eat("u")
        start = self.at
        while self.peek() in "0123456789" and self.at - start < 6 and self.text[start] + str(self.at - start) != "01":
            self.at += 1  # a number that starts with 0 is 0
        if self.at == start:
            raise V0Malformed("a name expected")
        length = int(self.text[start : self.at])
        self.eat("_")
        text = self.text[self.at : self.at + length]
        if len(text) < length:
            raise V0Malformed("a name that is cut")
        self.at += length
        return number, _punycode(text) if unicode else text

    def back_reference(self, read: Callable[[], None]) -> None:
        start = self.at
        target = self.base62()
        if target >= start - 1:
            raise V0Malformed("a reference to what follows")
        after, self.at = self.at, target
        read()
        self.at = after

    # --- paths --------------------------------------------------------------------------------------------------------

    def path(self, value: bool) -> None:
        """``value``: where an expression could stand, arguments are written with ``::``."""
        with self.deeper():
            c = self.peek()
            self.at += 1
            if c == "C":
                self.put(self.identifier()[1])
            elif c == "N":
                self._nested(value)
            elif c in "MXY":
                self._impl(c)
            elif c == "I":
                self.path(value)
                self.put("::<" if value else "<")
                self.listed(self.generic_arg)
                self.put(">")
            elif c == "B":
                self.back_reference(lambda: self.path(value))
            else:
                raise V0Malformed("a path expected")

    def _nested(self, value: bool) -> None:
        space = self.peek()
        self.at += 1
        self.path(value)
        number, name = self.identifier()
        if space.isupper():
            kind = {"C": "closure", "S": "shim"}.get(space, space)
            self.put(f"::{{{kind}{':' if name else ''}{name}#{number}}}")
        elif name:
            self.put(f"::{name}")

    def _impl(self, c: str) -> None:
        if c != "Y":  # where the impl stands
            self.disambiguator()
            self.silent += 1
            self.path(False)
            self.silent -= 1
        self.put("<")
        self.type()
        if c != "M":
            self.put(" as ")
            self.path(False)
        self.put(">")

    def listed(self, read: Callable[[], None], comma: str = ", ") -> int:
        count = 0
        while not self.eat("E"):
            if count:
                self.put(comma)
            read()
            count += 1
        return count

    def generic_arg(self) -> None:
        if self.eat("L"):
            self.lifetime(self.base62())
        elif self.eat("K"):
            self.const()
        else:
            self.type()

    def lifetime(self, index: int) -> None:
        """De Bruijn: 0 is erased, 1 the innermost one bound."""
        if index == 0:
            self.put("'_")
            return
        depth = self.bound - index
        if depth < 0:
            raise V0Malformed("a lifetime that is not bound")
        self.put(f"'{chr(ord('a') + depth)}" if depth < 26 else f"'_{depth}")

    @contextmanager
    def binder(self) -> Generator[None, None, None]:
        count = self.base62() + 1 if self.eat("G") else 0
        if count > 1000:
            raise V0Malformed("too many lifetimes")
        if count:
            self.put("for<")
            for i in range(count):
                self.put(", " if i else "")
                self.bound += 1
                self.lifetime(1)
            self.put("> ")
        yield
        self.bound -= count

    # --- types --------------------------------------------------------------------------------------------------------

    def type(self) -> None:
        with self.deeper():
            c = self.peek()
            self.at += 1
            if c in _BASIC:
                self.put(_BASIC[c])
            elif c in "RQ":
                self._reference(c)
            elif c in "PO":
                self.put("*const " if c == "P" else "*mut ")
                self.type()
            elif c in "AS":
                self._array(c)
            elif c == "T":
                self.put("(")
                self.put(",)" if self.listed(self.type) == 1 else ")")
            elif c == "F":
                self._function()
            elif c == "D":
                self._dyn()
            elif c == "B":
                self.back_reference(self.type)
            else:
                self.at -= 1
                self.path(False)

    def _reference(self, c: str) -> None:
        self.put("&")
        if self.eat("L"):
            index = self.base62()
            if index:
                self.lifetime(index)
                self.put(" ")
        self.put("mut " if c == "Q" else "")
        self.type()

    def _array(self, c: str) -> None:
        self.put("[")
        self.type()
        if c == "A":
            self.put("; ")
            self.const()
        self.put("]")

    def _function(self) -> None:
        with self.binder():
            self.put("unsafe " if self.eat("U") else "")
            if self.eat("K"):
                abi = "C" if self.eat("C") else self.identifier()[1].replace("_", "-")
                self.put(f'extern "{abi}" ')
            self.put("fn(")
            self.listed(self.type)
            self.put(")")
            if not self.eat("u"):
                self.put(" -> ")
                self.type()

    def _dyn(self) -> None:
        self.put("dyn ")
        with self.binder():
            self.listed(self._dyn_trait, " + ")
        if not self.eat("L"):
            raise V0Malformed("a lifetime expected")
        index = self.base62()
        if index:
            self.put(" + ")
            self.lifetime(index)

    def _dyn_trait(self) -> None:
        is_open = self._open_path()
        while self.eat("p"):
            self.put(", " if is_open else "<")
            is_open = True
            self.put(f"{self.identifier()[1]} = ")
            self.type()
        self.put(">" if is_open else "")

    def _open_path(self) -> bool:
        """A path whose argument list may go on; whether its ``>`` is still to be written."""
        opened = False

        def read() -> None:
            nonlocal opened
            opened = self._open_path()

        with self.deeper():
            if self.eat("B"):
                self.back_reference(read)
            elif self.eat("I"):
                self.path(False)
                self.put("<")
                self.listed(self.generic_arg)
                opened = True
            else:
                self.path(False)
        return opened

    # --- constants ----------------------------------------------------------------------------------------------------

    def const(self) -> None:
        with self.deeper():
            c = self.peek()
            self.at += 1
            if c == "p":
                self.put("_")
            elif c == "B":
                self.back_reference(self.const)
            elif c in _INTEGERS:
                minus = "-" if self.eat("n") else ""
                self.put(f"{minus}{self._hexadecimal()}")
            elif c == "b":
                self.put({0: "false", 1: "true"}.get(self._hexadecimal(), "?"))
            elif c == "c":
                value = self._hexadecimal()
                self.put(repr(chr(value)) if value < 0x110000 else "?")
            else:
                raise V0Malformed("a constant of a kind that is not known")

    def _hexadecimal(self) -> int:
        end = self.text.find("_", self.at, self.at + 40)
        digits = self.text[self.at : end]
        if end < 0 or any(c not in "0123456789abcdef" for c in digits):
            raise V0Malformed("a number expected")
        self.at = end + 1
        return int(digits, 16) if digits else 0


def _punycode(text: str) -> str:
    basic, _, extended = text.rpartition("_")
    try:
        return (
            f"{basic}-{extended}".encode("ascii").decode("punycode") if basic else extended.encode().decode("punycode")
        )
    except UnicodeError:
        raise V0Malformed("bad punycode") from None
