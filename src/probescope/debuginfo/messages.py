"""Messages in a program's data, and which of them a printed line may have come from.

A message is a text that ends with a zero byte, read from an address that code or a pointer refers to (linkers keep one
copy of texts that end alike, so many begin in the middle of another). What is looked for is a printed line, a format,
or a part of either::

    format      cannot access %s                pieces   "cannot access ", anything
    line        ls: cannot access '/x': No ...  holds all pieces in their order, so this format may have printed it

A match is worth the letters that agree; formats with few letters of their own match everything and are worth little.
Source of what % begins: printf(3); Documentation/core-api/printk-formats.rst for %p and what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_TEXT = 4096
LEAST = 4
"""Letters of its own that a message has to share with what is looked for."""
MOST_PIECES = 16
_CONVERSION = re.compile(r"%[-+ #0'I]*(?:\*|\d+)?(?:\.(?:\*|\d*))?(?:hh|h|ll|l|j|z|t|L|q)?([a-zA-Z])")
_POINTER = re.compile(r"[A-Za-z]+\d*")
_LEVEL = re.compile(r"^(?:<[0-7]>|\x01[0-7c])")
"""The level of a kernel message: KERN_SOH and a digit (include/linux/kern_levels.h); <N> as dmesg -r shows it."""
_STAMP = re.compile(r"^\s*\[\s*\d+\.\d+\](?:\[[^\]]*\])?\s*")
_PRINTABLE = re.compile(r"[\x01\t\n\r\x1b\x20-\x7e\x80-\uffff]+\Z")


class Match(NamedTuple):
    """``address`` of the message, the ``text`` itself, ``letters`` that agree, and ``whole``: the line says all that
    the message says, or the other way round."""

    address: int
    text: str
    letters: int
    whole: bool


class Pattern:
    """What is looked for. Raises ValueError if there are too few letters in it."""

    def __init__(self, line: str) -> None:
        line = _LEVEL.sub("", _STAMP.sub("", line)).strip("\n")
        self.line = line
        self.pieces = [p for p in pieces(line) if p.strip()]
        if sum(map(_letters, self.pieces)) < LEAST:
            raise ValueError(f"at least {LEAST} letters of a message are needed")

    def match(self, address: int, text: str) -> Match | None:
        own = [p for p in pieces(_LEVEL.sub("", text).rstrip("\n")) if p.strip()]
        letters = sum(map(_letters, own))
        if letters < LEAST:
            return None
        if own == self.pieces:
            return Match(address, text, letters, True)
        if _in_order(own, self.line):
            if len(own) == 1 and " " not in text.strip() and letters * 10 < 6 * _letters(self.line):
                return None  # a single word, of many that a program has
            return Match(address, text, letters, letters * 10 >= 9 * _letters(self.line))
        if _in_order(self.pieces, text):
            return Match(address, text, sum(map(_letters, self.pieces)), False)
        agreed = _part(own, self.line)
        return Match(address, text, agreed, False) if 3 * agreed >= max(_letters(self.line), 6 * LEAST) else None


def _letters(text: str) -> int:
    return sum(c.isalnum() for c in text)


def _in_order(parts: list[str], text: str) -> bool:
    at = 0
    for p in parts:
        at = text.find(p, at)
        if at < 0:
            return False
        at += len(p)
    return bool(parts)


def _part(own: list[str], line: str) -> int:
    """Letters that agree, where a line is cut from what a format printed: it may begin and end inside of a piece."""
    best = 0
    for i, piece in enumerate(own[:MOST_PIECES]):
        at = line.find(piece)
        if at >= 0:
            agreed, at = _letters(piece), at + len(piece)
        else:
            at = _overlap(piece, line)
            agreed = _letters(line[:at])
        for later in own[i + 1 : MOST_PIECES] if at else ():
            found = line.find(later, at)
            if found < 0:
                agreed += _letters(later[: _overlap(line[at:], later)])
                break
            agreed, at = agreed + _letters(later), found + len(later)
        if not at:
            agreed = _letters(piece[: _overlap(line, piece)])
        best = max(best, agreed)
    return best


def _overlap(before: str, after: str) -> int:
    """Characters that end the one and begin the other."""
    most = min(len(before), len(after))
    return next((n for n in range(most, 0, -1) if before.endswith(after[:n])), 0)


def pieces(text: str) -> list[str]:
    """What a format prints whatever its arguments are; %% is one percent sign."""
    out, last = [""], 0
    for m in _conversions(text):
        out[-1] += text[last : m[0]].replace("%%", "%")
        out.append("")
        last = m[1]
    out[-1] += text[last:].replace("%%", "%")
    return out


def _conversions(text: str) -> Iterator[tuple[int, int]]:
    at = text.find("%")
    while at >= 0:
        if text.startswith("%%", at):
            at = text.find("%", at + 2)
            continue
        m = _CONVERSION.match(text, at)
        end = at + 1
        if m is not None:
            more = _POINTER.match(text, m.end()) if m.group(1) == "p" else None
            end = more.end() if more is not None else m.end()
            yield at, end
        at = text.find("%", end)


def found(pattern: Pattern, texts: Iterable[tuple[int, str]], most: int = 10) -> list[Match]:
    """The best matches, best first: those whose letters agree most, and not much less than the best one's."""
    hits = [m for a, t in texts if (m := pattern.match(a, t)) is not None]
    hits.sort(key=lambda m: (-m.letters - 1000 * m.whole, m.address))
    if not hits:
        return []
    best = hits[0]
    return [m for m in hits if m.whole or (not best.whole and 2 * m.letters >= best.letters)][:most]


def text_at(data: bytes, offset: int) -> str | None:
    """The text that begins there; ``None`` where the bytes are none, or never end."""
    end = data.find(b"\0", offset, offset + MAX_TEXT)
    if end - offset < LEAST:
        return None
    try:
        text = data[offset:end].decode()
    except UnicodeDecodeError:
        return None
    return text if _PRINTABLE.match(text) else None
