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
        """A module's BTF object; the caller closes it."""
        if not module or module == VMLINUX:
            return None
        from probescope.kernel.bpf_btf import kernel_btf

        return kernel_btf(module)
