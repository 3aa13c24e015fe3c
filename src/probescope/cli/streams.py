"""Standard streams that were closed before we started (``probescope ... >&-``)."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Puts /dev/null in their places, so that nothing that we open later (a BPF map) is taken for our output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # Python says so where the descriptor is closed
            fd = os.open(os.devnull, os.O_RDWR)  # the lowest free number: this very stream's
            setattr(sys, name, os.fdopen(fd, mode))
