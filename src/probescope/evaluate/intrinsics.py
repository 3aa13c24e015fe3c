"""The pure intrinsics of ``ir/intrinsics.py`` as Python functions: ``(call, argument values) -> value``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probescope.evaluate.arithmetic import byte_swap, text, to_bytes
from probescope.ir.expr import Call
from probescope.model.types import Array, String, Type, is_integer

AF_INET, AF_INET6 = 2, 10

Intrinsic = Callable[[Call, tuple[Any, ...]], Any]


def _raw(value: Any, t: Type) -> bytes:
    """A value as the bytes it has in memory: for functions that take arrays, buffers or texts alike."""
    if isinstance(value, tuple):
        return b"".join(to_bytes(v, t.element) for v in value) if isinstance(t, Array) else b""
    if isinstance(value, bytes):
        return value
    return to_bytes(value, t)


def _first(a: bytes, b: bytes, n: int) -> bool:
    return a.ljust(n, b"\0")[:n] == b.ljust(n, b"\0")[:n]


def _strncmp(_c: Call, v: tuple[Any, ...]) -> int:
    n = v[2]
    return 0 if text(v[0])[:n] == text(v[1])[:n] else 1


def _memcmp(c: Call, v: tuple[Any, ...]) -> int:
    return 0 if _first(_raw(v[0], c.args[0].type), _raw(v[1], c.args[1].type), v[2]) else 1


def _strstr(_c: Call, v: tuple[Any, ...]) -> int:
    return text(v[0]).find(text(v[1]))


def _strcat(c: Call, v: tuple[Any, ...]) -> bytes:
    size = c.type.size if isinstance(c.type, String) else 0
    return (text(v[0]) + text(v[1]))[:size]


def _matches(c: Call, v: tuple[Any, ...]) -> bool:
    from probescope.model.automaton import nfa_of

    return nfa_of(c.name, v[1]).matches(text(v[0]))


def _inet(c: Call, v: tuple[Any, ...]) -> bytes:
    family, address = v
    raw = _raw(address, c.args[1].type)
    want = {AF_INET: 4, AF_INET6: 16}.get(family, 0)
    return raw[:want] if len(raw) >= want else b""


def _array(c: Call, v: tuple[Any, ...]) -> tuple[int, ...]:
    count = c.type.count if isinstance(c.type, Array) else 0
    return tuple(v[0].ljust(count, b"\0")[:count])


def _bswap(c: Call, v: tuple[Any, ...]) -> int:
    return byte_swap(v[0], c.type) if is_integer(c.type) else v[0]


PURE: dict[str, Intrinsic] = {
    "strlen": lambda _c, v: len(text(v[0])),
    "strncmp": _strncmp,
    "strstr": _strstr,
    "strcontains": lambda _c, v: text(v[1]) in text(v[0]),
    "strglob": _matches,
    "strmatch": _matches,
    "strcat": _strcat,
    "strcap": lambda _c, v: text(v[0])[: v[1]],
    "memcmp": _memcmp,
    "bswap": _bswap,
    "inet4": lambda c, v: _raw(v[0], c.args[0].type)[:4],
    "inet6": lambda c, v: _raw(v[0], c.args[0].type)[:16],
    "inet": _inet,
    "mac": lambda c, v: _raw(v[0], c.args[0].type)[:6],
    "array_of": _array,
}
