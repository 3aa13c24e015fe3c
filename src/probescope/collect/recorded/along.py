"""Stacks of addresses, with the kernel's marks between them, made into something of each address, which is remembered:
most addresses of a stack were in another one before.

    user mark  0x401136  0x401180              what is known of the process's addresses, one after the other
    kernel mark  0xffffffff81..  user mark  0x401136     the kernel's first
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Generic, TypeVar

from probescope.collect.recorded.stacks import CONTEXT, CONTEXTS
from probescope.kernel.uapi.perf import PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER

T = TypeVar("T")
_KERNEL = -2
"""The kernel's addresses among those of address spaces."""
KERNEL_MARK, USER_MARK = PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER


class Along(Generic[T]):
    """``make``: from (space, address, whether it is the kernel's); asked once for each."""

    def __init__(self, make: Callable[[int, int, bool], tuple[T, ...]]) -> None:
        self._make = make
        self._known: dict[int, dict[int, tuple[T, ...]]] = {}  # by space, then by address

    def of(self, space: int, addresses: tuple[int, ...]) -> list[T]:
        """Of all of them, in their order."""
        user, kernel = self._known.setdefault(space, {}), self._known.setdefault(_KERNEL, {})
        try:
            return _made_before(user, kernel, addresses)
        except KeyError:  # it holds an address that is new, or marks of other kinds
            pass
        out: list[T] = []
        known = user
        for a in addresses:
            if a >= CONTEXT:
                known = kernel if CONTEXTS.get(a, "").endswith("kernel") else user
                if known is user:
                    user[a] = ()  # nothing; and what follows is the process's
                continue
            found = known.get(a)
            if found is None:
                found = known[a] = self._make(space, a, known is kernel)
            out += found
        return out


def _made_before(
    user: Mapping[int, tuple[T, ...]], kernel: Mapping[int, tuple[T, ...]], addresses: tuple[int, ...]
) -> list[T]:
    """Of a stack of the process, or of the kernel and then the process, without a step of Python for each address.
    Raises KeyError for all others, and where not all is known."""
    if addresses[:1] != (KERNEL_MARK,):
        return list(chain.from_iterable(map(user.__getitem__, addresses)))
    end = addresses.index(USER_MARK) if USER_MARK in addresses else len(addresses)
    inner = chain.from_iterable(map(kernel.__getitem__, addresses[1:end]))
    return [*inner, *chain.from_iterable(map(user.__getitem__, addresses[end:]))]
