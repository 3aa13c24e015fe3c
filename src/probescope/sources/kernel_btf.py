"""The kernel's own types and functions, loaded when first asked for and remembered with the host.

Split BTF of a module goes on where that of vmlinux ends, so a module's types know the kernel's.
"""

from __future__ import annotations

import os

from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_cache import load
from probescope.debuginfo.btf_funcs import BtfFunctions
from probescope.debuginfo.btf_types import BtfTypes
from probescope.debuginfo.elf import ElfFile
from probescope.errors import BtfError, ElfError
from probescope.kernel import machine
from probescope.kernel.host import host

_FOLDER = "/sys/kernel/btf/"
VMLINUX = "vmlinux"
VARIABLE = "BPFTRACE_BTF"


def modules() -> list[str]:
    """Modules that bring BTF of their own, without vmlinux."""
    return [n for n in machine.btf_names() if n != VMLINUX]


def functions(module: str = VMLINUX) -> BtfFunctions | None:
    """Functions of the kernel or of a module; ``None`` if the kernel has no BTF of it. Raises ``BtfError``."""
    cache = host().cache.setdefault("kernel_btf", {})
    module = module or VMLINUX
    if module not in cache:
        cache[module] = _load(module)
    found = cache[module]
    assert found is None or isinstance(found, BtfFunctions)
    return found


def types(module: str = VMLINUX) -> BtfTypes | None:
    """The kernel's (or a module's) types as a ``TypeTable``; ``None`` without BTF. Raises ``BtfError``. Those of the
    file that the user names, if any: what programs are attached to is still the running kernel's."""
    named = os.environ.get(VARIABLE, "")
    if named and module == VMLINUX:
        cache = host().cache.setdefault("named_btf", {})
        if named not in cache:
            cache[named] = BtfTypes(_of_file(named))
        given = cache[named]
        assert isinstance(given, BtfTypes)
        return given
    found = functions(module)
    return found.types if found else None


def _of_file(path: str) -> Btf:
    """Raw, or the section .BTF of a vmlinux."""
    try:
        with ElfFile.open(path) as elf:
            data = elf.section_data(".BTF") if elf.section(".BTF") is not None else b""
    except ElfError:
        return load(path)
    if not data:
        raise BtfError("there is no section .BTF", file=path)
    return Btf.parse(data, name=path)


def _load(module: str) -> BtfFunctions | None:
    if module not in machine.btf_names():
        return None
    base = functions() if module != VMLINUX else None
    try:
        return BtfFunctions(BtfTypes(load(_FOLDER + module, base.btf if base else None)))
    except BtfError:
        if module == VMLINUX:
            raise
        return None  # the module went away, or was built for another vmlinux: as good as none
