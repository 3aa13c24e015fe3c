"""C++, Rust and Go names as people write them. What does not demangle comes back as it is.

_ZN3foo3barEi             foo::bar(int)
_ZN4core3fmt5write17h0123456789abcdefE     core::fmt::write            (Rust, legacy; the hash is cut)
_RNvCs1234_7mycrate3foo   mycrate::foo                                 (Rust, v0)
f.isra.0                  f [clone .isra.0]
gopkg.in/yaml%2ev3.Load   gopkg.in/yaml.v3.Load          (Go: what cmd/internal/objabi escapes in import paths)
"""

from __future__ import annotations

MAX_NAME = 1 << 14
"""Characters of a mangled name that is looked at: longer ones come back as they are."""
_MAX_KNOWN = 1 << 14
_known: dict[str, str] = {}


def demangle(name: str) -> str:
    """The demangled name; ``name`` itself if it is not mangled, malformed, or beyond a limit. Never raises."""
    if not is_mangled(name) or len(name) > MAX_NAME:
        return name
    found = _known.get(name)
    if found is None:
        found = _demangle(name)
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[name] = found
    return found


def is_mangled(name: str) -> bool:
    """Whether it may be; cheap, since it is asked of every symbol."""
    return name.startswith(("_Z", "__Z", "_R", "__R", "___Z", "_GLOBAL_")) or "%2e" in name or "%22" in name


def _go(name: str) -> str:
    """What objabi.PathToPrefix escapes: dots behind the last slash of a path, quotes, percent signs, what is no
    ASCII."""
    raw = name.encode("utf-8", "surrogateescape")
    out, at = bytearray(), 0
    while at < len(raw):
        digits = raw[at + 1 : at + 3]
        if raw[at] == 0x25 and len(digits) == 2 and _HEX.issuperset(digits):
            out.append(int(digits, 16))
            at += 3
        else:
            out.append(raw[at])
            at += 1
    return out.decode("utf-8", "surrogateescape")


_HEX = frozenset(b"0123456789abcdef")


def _demangle(name: str) -> str:
    if "%" in name and not name.startswith("_"):
        return _go(name)
    from probescope.debuginfo.rust_names import legacy, v0

    if name.startswith("_GLOBAL_"):
        return (_global(name) if len(name) > 11 else "") or name
    plain = name.lstrip("_")
    if plain.startswith("R"):
        return v0("_" + plain) or name
    return legacy(name) or itanium(name) or name


def itanium(name: str) -> str:
    """A C++ name, with its clones (``.isra.0``) and version; empty if it is none."""
    from probescope.debuginfo.itanium import Parser
    from probescope.debuginfo.itanium_nodes import Malformed, text_of

    start = name.find("_Z")
    if start < 0 or name[:start].strip("_"):
        return ""
    body, version, rest = name[start + 2 :].partition("@")
    core, clones = _cut_clones(body)
    try:
        text = text_of(Parser(core).whole())
    except (Malformed, RecursionError, IndexError):
        return ""
    return text + clones + version + rest


def _global(name: str) -> str:
    """``_GLOBAL__I_x``: what runs before or after main for a file, named by something in it."""
    if name[8] not in "_.$" or name[9] not in "ID" or name[10] != "_":
        return ""
    kind = "constructors" if name[9] == "I" else "destructors"
    return f"global {kind} keyed to {demangle(name[11:])}"


def _cut_clones(body: str) -> tuple[str, str]:
    """``f.isra.0.cold`` -> (``f``, `` [clone .isra.0] [clone .cold]``): a dot, a word, and numbers that follow it."""
    core, *parts = body.split(".")
    clones: list[str] = []
    for part in parts:
        if part.isdigit() and clones:
            clones[-1] += f".{part}"
        else:
            clones.append(f".{part}")
    return core, "".join(f" [clone {c}]" for c in clones)


def without_parameters(text: str) -> str:
    """``void ns::f<int>(char) const`` -> ``ns::f<int>``: no parameters, no qualifiers, no result of a template."""
    import re

    # signs of operators are no brackets; the masked text has the same length
    signs = r"operator(<=>|->\*?|<<=?|>>=?|<=?|>=?|\(\))( (?=<))?"
    mask = re.sub(signs, lambda m: "operator".ljust(len(m[0]), "_"), text)
    end = _before_parameters(mask)
    word = max(mask.find(w, 0, end) for w in ("operator ", 'operator"" '))  # operator new, operator unsigned long
    depth = 0
    for i in range((word if word >= 0 else end) - 1, -1, -1):
        depth += (mask[i] in ">)}") - (mask[i] in "<({")
        if mask[i] == " " and depth == 0:
            return text[i + 1 : end]
    return text[:end]


def _before_parameters(mask: str) -> int:
    """Where the parameters of a function begin, not those of one that it is in: ``f(int)::{lambda(int)#1}::g(int)``."""
    depth, found = 0, len(mask)
    for i, c in enumerate(mask):
        if c == "(" and depth == 0 and not mask.startswith("(anonymous namespace)", i):
            found = i if found == len(mask) else found
        depth += (c in "<({") - (c in ">)}")
        if depth == 0 and c == ")" and mask.startswith(_LOCAL, i + 1):
            found = len(mask)
    return found


_LOCAL = ("::", " const::", " volatile::", " &::", " &&::")
