"""Filters of events in the kernel's words, from what people write.

    dest == 172.31.28.139 && delay > 10ms && state == TCP_CLOSE
    dest == 2333876140 && delay > 10000000 && state == 7

An address is the number that its four bytes are in memory, in network order; a duration is in nanoseconds; a constant
is that of the kernel's own enumerations. What the kernel understands by itself, and texts in quotes, stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from probescope.errors import BtfError

_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')
      | (?P<op>[=!<>]=|[<>&])\s*
        (?: (?P<address>\d{1,3}(?:\.\d{1,3}){3})(?![\w.])
          | (?P<number>\d{1,12})(?P<unit>ns|us|ms|s)\b
          | (?P<word>[A-Z][A-Z0-9_]{2,})\b )""",
    re.VERBOSE,
)


def in_kernel_words(text: str) -> str:
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    at = 0
    for found in _TOKEN.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        value = None if found["quoted"] else _value(found)
        yield found[0] if value is None else f"{found['op']} {value}"
    yield text[at:]


def _value(found: re.Match[str]) -> int | None:
    if found["address"]:
        parts = [int(p) for p in found["address"].split(".")]
        return int.from_bytes(bytes(parts), sys.byteorder) if max(parts) < 256 else None
    if found["number"]:
        return int(found["number"]) * _UNITS[found["unit"]]
    return constant(found["word"])


def constant(name: str) -> int | None:
    """The value of a constant of the kernel's enumerations; ``None`` if there is none such."""
    from probescope.sources import kernel_btf

    try:
        types = kernel_btf.types()
    except BtfError:
        return None
    known = types.enumerator(name) if types is not None else None
    return known[1] if known is not None else None
