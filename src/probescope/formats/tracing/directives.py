"""Formats of printf as the kernel's are, cut into literal texts and directives.

    %-*.3llx     flags, width, precision, length, conversion
    %pISpc       a pointer: `p` and the letters that say of what

Source: Documentation/core-api/printk-formats.rst. Widths are bounded: a format comes from outside.
"""

from __future__ import annotations

import re

from probescope.errors import FormatError
from probescope.frozen import dataclass

MAX_WIDTH = 1024
MAX_PIECES = 4096

_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0']*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?)?(?P<length>hh|h|ll|l|L|q|z|Z|t|j)?"
    r"(?P<conversion>[diouxXcsp%n]|$)?"
)
_POINTER = re.compile(r"[FfSs]|[Mm][RF]?|[Ii](?:4[hnbl]?|6c?|S[pfs]*[hnbl]?c?)|U[LlBb]?|h[CDN]?|[xK]")


@dataclass(frozen=True, slots=True)
class Directive:
    """``star``: widths and precisions that are arguments (``"*"``, ``".*"``, ``"*.*"``). ``bytes``: what the length
    says of integers, 0: a long's. ``pointer``: the letters after ``p``."""

    flags: str = ""
    width: int = 0
    precision: int = -1
    star: str = ""
    bytes: int = 4
    conversion: str = "d"
    pointer: str = ""

    @property
    def plain(self) -> bool:
        """Text goes through it unchanged."""
        return not self.width and self.precision < 0 and not self.star

    def python(self, conversion: str) -> str:
        """The same for Python's ``%``, without stars."""
        flags = self.flags.replace("'", "")
        width = str(self.width) if self.width else ""
        precision = f".{self.precision}" if self.precision >= 0 else ""
        return f"%{flags}{width}{precision}{conversion}"


_BYTES = {"hh": 1, "h": 2, "": 4, "l": 0, "z": 0, "Z": 0, "t": 0, "ll": 8, "L": 8, "q": 8, "j": 8}


def pieces(text: str) -> list[str | Directive]:
    """Raises FormatError where a directive is none of printf's."""
    out: list[str | Directive] = []
    at = 0
    while at < len(text):
        to = text.find("%", at)
        if to < 0:
            to = len(text)
        if to > at:
            out.append(text[at:to])
        if to == len(text):
            break
        directive, at = _directive(text, to)
        out.append(directive)
        if len(out) > MAX_PIECES:
            raise FormatError(f"a format of more than {MAX_PIECES} pieces", section="print fmt")
    return out


def _directive(text: str, at: int) -> tuple[str | Directive, int]:
    found = _DIRECTIVE.match(text, at)
    conversion = found["conversion"] if found else None
    if not found or conversion in {None, "", "n"}:
        raise FormatError(f"no directive of printf: {text[at : at + 8]!r}", section="print fmt", offset=at)
    if conversion == "%":
        return "%", found.end()
    width, precision = found["width"] or "", found["precision"]
    dot = "." in found[0]
    number = precision if precision not in {None, "*"} else "0"
    if max(len(width), len(number or "")) > 4 or int(number or 0) > MAX_WIDTH:
        raise FormatError(f"a width of more than {MAX_WIDTH}", section="print fmt", offset=at)
    star = ("*" if width == "*" else "") + (".*" if precision == "*" else "")
    end = found.end()
    letters = ""
    if conversion == "p":
        pointed = _POINTER.match(text, end)
        if pointed:
            letters, end = pointed[0], pointed.end()
    wide = min(int(width), MAX_WIDTH) if width.isdecimal() else 0
    exact = int(number or 0) if dot and precision != "*" else -1
    bytes_ = _BYTES[found["length"] or ""]
    return Directive(found["flags"], wide, exact, star, bytes_, conversion or "", letters), end
