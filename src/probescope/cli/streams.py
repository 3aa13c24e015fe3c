"""Standard streams that were closed before we started (``probescope ... >&-``)."""

from __future__ import annotations

import os
import sys


def color_wanted() -> bool:
    """Whether messages on standard error are coloured. BPFTRACE_COLOR (always, never, auto) comes before NO_COLOR;
    another value is told once, and is auto."""
    asked = os.environ.get("BPFTRACE_COLOR", "auto")
    if asked not in ("always", "never", "auto"):
        sys.stderr.write(f"WARNING: BPFTRACE_COLOR is '{asked}': it can be auto, always or never\n")
        os.environ["BPFTRACE_COLOR"] = asked = "auto"
    if asked != "auto":
        return asked == "always"
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def open_closed_streams() -> None:
    """Puts /dev/null in their places, so that nothing that we open later (a BPF map) is taken for our output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # Python says so where the descriptor is closed
            fd = os.open(os.devnull, os.O_RDWR)  # the lowest free number: this very stream's
            setattr(sys, name, os.fdopen(fd, mode))
