"""Numbers of BTF types on this machine, for programs that are loaded for a function or a tracepoint."""

from __future__ import annotations

from probescope.debuginfo.btf_blob import FUNC, TYPEDEF
from probescope.kernel.fds import Fd
from probescope.sources.kernel_btf import VMLINUX, functions

_KINDS = {"func": FUNC, "typedef": TYPEDEF}


class KernelBtf:
    """``execute.BtfIds``, over the one reading of the kernel's BTF that resolving probes has made."""

    def find(self, kind: str, name: str, module: str = "") -> int:
        found = functions(module)
        return 0 if found is None else found.btf.find(name, _KINDS[kind])

    def object_fd(self, module: str) -> Fd | None:
        """A module's BTF object, found among all by its name."""
        if not module or module == VMLINUX:
            return None
        from probescope.kernel.bpf import object_fd, object_ids

        for number in object_ids("btf"):
            fd = object_fd("btf", number)
            if fd is None:
                continue
            if _name(fd) == module:
                return fd
            fd.close()
        return None


def _name(fd: Fd) -> str:
    """``struct bpf_btf_info``: btf@0 btf_size@8 id@12 name@16 name_len@24; the name is written where ``name``
    points."""
    import struct

    from probescope.kernel.bpf import object_info
    from probescope.kernel.host import host

    text = bytearray(64)
    object_info(fd, 64, struct.pack("=QIIQI", 0, 0, 0, host().address(text), len(text)))
    return text.split(b"\0", 1)[0].decode("ascii", "replace")
