"""Texts of events nobody has described: ``name=value`` and ``name: value``, as most of the kernel's are written.

comm=bash pid=1234 prio=120 target_cpu=001           dfd: 0xffffffffffffff9c, filename: 0x7f01, flags: 0x80000
(do_sys_open+0x0/0x80) a=0x1 name="x y"              prev_comm=a prev_pid=1 ==> next_comm=b next_pid=2
"""

from __future__ import annotations

import re
from itertools import islice

MOST_FIELDS = 64
_PAIR = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,63})(?:=|: )")
_NUMBER = re.compile(r"-?\d{1,20}|-?0[xX][0-9a-fA-F]{1,16}")
_ADDRESS = re.compile(r"[0-9a-f]{16}")
_AFTER = re.compile(r"(?:\[[\w%]{1,8}\]|==>|->)$")
_UNITS = re.compile(r"(-?\d{1,20}) ?(?:\[?(?:ns|us|ms)\]?|bytes|pages)")


def pairs(text: str) -> dict[str, str]:
    """In order; of a name that comes twice the first."""
    found = list(islice(_PAIR.finditer(text), MOST_FIELDS))
    out: dict[str, str] = {}
    for i, one in enumerate(found):
        following = found[i + 1] if i + 1 < len(found) else None
        value = text[one.end() : following.start() if following else len(text)]
        if not following or value[-1:].isspace() or value[-1:] in ",;({[":
            out.setdefault(one[1], _trimmed(value))
    if text.startswith("("):  # of a dynamic probe: where it is
        place = re.match(r"\(([^()\s]{1,256})\)", text)
        if place:
            out.setdefault("__probe_ip", place[1])
    return out


def _trimmed(value: str) -> str:
    """Without what stands between two fields: units, arrows, commas."""
    for _ in range(4):
        value = value.rstrip(" \t\n,;({")
        cut = _AFTER.search(value[-12:])
        if not cut or len(value) <= cut.end() - cut.start():
            break
        value = value[: cut.start() - cut.end()]
    return value


def number(text: str) -> int | None:
    """What a value is, if it is a number."""
    if _NUMBER.fullmatch(text):
        sign = -1 if text[0] == "-" else 1
        digits = text.lstrip("-")
        return sign * (int(digits, 16) if digits[:2] in {"0x", "0X"} else int(digits))
    if _ADDRESS.fullmatch(text):
        return int(text, 16)
    unit = _UNITS.fullmatch(text)
    return int(unit[1]) if unit else None


def address(text: str) -> int | None:
    """Of a pointer: hexadecimal, with 0x or without."""
    if text in {"(nil)", "(null)"}:
        return 0
    try:
        return int(text, 16) if len(text) <= 18 else None
    except ValueError:
        return None
