"""Bare names to paths: ``libc`` and ``libc.so.6`` through /etc/ld.so.cache, ``bash`` through PATH.

    ld.so.cache   0                      20      24           28     32             48
                  glibc-ld.so.cache1.1   count   string size  flags  extension, -   entries of 24 bytes, strings
    entry         0      4     8      12         16
                  flags  name  path   osversion  hwcap          (name and path: offsets from the magic)

A cache of the old kind ("ld.so-1.7.0") may stand before it. Source: sysdeps/generic/dl-cache.h of glibc 2.36.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from probescope.debuginfo.elf_source import FileSource
from probescope.debuginfo.locate import in_root
from probescope.errors import ElfError

MAGIC = b"glibc-ld.so.cache1.1"
CACHE = "/etc/ld.so.cache"
MAX_CACHE = 1 << 26
FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
# flags of entries: low byte 3 is "libc6 ELF", the next one the kind of machine
_MACHINE_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}


class Library(NamedTuple):
    """``name`` is the soname; ``hwcap`` not 0: only for some processors (glibc-hwcaps)."""

    name: str
    path: str
    flags: int
    hwcap: int


def parse_cache(data: bytes) -> list[Library]:
    """The entries, in order; empty for what is not such a cache. Entries with offsets outside are left out."""
    start = data.find(MAGIC)
    if start < 0 or start + 48 > len(data):
        return []
    order = ">" if data[start + 28] & 3 == 3 else "<"  # 2: little endian, 3: big, 0: not said, before 2.33
    (count,) = struct.unpack_from(order + "I", data, start + 20)
    count = min(count, (len(data) - start - 48) // 24)
    out = []
    for row in struct.iter_unpack(order + "iIIIQ", data[start + 48 : start + 48 + 24 * count]):
        flags, name, path, _, hwcap = row
        texts = _cstring(data, start + name), _cstring(data, start + path)
        if all(texts):
            out.append(Library(*texts, flags, hwcap))
    return out


def _cstring(data: bytes, at: int) -> str:
    end = data.find(b"\0", at, at + 4096) if at < len(data) else -1
    return os.fsdecode(data[at:end]) if end >= 0 else ""


def find_library(name: str, machine: str = "x86_64", root: str = "") -> list[str]:
    """Paths, as inside ``root``, of the libraries that a bare name may mean: best first, empty if there is none.

    ``libc.so.6`` means that soname, ``libc`` the newest ``libc.so.N``. Variants for some processors come last."""
    try:
        source = FileSource(in_root(root, CACHE))
        data = source.read(0, min(source.size, MAX_CACHE))
        source.close()
    except ElfError:
        data = b""
    wanted = _MACHINE_FLAGS.get(machine)
    entries = [e for e in parse_cache(data) if wanted is None or e.flags & 0xFFFF == wanted]
    found = pick(name, entries)
    return found or _search(name, root)


def pick(name: str, entries: Iterable[Library]) -> list[str]:
    matching = [e for e in entries if _version(name, e.name) is not None]
    matching.sort(key=lambda e: (e.hwcap != 0, _Newest(_version(name, e.name) or ())))
    return list(dict.fromkeys(e.path for e in matching))


class _Newest(tuple[int, ...]):
    """Sorts greater versions first."""

    __slots__ = ()

    def __lt__(self, other: tuple[int, ...]) -> bool:
        return tuple(self) > tuple(other)


def _version(name: str, soname: str) -> tuple[int, ...] | None:
    """Numbers after ``name.so.``; () for the very name; ``None`` if ``soname`` is another library."""
    if soname in (name, f"{name}.so"):
        return ()
    m = re.fullmatch(re.escape(name.removesuffix(".so")) + r"\.so((?:\.\d{1,9})+)", soname)
    return tuple(map(int, m[1][1:].split("."))) if m else None


def _search(name: str, root: str) -> list[str]:
    """Without a cache (musl, or an image that was never booted): the folders that every loader trusts."""
    if "/" in name or not name:
        return []
    found = []
    for folder in FOLDERS:
        try:
            names = os.listdir(in_root(root, folder))
        except OSError:
            continue
        found += [Library(n, f"{folder}/{n}", 0, 0) for n in names if n.startswith(name[:3])]
    return pick(name, found)


def find_program(name: str, search: str | None = None, root: str = "") -> str:
    """Path of a program by the folders of ``search`` (the environment's PATH if not given); empty if not found."""
    folders = (os.environ.get("PATH", "") if search is None else search) or "/usr/bin:/bin:/usr/sbin:/sbin"
    for folder in folders.split(":"):
        path = f"{folder.rstrip('/')}/{name}"
        real = in_root(root, path)
        if folder.startswith("/") and os.path.isfile(real) and (root or os.access(real, os.X_OK)):
            return path
    return ""


def find_binary(name: str, machine: str = "x86_64", root: str = "") -> list[str]:
    """What a probe's target may mean: a path as it is, a library, a program; empty if nothing is there."""
    if "/" in name:
        return [name] if os.path.exists(in_root(root, os.path.abspath(name))) else []
    looks: Sequence[str] = find_library(name, machine, root) if name.startswith("lib") or ".so" in name else ()
    program = find_program(name, root=root)
    return [*looks, *([program] if program else [])]
