"""Numbers that arguments are: one reading of them, whatever an option then says of those that are none."""

from __future__ import annotations

INT_MAX = (1 << 31) - 1


def whole(text: str, least: int = 0, most: int = INT_MAX) -> int | None:
    """The number that ``text`` is in ASCII digits, None where it is none or not from ``least`` to ``most``. Python
    would read digits of all scripts, and none that are more than 4300 (sys.set_int_max_str_digits)."""
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdigit()) or len(digits) > 20:
        return None
    return int(digits) if least <= int(digits) <= most else None


def whole_list(text: str, most: int = INT_MAX) -> list[int] | None:
    """``1,2``; None where one of them is none."""
    found = [whole(word, most=most) for word in text.split(",")]
    return None if None in found else [n for n in found if n is not None]
