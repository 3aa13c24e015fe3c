"""Where zstd comes from: Python has it since 3.14, before that the same module is a package."""

from __future__ import annotations

import sys
from typing import Any

from probescope.errors import FormatError


def zstd() -> Any:
    """The module. Raises FormatError where there is none."""
    from importlib import import_module

    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ModuleNotFoundError:
        hints = ["pip install backports.zstd"]
        raise FormatError("zstd needs the Python package backports.zstd", section="compressed", hints=hints) from None
