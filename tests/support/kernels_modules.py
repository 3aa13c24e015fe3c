"""Modules of the kernel in a virtual machine: loaded without modprobe, which a bare machine may lack."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Mapping
from pathlib import Path

from vmtest.modules import ordered

INIT_MODULE = 175  # x86-64


def load(names: tuple[str, ...], parameters: Mapping[str, str]) -> None:
    """Modules and what they depend on; ``parameters`` by name of the module, as on the command line of insmod."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name, data in ordered(Path("/lib/modules") / os.uname().release, names):
        code = libc.syscall(
            ctypes.c_long(INIT_MODULE), data, ctypes.c_ulong(len(data)), parameters.get(name, "").encode()
        )
        if code < 0 and ctypes.get_errno() != errno.EEXIST:
            raise OSError(ctypes.get_errno(), f"loading {name}")
