"""Sizes and signs of the types that casts in print formats name."""

from __future__ import annotations

_FIXED = {
    "char": (1, True),
    "bool": (1, False),
    "_Bool": (1, False),
    "short": (2, True),
    "int": (4, True),
    "pid_t": (4, True),
    "dev_t": (4, False),
    "gfp_t": (4, False),
    "uid_t": (4, False),
    "gid_t": (4, False),
    "umode_t": (2, False),
    "loff_t": (8, True),
    "sector_t": (8, False),
    "blkcnt_t": (8, False),
    "ktime_t": (8, True),
    "time64_t": (8, True),
    "dma_addr_t": (8, False),
    "phys_addr_t": (8, False),
    "uint": (4, False),
}
_LONG = {"long": True, "size_t": False, "ssize_t": True, "uintptr_t": False, "ulong": False, "off_t": True}
_QUALIFIERS = {"const", "volatile", "__user", "__kernel", "__rcu", "register"}
WORDS = {"unsigned", "signed", "struct", "union", "enum", "void", *_FIXED, *_LONG, *_QUALIFIERS}


def size_of(names: list[str], long_size: int) -> tuple[int, bool]:
    """(bytes, signed) of a type without pointers; 0 bytes where it is not known."""
    words = [n for n in names if n not in _QUALIFIERS]
    if not words or words[0] in {"struct", "union", "void"}:
        return 0, False
    if words[0] == "enum":
        return 4, False
    unsigned, last = "unsigned" in words, [w for w in words if w not in {"unsigned", "signed"}]
    if last.count("long") == 2:
        return 8, not unsigned
    if "short" in last:
        return 2, not unsigned
    name = last[-1] if last else "int"
    if name == "int" and "long" in last:
        name = "long"
    if name in _LONG:
        return long_size, _LONG[name] and not unsigned
    if name in _FIXED:
        size, signed = _FIXED[name]
        return size, signed and not unsigned
    return _by_name(name)


def _by_name(name: str) -> tuple[int, bool]:
    """``u32``, ``__be16``, ``uint64_t``: the number in the name is the bits."""
    plain = name.strip("_").removesuffix("_t")
    kind = plain.rstrip("0123456789")
    bits = plain[len(kind) :]
    if bits in {"8", "16", "32", "64"} and kind in {"u", "s", "uint", "int", "be", "le", "u_int"}:
        return int(bits) // 8, kind in {"s", "int"}
    return 0, False
