"""The values of literals: integers with their suffixes, strings with their escapes."""

from __future__ import annotations

MAX_UINT = (1 << 64) - 1

_SUFFIX: dict[str, tuple[int, int]] = {
    "": (MAX_UINT, 1),
    "u": ((1 << 32) - 1, 1),
    "ul": (MAX_UINT, 1),
    "ull": (MAX_UINT, 1),
    "lu": (MAX_UINT, 1),
    "llu": (MAX_UINT, 1),
    "l": ((1 << 63) - 1, 1),
    "ll": ((1 << 63) - 1, 1),
    "ns": (MAX_UINT, 1),
    "us": (MAX_UINT, 1_000),
    "ms": (MAX_UINT, 1_000_000),
    "s": (MAX_UINT, 1_000_000_000),
    "m": (MAX_UINT, 60_000_000_000),
    "h": (MAX_UINT, 3_600_000_000_000),
    "d": (MAX_UINT, 86_400_000_000_000),
}
"""Suffix -> greatest value, factor to nanoseconds. C's own suffixes limit the value, but do not choose a type."""

_DIGITS = {2: "01", 8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}
_LONGEST = 4096  # digits; beyond it a literal is an error before it costs time


class LiteralError(ValueError):
    """What is wrong with a literal, for a diagnostic. ``start`` and ``end`` are offsets into it (``None``: all of
    it)."""

    def __init__(self, what: str, start: int | None = None, end: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.start = start
        self.end = end


def integer(text: str) -> int:
    """The value of ``0x1F``, ``0b101``, ``0777``, ``1_000``, ``1e6``, ``10ms``, ``42UL``; raises ``LiteralError``."""
    if len(text) > _LONGEST:
        raise LiteralError(f"overflow error, maximum value is {MAX_UINT}: {text[:20]}...")
    plain = text.replace("_", "")
    base = {"0x": 16, "0X": 16, "0b": 2, "0B": 2}.get(plain[:2], 10)
    body = plain[2:] if base != 10 else plain
    if base == 10 and len(plain) > 1 and plain[0] == "0" and plain[1].isdigit():
        base, body = 8, plain[1:]
    digits, rest = _split(body, _DIGITS[base])
    if not digits:
        raise LiteralError(f"invalid integer: {text}")
    value = int(digits, base)
    if base == 10 and rest[:1] in ("e", "E") and rest[1:2].isdigit():
        value, rest = _scientific(text, value, rest[1:])
    return _scaled(text, value, rest)


def check_underscores(text: str) -> None:
    """Raises for an underscore that separates no digits: ``1_``, ``1_e5``."""
    for i, c in enumerate(text):
        if c == "_" and not text[i + 1 : i + 2].isalnum():
            raise LiteralError("trailing underscore in integer literal", i, i + 1)
        if c == "_" and text[i + 1] in "eE" and not text.lower().startswith("0x"):
            raise LiteralError("trailing underscore in integer literal", i, i + 1)


def _split(text: str, allowed: str) -> tuple[str, str]:
    n = 0
    while n < len(text) and text[n] in allowed:
        n += 1
    return text[:n], text[n:]


def _scientific(text: str, mantissa: int, rest: str) -> tuple[int, str]:
    if not 1 <= mantissa <= 9:
        raise LiteralError(f"coefficient part of scientific literal must be 1-9: {text}")
    exponent, rest = _split(rest, _DIGITS[10])
    if len(exponent) > 3 or int(exponent) > 20:
        raise LiteralError(f"overflow error, maximum value is {MAX_UINT}: {text}")
    return int(mantissa * 10 ** int(exponent)), rest


def _scaled(text: str, value: int, suffix: str) -> int:
    known = _SUFFIX.get(suffix) or _SUFFIX.get(_c_suffix(suffix))
    if known is None:
        if suffix and set(suffix.lower()) <= set("ul"):
            good = next(n for n in range(len(suffix), -1, -1) if _c_suffix(suffix[:n]) in _SUFFIX)
            start = len(text) - len(suffix) + good
            raise LiteralError(f"invalid integer suffix '{suffix[good:]}'", start, len(text))
        raise LiteralError(f"invalid trailing bytes: {text}")
    most, factor = known
    if value * factor > most:
        raise LiteralError(f"overflow error, maximum value is {most}: {text}")
    return value * factor


def _c_suffix(suffix: str) -> str:
    """C's suffixes in small letters, those of durations as they are (``M`` is no unit)."""
    return suffix.lower() if set(suffix) <= set("uUlL") else "?"


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def unescape(body: str) -> str:
    r"""The text between the quotes of a literal with its escapes resolved; raises ``LiteralError``.

    ``\n \t \r \" \\``, up to three octal digits, ``\x`` and up to two hexadecimal digits. Bytes that are no UTF-8
    become lone surrogates.
    """
    if "\\" not in body:
        return body
    out = bytearray()
    i = 0
    while i < len(body):
        j = body.find("\\", i)
        if j < 0:
            j = len(body)
        out += body[i:j].encode("utf-8", "surrogateescape")
        i = j
        if i < len(body):
            piece, i = _escape(body, i)
            out += piece
    return out.decode("utf-8", "surrogateescape")


def _escape(body: str, at: int) -> tuple[bytes, int]:
    """The bytes of the escape that begins at offset ``at``, and the offset behind it."""
    c = body[at + 1 : at + 2]
    if c in _ESCAPES:
        return _ESCAPES[c].encode(), at + 2
    if c and c in _DIGITS[8]:
        digits, _ = _split(body[at + 1 : at + 4], _DIGITS[8])
        if int(digits, 8) > 255:
            raise LiteralError(f"octal escape sequence out of range '\\{digits}'", at, at + 1 + len(digits))
        return bytes([int(digits, 8)]), at + 1 + len(digits)
    if c in ("x", "X"):
        digits, _ = _split(body[at + 2 : at + 4], _DIGITS[16])
        if not digits:
            raise LiteralError("invalid hex escape sequence", at, at + 2)
        return bytes([int(digits, 16)]), at + 2 + len(digits)
    raise LiteralError(f"invalid escape character '\\{c}'", at, at + 2)


def quote(value: str) -> str:
    """The literal, with its quotes, that ``unescape`` reads back as ``value``."""
    out = []
    for byte_or_char in value:
        code = ord(byte_or_char)
        if byte_or_char in '"\\':
            out.append("\\" + byte_or_char)
        elif byte_or_char == "\n":
            out.append("\\n")
        elif byte_or_char == "\t":
            out.append("\\t")
        elif code < 0x20 or code == 0x7F:
            out.append(f"\\{code:03o}")
        elif 0xDC80 <= code <= 0xDCFF:  # a lone byte
            out.append(f"\\x{code - 0xDC00:02x}")
        else:
            out.append(byte_or_char)
    return '"' + "".join(out) + '"'
