r"""Text of strangers on a terminal: what would command it is shown instead of obeyed.

Names of processes, files and symbols hold any byte. Some of them move a terminal's cursor, change its title, or turn
the direction of what follows. They are shown as ``print("%r")`` shows them: ``\x1b``.
"""

from __future__ import annotations

_BYTES = (*range(9), *range(11, 32), *range(0x7F, 0xA0))  # C0 without tab and newline, DEL, C1 (ECMA-48)
_TURNS = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # of direction (Unicode Annex 9)
_TABLE: dict[int, str] = {
    **{c: f"\\x{c:02x}" for c in _BYTES},
    **{c: f"\\u{c:04x}" for c in _TURNS},
    **{0xDC00 + b: f"\\x{b:02x}" for b in range(0x80, 0x100)},  # bytes that are not UTF-8, by surrogateescape
}
_JSON: dict[int, str] = {
    **{c: f"\\u{c:04x}" for c in (*range(0x7F, 0xA0), *_TURNS)},
    **{0xDC00 + b: f"\\\\x{b:02x}" for b in range(0x80, 0x100)},  # half characters, which JSON cannot carry: as text
}


def visible(text: str) -> str:
    """Lines and tabs stay as they are."""
    return text if text.isprintable() else text.translate(_TABLE)


def printable(text: str) -> str:
    """For a cell of a table, or a line: what does not print, ends of lines too, is a question mark."""
    return "".join(c if c.isprintable() else "?" for c in text)


def unchanged(text: str) -> str:
    """For output that no terminal reads: a file gets the very bytes."""
    return text


def visible_in_color(text: str) -> str:
    """As ``visible``; our own colours, and nothing else that begins with an escape, stay: not what conceals text."""
    import re

    return "".join(p if i % 2 else visible(p) for i, p in enumerate(re.split(r"(\x1b\[(?:[01]|3[1-6]|1;32)m)", text)))


def visible_json(document: str) -> str:
    """A JSON document with the characters that JSON lets pass and terminals obey as escapes: it says the same. Bytes
    that are not UTF-8 are told as ``visible`` tells them."""
    return document if document.isprintable() else document.translate(_JSON)
