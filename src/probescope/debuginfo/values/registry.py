"""Printers for types, by their names: those that users add to the ones that are built in.

    @probescope.printer("shop::Money")
    def money(v):
        return f"{int(v['cents']) / 100:.2f} {v['currency'].text()}"

A name without template arguments stands for all instances; ``*`` and ``?`` are a glob.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TypeVar

from probescope.debuginfo.values.value import Value

Print = Callable[[Value], object]
F = TypeVar("F", bound=Print)
_PRINTERS: dict[str, Print] = {}


def printer(name: str) -> Callable[[F], F]:
    """Registers the function that it decorates for values of a type; what it returns is their text."""

    def keep(function: F) -> F:
        _PRINTERS[name] = function
        return function

    return keep


def find(name: str) -> Print | None:
    """For a type's name: exactly that one, then without template arguments, then globs."""
    if not _PRINTERS or not name:
        return None
    found = _PRINTERS.get(name) or _PRINTERS.get(name.partition("<")[0])
    if found is None:
        found = next((p for n, p in _PRINTERS.items() if ("*" in n or "?" in n) and fnmatchcase(name, n)), None)
    return found


def forget() -> None:
    """All of them."""
    _PRINTERS.clear()
