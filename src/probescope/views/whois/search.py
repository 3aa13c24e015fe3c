"""Messages, and errors that are returned, to the places in code that have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from probescope.debuginfo.messages import Match, Pattern, found, text_at
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.debuginfo.crossrefs import Crossrefs, Span
    from probescope.debuginfo.dwarf_inlines import SourceFrame
    from probescope.views.whois.images import Image, Where

MOST_USES = 32
"""Places of one message that are told."""
TABLE_REACH = 1 << 16
"""Bytes that a table of pointers may have before the one that is looked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``what`` was found (a message; empty where a place was asked for), ``where`` the code that has it, source
    ``frames`` innermost first, and the table that it goes through, if it does not name the message itself."""

    image: Image
    what: str
    where: Where
    frames: tuple[SourceFrame, ...]
    through: str = ""
    whole: bool = False
    letters: int = 0


@dataclass(frozen=True, slots=True)
class Unused:
    """A message that no code was found to refer to."""

    image: Image
    what: str
    address: int
    whole: bool = False
    letters: int = 0


def messages(image: Image, pattern: Pattern, most: int = 10) -> list[Finding | Unused]:
    """Best messages first, for each the places in the order of addresses."""
    out: list[Finding | Unused] = []
    for match in found(pattern, _texts(image.refs, _is_go(image)), most):
        used = list(_uses(image, match))
        out += used or [Unused(image, match.text, match.address, match.whole, match.letters)]
    return out


def _is_go(image: Image) -> bool:
    from probescope.debuginfo.gopclntab import SECTIONS

    binary = getattr(image, "binary", None)
    return binary is not None and any(binary.elf.section(n) is not None for n in SECTIONS)


def good(f: Finding | Unused) -> bool:
    """Whether it says what was looked for, and not just a word of it."""
    return isinstance(f, Finding) and (f.whole or len(f.what.split()) > 1)


def best(found: list[Finding | Unused], most: int) -> list[Finding | Unused]:
    """Of several files' messages those that agree most; single words only where there is nothing better. ``most``
    counts messages."""
    if any(good(f) for f in found):
        found = [f for f in found if good(f)]
    whole = any(f.whole for f in found)
    top = max((f.letters for f in found), default=0)
    kept = [f for f in found if (f.whole if whole else 2 * f.letters >= top)]
    kept.sort(key=lambda f: (-f.letters, f.image.title, f.what))
    chosen = list(dict.fromkeys((f.image.title, f.what) for f in kept))[:most]
    return [f for f in kept if (f.image.title, f.what) in chosen]


def _texts(refs: Crossrefs, go: bool = False) -> Iterator[tuple[int, str]]:
    import numpy as np

    spans = {s.start: s for s in refs.spans if not s.code}
    for span in spans.values():
        both = (refs.targets, refs.pointed)
        inside = [c[(c >= np.uint64(span.start)) & (c < np.uint64(span.end))] for c in both]
        known = np.unique(np.concatenate(inside)).tolist()
        for address, after in zip(known, [*known[1:], span.end], strict=False):
            text = _text(span, address)
            if text is not None:
                yield address, _cut(text, after - address) if go else text


def _cut(text: str, size: int) -> str:
    """Texts of Go end in nothing: where the next one begins."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _text(span: Span, address: int) -> str | None:
    return text_at(span.data, address - span.start)


def _uses(image: Image, match: Match) -> Iterator[Finding]:
    seen: set[tuple[str, int, tuple[SourceFrame, ...]]] = set()
    for place, through in _places(image, match.address):
        where = image.where(place)
        frames = image.frames(place)
        key = (where.plain, 0 if where.name else where.start, frames)
        if key not in seen and len(seen) < MOST_USES:
            seen.add(key)
            yield Finding(image, match.text, where, frames, through, match.whole, match.letters)


def _places(image: Image, address: int) -> Iterable[tuple[int, str]]:
    """Code that refers to a message, or else to a table that points to it."""
    refs = image.refs
    direct = refs.users(address)
    yield from ((p, "") for p in direct)
    for slot in refs.holders(address)[:MOST_USES]:
        name, begin = image.object_at(slot)
        start = begin if name else refs.nearest_below(slot)
        if start is not None and slot - start <= TABLE_REACH:
            yield from ((p, name or f"a table at {start:#x}") for p in refs.users(start))
