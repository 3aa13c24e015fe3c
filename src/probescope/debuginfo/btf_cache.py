"""Opens BTF files, and keeps where their types start, so that the next start of the program need not walk them.

    $XDG_CACHE_HOME/probescope/btf-KEY.idx
    0       8       12       16         20     24...
    magic   crc32   types    groups     words  the starts of all types, then of each group: kind, count, starts...

All words are native u32. KEY holds sizes and checksums of samples. The cache is a hint: a file that is not ours, cut,
altered, or that does not agree with the BTF at some hundred places is not used, and rewritten.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import struct
import zlib
from array import array
from collections.abc import Sequence

from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_blob import KINDS, MAX_BYTES, Index, Strings, parse_header
from probescope.errors import BtfError

_MAGIC = b"PSBTFi1\n"
_HEAD = struct.Struct("=8sIIII")
_SYSFS = "/sys/kernel/btf/"
_CHECKED = 256  # how many types are compared with the BTF
_SMALL = 20_000  # words; walking less than this is as fast as reading a cache


def load(path: str, base: Btf | None = None, *, cache: bool = True) -> Btf:
    """The BTF of a file such as /sys/kernel/btf/vmlinux. Raises BtfError if it cannot be read or is malformed."""
    types, strings = _read(path)
    if not cache or len(types) < _SMALL:
        return Btf(types, strings, base, name=path)
    file = _cache_file(types, strings)
    index = _load_index(file, types) if file else None
    btf = Btf(types, strings, base, name=path, index=index)
    if file and index is None:
        _save_index(file, types, btf.index)
    return btf


def _read(path: str) -> tuple[memoryview[int], Strings]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as e:
        raise BtfError(f"cannot open the file: {getattr(e, 'strerror', None) or e}", file=path) from e
    try:
        data = _map(fd, path) or _read_all(fd, path)
    except OSError as e:
        raise BtfError(f"cannot read the file: {e.strerror}", file=path) from e
    finally:
        os.close(fd)
    header = parse_header(data[:24], len(data), path)
    return header.words_of(memoryview(data)), header.strings_of(data, path)


def _read_all(fd: int, path: str) -> bytes:
    """Sysfs hands out a page a call, so the loop has to be the interpreter's own."""
    if os.fstat(fd).st_size > MAX_BYTES:
        raise BtfError(f"more than the {MAX_BYTES} bytes of BTF that are read", file=path)
    with os.fdopen(fd, "rb", buffering=0, closefd=False) as f:
        return f.readall()


def _map(fd: int, path: str) -> mmap.mmap | None:
    """Since 6.16 vmlinux can be mapped ("btf: Allow mmap of vmlinux btf"), which spares a copy of megabytes.
    Only files of sysfs are mapped: they cannot be cut meanwhile, which would mean SIGBUS."""
    size = os.fstat(fd).st_size
    if not path.startswith(_SYSFS) or not size:
        return None
    try:
        return mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None


# --- the cache --------------------------------------------------------------------------------------------------------


def cache_dir() -> str:
    """Our folder for things that can be computed again; empty if the user has no home."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(root):
        home = os.environ.get("HOME", "")
        root = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    return os.path.join(root, "probescope") if root else ""


def _cache_file(types: memoryview[int], strings: Strings) -> str:
    folder = cache_dir()
    if not folder:
        return ""
    spots = range(0, 1 << 32, 1 << 28)  # a fraction of each section, as 32 bits
    words = b"".join(types[len(types) * f >> 32 :][:1024].tobytes() for f in spots)
    names = b"".join(strings.piece(len(strings) * f >> 32, 4096) for f in spots)
    key = f"{len(types):x}-{len(strings):x}-{zlib.crc32(words):08x}{zlib.crc32(names):08x}"
    return os.path.join(folder, f"btf-{key}.idx")


def _load_index(file: str, types: memoryview[int]) -> Index | None:
    try:
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        st = os.fstat(fd)
        ours = stat.S_ISREG(st.st_mode) and st.st_uid == os.geteuid() and not st.st_mode & 0o022
        if not ours or st.st_size > 64 + 8 * len(types):
            return None
        index = _decode(os.pread(fd, st.st_size, 0), types)
    except OSError:
        return None
    finally:
        os.close(fd)
    return index if index is not None and _agrees(index, types) else None


def _decode(data: bytes, types: memoryview[int]) -> Index | None:
    if len(data) < _HEAD.size or len(data) % 4:
        return None
    magic, crc, count, groups, words = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :].cast("I")
    if magic != _MAGIC or words != len(types) or zlib.crc32(body) != crc or count > len(body):
        return None
    out: dict[int, Sequence[int]] = {}
    at = count
    for _ in range(groups):
        if at + 2 > len(body):
            return None
        kind, size = body[at], body[at + 1]
        out[kind] = body[at + 2 : at + 2 + size]
        at += 2 + size
    if at != len(body) or sum(map(len, out.values())) != count:
        return None
    return Index(body[:count], out)


def _agrees(index: Index, types: memoryview[int]) -> bool:
    """At some spots each type must end where the next begins, and be of the kind of its group."""
    starts, end = index.starts, len(types)
    try:
        for i in range(0, len(starts), len(starts) // _CHECKED + 1):
            info = types[starts[i] + 1]
            fixed, each = KINDS[(info >> 24) & 31]
            if starts[i] + fixed + each * (info & 0xFFFF) != (starts[i + 1] if i + 1 < len(starts) else end):
                return False
        return all(
            (types[at + 1] >> 24) & 31 == kind
            for kind, group in index.groups.items()
            for at in group[:: len(group) // 16 + 1]
        )
    except (IndexError, KeyError):
        return False


def _save_index(file: str, types: memoryview[int], index: Index) -> None:
    """Best effort: a read-only or full disk costs the next start some milliseconds, no more."""
    body = array("I", index.starts)
    for kind, group in index.groups.items():
        body.extend((kind, len(group)))
        body.extend(group)
    head = _HEAD.pack(_MAGIC, zlib.crc32(memoryview(body)), len(index.starts), len(index.groups), len(types))
    from probescope.kernel.wholefile import whole_file

    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        with whole_file(file, own=True) as out:
            out.write(head)
            out.write(memoryview(body))
