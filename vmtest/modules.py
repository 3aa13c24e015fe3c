"""Which module files, in which order, so that a kernel can mount its root: read from the modules' own .modinfo.

No depmod, no modprobe: a bare machine may have neither. The order is that of insmod, what is needed first comes first.
"""

from __future__ import annotations

import lzma
import re
import subprocess
from pathlib import Path

from vmtest.errors import VmtestError

#: For a root over 9p below an overlay, and a PCI bus to find it on.
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
SUFFIX = re.compile(r"\.ko(\.xz|\.zst|\.gz)?$")
# .modinfo holds NUL-separated key=value texts; "depends=" stands once in each module, a list of names
DEPENDS = re.compile(rb"(?:^|\0)depends=([^\0]*)\0")


def canonical(name: str) -> str:
    """A module's name as the kernel says it: files may use dashes where names have underscores."""
    return name.replace("-", "_")


def contents(path: Path) -> bytes:
    """A module's bytes, decompressed: insmod of busybox takes plain ones only."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        import gzip

        return gzip.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
    return data


def ordered(modules: Path, wanted: tuple[str, ...] = BOOT_MODULES) -> list[tuple[str, bytes]]:
    """Name and bytes of each wanted module and what it depends on, in the order of loading. Built-in ones are left out.

    Raises VmtestError for a module that is neither there nor built in.
    """
    files = {canonical(SUFFIX.sub("", p.name)): p for p in (modules / "kernel").rglob("*.ko*") if SUFFIX.search(p.name)}
    listing = modules / "modules.builtin"
    lines = listing.read_text().splitlines() if listing.exists() else []
    builtin = {canonical(SUFFIX.sub("", Path(line).name)) for line in lines}
    out: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in out or name in builtin:
            return
        if name not in files:
            raise VmtestError(f"the kernel has no module {name}, which booting needs: is this a cloud flavour?")
        data = contents(files[name])
        match = DEPENDS.search(data)
        for needed in match[1].decode().split(",") if match else []:
            if needed:
                add(canonical(needed))
        out[name] = data

    for name in wanted:
        add(canonical(name))
    return list(out.items())
