"""Where the kernel's own code lies: its text and its modules, as recordings tell it. Sources: /proc/kallsyms,
/proc/modules (kernel/module/procfs.c)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from probescope.frozen import dataclass
from probescope.kernel.host import host

_HEAD = 1 << 16
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
    for text in _kallsyms():
        name = next((n for n in ("_text", "_stext") if _address(text, n)), "")
        start = _address(text, name) if name else 0
        end = start + _code_size() if start and _code_size() else _address(text, "_etext")
        if start and end > start:
            return [KernelMap(start, end - start, start, f"[kernel.kallsyms]{name}"), *_modules()]
    return []


def _kallsyms() -> Iterator[bytes]:
    """What is wanted is among the first lines, if /proc/iomem tells the rest; all takes the kernel 50 ms to write."""
    h = host()
    try:
        yield h.read_head("/proc/kallsyms", _HEAD)
        yield h.read_bytes("/proc/kallsyms", _MOST)
    except OSError:
        return


def _address(text: bytes, name: str) -> int:
    """0 if it is not there, or hidden."""
    at = text.find(b" " + name.encode("utf-8", "surrogateescape") + b"\n")
    line = text[text.rfind(b"\n", 0, at) + 1 : at] if at >= 0 else b"0"
    try:
        return int(line.split(b" ", 1)[0], 16)
    except ValueError:
        return 0


def _code_size() -> int:
    """From _text to _etext on x86-64: ``01000000-02276507 : Kernel code``, zeros without privileges. 0 if not told."""
    h = host()
    if h.machine != "x86_64":
        return 0
    try:
        text = h.read_text("/proc/iomem", 1 << 20)
    except OSError:
        return 0
    line = next((x for x in text.splitlines() if x.endswith(": Kernel code")), "")
    low, _, high = line.partition(" : ")[0].strip().partition("-")
    try:
        size = int(high, 16) - int(low, 16) + 1
    except ValueError:
        return 0
    return size if size > 1 else 0


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


def loaded_modules() -> dict[str, str]:
    """Paths of the files that loaded modules come from, by name; empty without modules. Needs no privileges."""
    try:
        text = host().read_text("/proc/modules", 1 << 22)
    except OSError:
        return {}
    names = [line.split(" ", 1)[0] for line in text.splitlines() if line]
    files = _module_files() if names else {}
    return {name: files[name] for name in names if name in files}
