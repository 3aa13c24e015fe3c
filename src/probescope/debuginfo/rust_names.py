"""Rust names: the legacy mangling, which looks like C++, and v0 (RFC 2603). Hashes and disambiguators are not shown.

_ZN4core3ptr13drop_in_place17h0123456789abcdefE                          core::ptr::drop_in_place
_ZN45_$LT$T$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE    <T as core::fmt::Display>::fmt
_RNvMs_Cs1_5cratePReE3run                                                <*const &str>::run
"""

from __future__ import annotations

from probescope.debuginfo.rust_v0 import V0Malformed, V0Parser

_HEX = frozenset("0123456789abcdef")
_ESCAPES = {
    "SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ",",
}  # fmt: skip


def legacy(name: str) -> str:
    """Empty if it is not such a name: one whose last element is ``h`` and 16 hexadecimal digits."""
    start = name.find("_ZN") + 3
    if start < 3 or name[: start - 3].strip("_"):
        return ""
    parts: list[str] = []
    at = start
    while at < len(name) and name[at] != "E":
        digits = at
        while at < len(name) and name[at] in "0123456789":
            at += 1
        length = int(name[digits:at]) if 0 < at - digits < 6 else 0
        if not length or at + length >= len(name):
            return ""
        parts.append(name[at : at + length])
        at += length
    rest = name[at + 1 :]
    known = len(parts) > 1 and len(parts[-1]) == 17 and parts[-1][0] == "h" and _HEX.issuperset(parts[-1][1:])
    if not known or (rest and not rest.startswith((".", "@"))):
        return ""
    return "::".join(_unescape(p) for p in parts[:-1]) + _suffix(rest)


def _suffix(rest: str) -> str:
    """``.llvm.123`` is of no interest; others are shown as they are."""
    return "" if rest.startswith(".llvm.") else rest


def _unescape(part: str) -> str:
    if part.startswith("_$"):
        part = part[1:]
    out = ""
    while part:
        if part[0] == "$" and (end := part.find("$", 1)) > 0 and (text := _escape(part[1:end])):
            out, part = out + text, part[end + 1 :]
        elif part.startswith(".."):
            out, part = out + "::", part[2:]
        else:
            cut = next((i for i, c in enumerate(part[1:], 1) if c in "$."), len(part))
            out, part = out + part[:cut], part[cut:]
    return out


def _escape(code: str) -> str:
    """What stands between two ``$``; empty if it is no escape."""
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code[:1] == "u" and 1 < len(code) <= 7 and _HEX.issuperset(code[1:]):
        value = int(code[1:], 16)
        char = chr(value) if value < 0x110000 else ""
        return char if char.isprintable() else ""
    return ""


def v0(name: str) -> str:
    """``_R...``; empty if it is malformed."""
    try:
        return V0Parser(name[2:]).whole()
    except (V0Malformed, RecursionError, IndexError):
        return ""
