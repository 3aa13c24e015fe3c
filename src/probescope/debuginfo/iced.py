"""The decoder of x86 instructions: the package iced-x86, which is asked for when there is something to decode."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from probescope.errors import UsageError


def iced() -> Any:
    """Its module. Raises UsageError where it is not installed."""
    try:
        return import_module("iced_x86")
    except ModuleNotFoundError:
        hints = ["pip install 'probescope[disasm]'"]
        raise UsageError("decoding instructions needs the Python package iced-x86", hints=hints) from None
