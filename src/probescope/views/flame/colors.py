"""Colours of frames. A name has the same colour in every picture.

What a frame is can be read from the mark at its name's end, as folded text has it: ``_[k]`` kernel, ``_[i]`` inlined,
``_[j]`` compiled while running.
"""

from __future__ import annotations

import zlib

HUES = {"k": (24, 36), "i": (170, 190), "j": (100, 130), "": (0, 55)}
"""Range of hues in degrees for each mark."""


def mark(name: str) -> str:
    """``k``, ``i``, ``j`` or empty."""
    return name[-2] if len(name) > 4 and name.endswith("]") and name[-4:-2] == "_[" and name[-2] in HUES else ""


def warm(name: str) -> str:
    low, high = HUES[mark(name)]
    # a module's or a namespace's functions look alike: most of the hue comes from the name's beginning
    hue = low + (high - low) * _unit(name[:6]) * 0.7 + (high - low) * _unit(name) * 0.3
    return f"hsl({hue:.0f},{70 + 20 * _unit(name[::-1]):.0f}%,{58 + 10 * _unit(name):.0f}%)"


def change(delta: float, greatest: float) -> str:
    """Red for more, blue for less, white for as before; as deep as ``delta`` is against ``greatest``."""
    if not greatest or not delta:
        return "hsl(0,0%,96%)"
    depth = min(1.0, abs(delta) / greatest) ** 0.5
    return f"hsl({0 if delta > 0 else 220},80%,{96 - 40 * depth:.0f}%)"


def _unit(text: str) -> float:
    """A number in [0, 1] that depends on the text alone."""
    return (zlib.crc32(text.encode("utf-8", "surrogatepass")) & 0xFFFF) / 0xFFFF
