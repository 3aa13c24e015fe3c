"""BPF programs that are loaded already, as the records of their loading.

    KSYMBOL     u64 address  u32 length  u16 type (1: BPF)  u16 flags  name
    BPF_EVENT   u16 type (1: loaded)  u16 flags  u32 id  u8 tag[8]

Names are the kernel's: ``bpf_prog_``, the tag, and the function's name by BTF, or the program's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from probescope.debuginfo.btf import Btf
from probescope.errors import BtfError, KernelError
from probescope.formats.perfdata import records as r
from probescope.kernel import bpf_functions
from probescope.kernel.bpf_functions import Code, Functions

_OF_BPF, _LOADED = 1, 1
_MOST_NAME = 511  # KSYM_NAME_LEN of include/linux/kallsyms.h
Body = tuple[int, bytes]
"""Number of the record, and what stands between its header and its trailer."""


def bodies() -> Iterator[Body]:
    """Nothing where they may not be asked for."""
    try:
        for code in bpf_functions.code():
            names = _names(code.functions)
            for i, (address, length, tag) in enumerate(code.places):
                name = f"bpf_prog_{tag.hex()}"
                own = names[i] if i < len(names) else code.name
                name += f"_{own}" if own else ""
                yield r.KSYMBOL, struct.pack("=QIHH", address, length, _OF_BPF, 0) + _padded(name)
            yield r.BPF_EVENT, _loaded(code)
    except KernelError:
        return


def _loaded(code: Code) -> bytes:
    return struct.pack("=HHI8s", _LOADED, 0, code.program, code.tag)


def _names(found: Functions | None) -> list[str]:
    if found is None:
        return []
    try:
        btf = Btf.parse(bpf_functions.btf_bytes(found.btf), name=f"BTF object {found.btf}")
        return [btf.name_of(t) for t in found.types]
    except (BtfError, KernelError):
        return []


def _padded(name: str) -> bytes:
    raw = name.encode("utf-8", "replace")[:_MOST_NAME] + b"\0"
    return raw + bytes(-len(raw) % 8)
