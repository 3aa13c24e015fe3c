"""Modules that machine code is made of where that is possible: docs/decisions/0014-compiled-loops.md."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def compiled(name: str, room: str = "formats") -> ModuleType | None:
    """A module below ``room``; None where nobody compiled it, or where librt is not, which such code needs."""
    try:
        module = import_module(f"probescope.{room}.{name}")
    except (ImportError, ValueError):  # ValueError: a librt of another age
        return None
    return None if str(module.__file__).endswith(".py") else module
