"""The smallest BTF of our own: type 1 is int, 2 is long, 3 a function without arguments, 4 and 5 functions of that
type."""

from __future__ import annotations

import struct

from probescope.kernel.bpf import btf_load
from probescope.kernel.fds import Fd

_INT, _FUNC_PROTO, _FUNC = 1, 13, 12
MAIN, CALLBACK = 4, 5


def own_btf() -> Fd:
    """Loads it. Raises KernelError."""
    strings = b"\0int\0long\0main\0callback\0"

    def at(name: bytes) -> int:
        return strings.index(b"\0" + name + b"\0") + 1

    types = (
        struct.pack("=IIII", at(b"int"), _INT << 24, 4, 1 << 24 | 32)  # signed, 32 bits
        + struct.pack("=IIII", at(b"long"), _INT << 24, 8, 1 << 24 | 64)
        + struct.pack("=III", 0, _FUNC_PROTO << 24, 1)
        + struct.pack("=III", at(b"main"), _FUNC << 24 | 1, 3)  # vlen 1: global linkage
        + struct.pack("=III", at(b"callback"), _FUNC << 24, 3)
    )
    header = struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return btf_load(header + types + strings, name="try")
