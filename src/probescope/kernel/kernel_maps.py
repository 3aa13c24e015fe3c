"""Where the kernel's own code lies: its text and its modules, as recordings tell it. Sources: /proc/kallsyms,
/proc/modules (kernel/module/procfs.c)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from probescope.frozen import dataclass
from probescope.kernel.host import host

_CHUNK = 1 << 18
_MOST = 1 << 26


@dataclass(frozen=True, slots=True)
class KernelMap:
    """``offset`` of the kernel's text is the address of the symbol that ends ``path``: a reader finds out by it how far
    another kernel has moved."""

    start: int
    size: int
    offset: int
    path: str


def kernel_maps() -> list[KernelMap]:
    """Empty where kptr_restrict hides addresses from us."""
    found = _marks()
    start = found.get("_text") or found.get("_stext")
    end = found.get("_etext")
    if not start or not end or end <= start:
        return []
    name = "_text" if found.get("_text") else "_stext"
    return [KernelMap(start, end - start, start, f"[kernel.kallsyms]{name}"), *_modules()]


def _marks() -> dict[str, int]:
    """Addresses of the symbols that bound the text, read only as far as the last of them."""
    wanted = ("_text", "_stext", "_etext")
    found: dict[str, int] = {}
    h = host()
    try:
        fd = h.open("/proc/kallsyms")
    except OSError:
        return found
    try:
        rest, total = b"", 0
        while "_etext" not in found and total < _MOST and (data := h.read(fd, _CHUNK)):
            total += len(data)
            rest += data
            for name in wanted:
                at = rest.find(b" " + name.encode() + b"\n")
                if name not in found and at >= 0:
                    line = rest[rest.rfind(b"\n", 0, at) + 1 : at]
                    found[name] = int(line.split(b" ", 1)[0], 16)
            rest = rest[rest.rfind(b"\n") + 1 :]
    except (OSError, ValueError):
        return {}
    finally:
        h.close(fd)
    return found


def _modules() -> Iterator[KernelMap]:
    """Lines ``name size uses users state address``; the address is 0 without privileges."""
    try:
        text = host().read_text("/proc/modules", 1 << 22)
    except OSError:
        return
    files: dict[str, str] | None = None
    for line in text.splitlines():
        parts = line.split()
        try:
            name, size, address = parts[0], int(parts[1]), int(parts[5], 16)
        except (IndexError, ValueError):
            continue
        if address:
            files = _module_files() if files is None else files
            page = host().page_size
            yield KernelMap(address, (size + page - 1) // page * page, 0, files.get(name, f"[{name}]"))


def _module_files() -> dict[str, str]:
    """Path of each module's file, from the list that depmod keeps."""
    folder = f"/lib/modules/{host().release}"
    out: dict[str, str] = {}
    for file in ("modules.dep", "modules.builtin"):
        try:
            text = host().read_text(f"{folder}/{file}", 1 << 24)
        except OSError:
            continue
        for line in text.splitlines():
            path = line.partition(":")[0].strip()
            name = os.path.basename(path).partition(".ko")[0].replace("-", "_")
            if name and ":" in line:
                out.setdefault(name, path if path.startswith("/") else f"{folder}/{path}")
    return out
