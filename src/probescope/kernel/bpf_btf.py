"""BTF objects that the kernel holds: its own, and one for each module. Attaching to a module's function needs a
descriptor."""

from __future__ import annotations

import struct

from probescope.frozen import dataclass
from probescope.kernel import bpf as _bpf
from probescope.kernel.fds import Fd
from probescope.kernel.host import FdLike, host

_NAME = 64


@dataclass(frozen=True, slots=True)
class BtfInfo:
    """``name``: ``vmlinux``, a module's name, or empty for BTF that a program brought. ``size`` in bytes."""

    id: int
    name: str
    size: int
    kernel: bool


def btf_info(fd: FdLike) -> BtfInfo:
    """Raises KernelError. Names: 5.11, "bpf: Add kernel module BTF support for CO-RE relocations"."""
    name = bytearray(_NAME)
    # btf@0 btf_size@8 id@12 name@16 name_len@24 kernel_btf@28
    raw = _bpf.object_info(fd, 32, struct.pack("=QIIQII", 0, 0, 0, host().address(name), _NAME, 0))
    size, number = struct.unpack_from("=II", raw, 8)
    text = name.split(b"\0", 1)[0].decode("ascii", "replace")
    return BtfInfo(number, text, size, bool(struct.unpack_from("=I", raw, 28)[0]))


def kernel_btf(name: str) -> Fd | None:
    """A descriptor of the BTF of ``vmlinux`` or of a loaded module; None if there is none. Raises KernelError."""
    for number in _bpf.object_ids("btf"):
        fd = _bpf.object_fd("btf", number)
        if fd is None:
            continue
        info = btf_info(fd)
        if info.kernel and info.name == name:
            return fd
        fd.close()
    return None
