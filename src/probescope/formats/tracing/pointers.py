"""What ``%p`` and letters make of bytes: hardware and internet addresses, UUIDs, hexadecimal dumps.

Source: Documentation/core-api/printk-formats.rst, lib/vsprintf.c; RFC 5952 for shortened IPv6 addresses.
"""

from __future__ import annotations

AF_INET, AF_INET6 = 2, 10
_UUID = range(16)
_GUID = (3, 2, 1, 0, 5, 4, 7, 6, *range(8, 16))
MAX_DUMP = 64  # bytes of %*ph, as for the kernel


def mac(data: bytes, letters: str) -> str:
    """``M`` with colons, ``MF`` with dashes, ``MR`` reversed, ``m`` without anything between."""
    if len(data) != 6:
        return "INVALIDMAC"
    octets = data[::-1] if letters.endswith("R") else data
    delimiter = "" if letters[0] == "m" else "-" if letters.endswith("F") else ":"
    return delimiter.join(f"{b:02x}" for b in octets)


def ip4(data: bytes, letters: str, big: bool) -> str:
    """``I4``, ``i4`` with leading zeros; ``h`` in the machine's byte order, ``l`` little-endian."""
    if len(data) != 4:
        return "INVALIDIPv4"
    order = letters[-1]
    octets = data[::-1] if order == "l" or (order == "h" and not big) else data
    return ".".join(f"{b:03d}" if letters[0] == "i" else str(b) for b in octets)


def ip6(data: bytes, letters: str) -> str:
    if len(data) != 16:
        return "INVALIDIPv6"
    if letters.endswith("c"):
        return _short(data)
    words = (f"{data[i]:02x}{data[i + 1]:02x}" for i in range(0, 16, 2))
    return ("" if letters[0] == "i" else ":").join(words)


def _short(data: bytes) -> str:
    """The longest run of two and more zero words as ``::``, the first one of equals; embedded IPv4 in its own way."""
    words = [data[i] << 8 | data[i + 1] for i in range(0, 16, 2)]
    mapped = not any(words[:5]) and words[5] == 0xFFFF
    isatap = (words[4] | 0x0200) == 0x0200 and words[5] == 0x5EFE
    count = 6 if mapped or isatap else 8
    start, length = _zeros(words[:count])
    parts = [f"{word:x}" for word in words[:count]]
    out = ":".join(parts) if start < 0 else ":".join(parts[:start]) + "::" + ":".join(parts[start + length :])
    if count == 6:
        out += ("" if out.endswith("::") else ":") + ".".join(str(b) for b in data[12:])
    return out


def _zeros(words: list[int]) -> tuple[int, int]:
    best, length, at = -1, 1, 0
    while at < len(words):
        end = at
        while end < len(words) and not words[end]:
            end += 1
        if end - at > length:
            best, length = at, end - at
        at = max(end, at + 1)
    return best, length


def socket_address(data: bytes, letters: str, big: bool) -> str:
    """``IS``: of either family; ``p`` with the port, ``c`` shortened. ``data`` begins with a sockaddr."""
    if len(data) < 2:
        return ""
    family = int.from_bytes(data[:2], "big" if big else "little")
    port = f"{int.from_bytes(data[2:4], 'big')}" if "p" in letters[2:] else ""
    if family == AF_INET:
        if len(data) < 16:
            return "INVALIDIPv4"
        order = letters[-1] if letters[-1] in "hnbl" else ""
        return ip4(data[4:8], letters[0] + "4" + order, big) + (f":{port}" if port else "")
    if family == AF_INET6:
        if len(data) < 28:
            return "INVALIDIPv6"
        address = ip6(data[8:24], letters[0] + "6" + ("c" if "c" in letters[2:] else ""))
        return f"[{address}]:{port}" if port else address
    return ""


def uuid(data: bytes, letters: str) -> str:
    if len(data) != 16:
        return "INVALIDUUID"
    order = _GUID if letters[-1] in "lL" else _UUID
    digits = "".join(f"{data[i]:02x}" for i in order)
    if letters[-1] in "LB":
        digits = digits.upper()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def dump(data: bytes, letters: str, count: int) -> str:
    """``h`` with spaces, ``hC`` colons, ``hD`` dashes, ``hN`` nothing between; at most ``count`` bytes."""
    delimiter = {"C": ":", "D": "-", "N": ""}.get(letters[-1], " ")
    return delimiter.join(f"{b:02x}" for b in data[: max(0, min(count, MAX_DUMP))])


def text(data: bytes, letters: str, big: bool, count: int = 1) -> str:
    """Bytes by the letters that follow ``%p``."""
    if letters[0] in "Mm":
        return mac(data, letters)
    if letters[0] == "U":
        return uuid(data, letters)
    if letters[0] == "h":
        return dump(data, letters, count)
    if letters[1] == "4":
        return ip4(data, letters, big)
    if letters[1] == "6":
        return ip6(data, letters)
    return socket_address(data, letters, big)
