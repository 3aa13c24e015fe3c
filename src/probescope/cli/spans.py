"""Pieces of time of a recording, as options name them.

    10.5,12      from 10.5 s to 12 s; either may be left out        10%-20%   of the whole, several with commas
    10%/2        the second tenth
Source: perf-report(1), --time.
"""

from __future__ import annotations

import re

from probescope.errors import UsageError

_PART = re.compile(r"(\d{1,3}(?:\.\d+)?)%/(\d{1,4})")
_RANGE = re.compile(r"(\d{1,3}(?:\.\d+)?)%-(\d{1,3}(?:\.\d+)?)%")
END = (1 << 64) - 1
HINTS = (
    "--time 10.5,12 (seconds)",
    "--time 10.5, (from there on)",
    "--time 10%-20%",
    "--time 10%/2 (the second tenth)",
)


def parse_spans(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """(from, to) in ns, ends included; ``first`` and ``last``: times of the recording, which shares are of. Raises
    UsageError."""
    if "%" in text:
        if last <= first:
            raise UsageError("the file does not tell when it begins and ends", hints=["--time 10.5,12 (seconds)"])
        return [_share(w, first, last) for w in re.split(r"[, ]+", text.strip())]
    begin, _, end = text.partition(",")
    try:
        low = _ns(begin) if begin else 0
        high = _ns(end) if end else END
    except (ValueError, OverflowError):
        low, high = 1, 0
    if not 0 <= low <= high <= END:
        raise UsageError(f"'{text}' is not a span of time", hints=HINTS)
    return [(low, high)]


def _ns(text: str) -> int:
    """Nine digits behind the point are kept."""
    whole, _, part = text.strip().partition(".")
    if not (whole + part).isascii() or not (whole + part).isdigit() or len(whole) > 10:
        raise ValueError(text)
    return int(whole or 0) * 10**9 + int(part[:9].ljust(9, "0"))


def _share(word: str, first: int, last: int) -> tuple[int, int]:
    part, range_ = _PART.fullmatch(word), _RANGE.fullmatch(word)
    if part:
        each, number = float(part[1]), int(part[2])
        low, high = each * (number - 1), each * number
    elif range_:
        low, high = float(range_[1]), float(range_[2])
    else:
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 100:
        raise UsageError(f"'{word}' is not a part of the whole", hints=HINTS[2:])
    length = last - first
    begin = first + int(length * low / 100)
    end = first + int(length * high / 100)
    return begin, end if high == 100 else end - 1
