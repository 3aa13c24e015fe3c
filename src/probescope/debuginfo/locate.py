"""Separate debug files: by build-id and by .gnu_debuglink, also inside the root of another mount namespace.

    /usr/lib/debug/.build-id/ab/cdef0123....debug                        the name is the build-id
    /usr/bin/x.debug  /usr/bin/.debug/x.debug  /usr/lib/debug/usr/bin/x.debug      the name is in .gnu_debuglink of x

Source: GDB manual, "Debugging Information in Separate Files".
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from probescope.debuginfo.elf import ElfFile
from probescope.errors import ElfError

DEBUG_DIRS = ("/usr/lib/debug",)
_MAX_LINKS = 40
_MAX_CRC = 1 << 32
_CHUNK = 1 << 20


class HasDebugFiles(Protocol):
    """A binary, as ``debuginfo.binary`` has it."""

    path: str
    root: str
    elf: ElfFile
    debug_dirs: tuple[str, ...]


def in_root(root: str, path: str) -> str:
    """Where ``path`` of a mount namespace lies for us, ``root`` being ``/proc/PID/root`` or any folder; "" is our own.

    Links are followed inside that root: the kernel would follow absolute ones from our own. More than 40 of them, or a
    name that is not there, end the walk: then the rest is appended as it is."""
    if root in {"", "/"}:
        return path
    todo = [p for p in reversed(path.split("/")) if p and p != "."]
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            done = done[:-1]
            continue
        target = _readlink("/".join((root, *done, part))) if links < _MAX_LINKS else ""
        if target:
            links += 1
            done = [] if target.startswith("/") else done
            todo += [p for p in reversed(target.split("/")) if p and p != "."]
        else:
            done.append(part)
    return "/".join((root, *done))


def mapped_file(root: str, path: str, inode: int) -> str:
    """Where the file of a mapping lies for us. perf tells ``path`` as the process sees it; /proc/PID/maps tells it from
    our own root where our mounts lead there, as to the files of a process that did chroot(2). The inode decides."""
    inner = in_root(root, path)
    if inner == path or not inode or _inode(inner) == inode:
        return inner
    return path if _inode(path) == inode else inner


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except (OSError, ValueError):
        return 0


def _readlink(path: str) -> str:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return ""


def debug_file(elf: ElfFile, path: str, root: str = "", dirs: Sequence[str] = DEBUG_DIRS) -> ElfFile | None:
    """The opened debug file of an ELF file, with the same build-id or, where that cannot be compared, the CRC that
    .gnu_debuglink asks for; ``None`` if there is none. ``path`` is as inside ``root``."""
    try:
        build_id, link = elf.build_id(), elf.debuglink()
    except ElfError:
        return None
    for candidate in _candidates(path, build_id, link[0] if link else "", dirs):
        found = _open(in_root(root, candidate))
        if found is None:
            continue
        if _belongs(found, build_id, link[1] if link else None):
            return found
        found.close()
    return None


def stranger(binary: HasDebugFiles) -> str:
    """Why a binary that has no debug file may still seem to have one: what lies where it is looked for is of another
    build, or is not there though the binary names it. "" where nothing is to be said."""
    try:
        build_id, link = binary.elf.build_id(), binary.elf.debuglink()
    except ElfError:
        return ""
    name = link[0] if link else ""
    for candidate in _candidates(binary.path, build_id, name, binary.debug_dirs):
        found = _open(in_root(binary.root, candidate))
        if found is None:
            continue
        try:
            theirs, same = found.build_id(), _belongs(found, build_id, link[1] if link else None)
        except ElfError:
            continue
        finally:
            found.close()
        if not same:
            told = f"build-id {theirs[:12]}..., not {build_id[:12]}..." if theirs and build_id else "its CRC differs"
            return f"{candidate} is of another build ({told})"
    return f"it names {name}, which is not found" if name else ""


def _candidates(path: str, build_id: str, link: str, dirs: Sequence[str]) -> Iterator[str]:
    if len(build_id) > 2:
        for d in dirs:
            yield f"{d}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    folder = os.path.dirname(os.path.abspath(path))
    name = link or os.path.basename(path) + ".debug"
    if link:
        if os.path.join(folder, link) != path:
            yield f"{folder}/{link}"
        yield f"{folder}/.debug/{link}"
        for d in dirs:
            yield f"{d}{folder}/{link}"
    for d in dirs:
        if d not in DEBUG_DIRS:  # folders that the user named
            yield f"{d}/{name}"


def _open(path: str) -> ElfFile | None:
    try:
        return ElfFile.open(path)
    except ElfError:
        return None


def _belongs(debug: ElfFile, build_id: str, crc: int | None) -> bool:
    try:
        theirs = debug.build_id()
        if build_id and theirs:
            return build_id == theirs
        return crc is not None and crc32(debug) == crc
    except ElfError:
        return False


def crc32(elf: ElfFile) -> int:
    """Of the whole file, as .gnu_debuglink has it (the CRC of zlib). Raises ElfError if it cannot be read."""
    source, crc = elf.source, 0
    if source.size > _MAX_CRC:
        raise ElfError(f"more than {_MAX_CRC} bytes are not checked", file=source.name)
    for at in range(0, source.size, _CHUNK):
        crc = zlib.crc32(source.read(at, min(_CHUNK, source.size - at)), crc)
    return crc
