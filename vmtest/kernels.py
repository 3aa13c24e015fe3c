"""The kernels that can be booted, and where things about them are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from vmtest.errors import VmtestError


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel by the name that people use, and the Debian suite and package that bring it.

    The package is the one that depends on the newest image: versions leave the mirrors, so none is written down here.
    Cloud flavours lack 9p and cannot be used. ``fragment``: compiled here, from the package's source with this file's
    configuration (compiled.py).
    """

    name: str
    suite: str
    package: str = "linux-image-amd64"
    note: str = ""
    fragment: str = ""


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("5.10", "bullseye", note="before BPF links on perf events"),
        Kernel("6.1", "bookworm", note="part of make test"),
        Kernel("6.12", "trixie", note="part of make test"),
        Kernel("6.12-rt", "trixie", "linux-image-rt-amd64", note="has the osnoise, timerlat, hwlat and wakeup tracers"),
        Kernel(
            "6.12-all",
            "trixie",
            "linux-source",
            note="compiled here: every tracer, also irqsoff and preemptoff, user_events, values that functions return",
            fragment="tracers.config",
        ),
        Kernel("sid", "sid", note="the newest that Debian has"),
    )
}


def named(name: str) -> Kernel:
    try:
        return KERNELS[name]
    except KeyError:
        raise VmtestError(f"no kernel is called {name!r}; there are {', '.join(KERNELS)}") from None


def cache() -> Path:
    """The folder for packages, unpacked kernels and the lock; ``PROBESCOPE_VMTEST_CACHE`` moves it."""
    chosen = os.environ.get("PROBESCOPE_VMTEST_CACHE")
    base = (
        Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "probescope/vmtest"
    )
    base.mkdir(parents=True, exist_ok=True)
    return base.resolve()
