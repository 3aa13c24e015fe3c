"""BPF maps: made, read whole in batches, read and written by key.

Keys and values are bytes of exactly ``key_size`` and ``value_size``; the value of a per-CPU map is a row of slots, one
for each possible CPU, each rounded up to 8 bytes. A dump is two buffers in the same order, without gaps::

    keys    |k0|k1|k2|...
    values  |v0|v1|v2|...
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

from probescope.errors import KernelError
from probescope.frozen import dataclass
from probescope.kernel import bpf as _bpf
from probescope.kernel.fds import Fd
from probescope.kernel.host import Buffer, FdLike, Mapping, host
from probescope.kernel.uapi import bpf as u

ENOTSUPP = 524  # the kernel's own, which has no name in user space
_NO_BATCH = frozenset((errno.EINVAL, errno.EOPNOTSUPP, ENOTSUPP))
_BATCH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Entries:
    """``count`` keys and values, packed one after the other; the value of a per-CPU map is its row of slots."""

    count: int
    key_size: int
    value_bytes: int
    keys: memoryview
    values: memoryview

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        k, v = self.key_size, self.value_bytes
        for i in range(self.count):
            yield bytes(self.keys[i * k : i * k + k]), bytes(self.values[i * v : i * v + v])


class Map(Fd):
    """One map. All methods raise KernelError unless they say otherwise."""

    __slots__ = ("key_size", "max_entries", "type", "value_bytes", "value_size")

    def __init__(self, number: int, type_: int, key_size: int, value_size: int, max_entries: int, what: str) -> None:
        super().__init__(number, what)
        self.type = type_
        self.key_size = key_size
        self.value_size = value_size
        self.max_entries = max_entries
        self.value_bytes = value_size
        if type_ in u.PERCPU_MAP_TYPES:
            from probescope.kernel.machine import possible_cpus

            self.value_bytes = (value_size + 7) // 8 * 8 * len(possible_cpus())

    # --- by key
    # --------------------------------------------------------------------------------------------------------

    def lookup(self, key: bytes, *, delete: bool = False) -> bytes | None:
        """The value, or None. ``delete`` takes it out in the same step (hashes from 5.14; queues and stacks with an
        empty key)."""
        h = host()
        value = bytearray(self.value_bytes)
        command = u.BPF_MAP_LOOKUP_AND_DELETE_ELEM if delete else u.BPF_MAP_LOOKUP_ELEM
        return bytes(value) if self._element(command, key, h.address(value)) else None

    def update(self, key: bytes, value: bytes, flags: int = u.BPF_ANY) -> None:
        self._check(value, self.value_bytes)
        if not self._element(u.BPF_MAP_UPDATE_ELEM, key, host().address(value), flags):
            raise KernelError(_bpf.call_name(u.BPF_MAP_UPDATE_ELEM), errno.ENOENT, where=self.what)

    def delete(self, key: bytes) -> bool:
        """False if there was no such key."""
        return self._element(u.BPF_MAP_DELETE_ELEM, key, 0)

    def next_key(self, key: bytes | None) -> bytes | None:
        """The key after ``key`` (None: the first), or None at the end."""
        h = host()
        following = bytearray(self.key_size)
        attr = bytearray(
            struct.pack("=I4xQQQ", self.fileno(), h.address(key) if key is not None else 0, h.address(following), 0)
        )
        try:
            _bpf.bpf(u.BPF_MAP_GET_NEXT_KEY, attr)
        except OSError as e:
            if e.errno == errno.ENOENT:
                return None
            raise self._error(u.BPF_MAP_GET_NEXT_KEY, e) from None
        return bytes(following)

    def keys(self) -> Iterator[bytes]:
        """One by one. A key deleted meanwhile makes the kernel start over: at most ``max_entries`` steps are taken."""
        key = self.next_key(None)
        left = self.max_entries
        while key is not None and left > 0:
            yield key
            key = self.next_key(key)
            left -= 1

    # --- whole
    # ---------------------------------------------------------------------------------------------------------

    def dump(self, *, delete: bool = False) -> Entries:
        """Everything in it, 100,000 entries in some 50 ms; with ``delete`` each is taken out as it is read (not for
        arrays). Falls back to key by key where the kernel has no batches for this type."""
        try:
            return self._dump_batch(u.BPF_MAP_LOOKUP_AND_DELETE_BATCH if delete else u.BPF_MAP_LOOKUP_BATCH)
        except OSError as e:
            if e.errno not in _NO_BATCH:
                raise self._error(u.BPF_MAP_LOOKUP_BATCH, e) from None
        return self._dump_by_key(delete)

    def clear(self) -> None:
        """Deletes every key; values of an array become zeros."""
        if self.type in {u.BPF_MAP_TYPE_ARRAY, u.BPF_MAP_TYPE_PERCPU_ARRAY}:
            zero = bytes(self.value_bytes)
            for i in range(self.max_entries):
                self.update(struct.pack("=I", i), zero)
            return
        self.dump(delete=True)

    def update_all(self, values: bytes) -> None:
        """Writes every value of an array, one after the other: in one call, or, before "bpf: Add generic support for
        update and delete batch ops" (5.6), one by one."""
        count, size = self.max_entries, self.value_bytes
        self._check(values, count * size)
        h = host()
        keys = struct.pack(f"={count}I", *range(count))
        attr = bytearray(struct.pack("=QQQQIIQQ", 0, 0, h.address(keys), h.address(values), count, self.fileno(), 0, 0))
        try:
            _bpf.bpf(u.BPF_MAP_UPDATE_BATCH, attr)
        except OSError as e:
            if e.errno not in _NO_BATCH:
                raise self._error(u.BPF_MAP_UPDATE_BATCH, e) from None
            for i in range(count):
                self.update(keys[4 * i : 4 * i + 4], values[i * size : i * size + size])

    def freeze(self) -> None:
        """No more writes from user space: the verifier may then read constants out of it."""
        _bpf.bpf_or_advice(u.BPF_MAP_FREEZE, bytearray(struct.pack("=I4x", self.fileno())))

    def mmap(self, *, write: bool = True) -> Mapping:
        """The values of an array made with BPF_F_MMAPABLE, 8-byte slots in one block of whole pages."""
        page = host().page_size
        size = (self.value_size + 7) // 8 * 8 * self.max_entries
        try:
            return host().mmap(self.fileno(), (size + page - 1) // page * page, write=write)
        except OSError as e:
            from probescope.kernel.advice import kernel_error

            raise kernel_error("mmap(array)", e.errno or 0, self.what) from None

    def info(self) -> MapInfo:
        return map_info(self)

    # --- inside
    # --------------------------------------------------------------------------------------------------------

    def _check(self, data: Buffer, size: int) -> None:
        # a short buffer would let the kernel read past its end
        if len(data) != size:
            raise ValueError(f"{self.what}: {len(data)} bytes given, {size} wanted")

    def _element(self, command: int, key: bytes, value_address: int, flags: int = 0) -> bool:
        self._check(key, self.key_size)
        # map_fd@0 key@8 value@16 flags@24
        attr = bytearray(struct.pack("=I4xQQQ", self.fileno(), host().address(key), value_address, flags))
        try:
            _bpf.bpf(command, attr)
        except OSError as e:
            if e.errno == errno.ENOENT:
                return False
            raise self._error(command, e) from None
        return True

    def _error(self, command: int, e: OSError) -> KernelError:
        from probescope.kernel.advice import kernel_error

        return kernel_error(_bpf.call_name(command), e.errno or 0, self.what)

    def _dump_batch(self, command: int) -> Entries:
        chunk = max(1, min(self.max_entries, _BATCH_BYTES // max(1, self.key_size + self.value_bytes)))
        parts: list[tuple[memoryview, memoryview]] = []
        token = b""
        while True:
            count, token, keys, values, chunk = self._batch(command, token, chunk)
            parts.append((memoryview(keys)[: count * self.key_size], memoryview(values)[: count * self.value_bytes]))
            if not token:
                break
        keys_all = parts[0][0] if len(parts) == 1 else memoryview(b"".join(p[0] for p in parts))
        values_all = parts[0][1] if len(parts) == 1 else memoryview(b"".join(p[1] for p in parts))
        return Entries(len(keys_all) // self.key_size, self.key_size, self.value_bytes, keys_all, values_all)

    def _batch(self, command: int, token: bytes, chunk: int) -> tuple[int, bytes, bytearray, bytearray, int]:
        """One batch after ``token``: (count, next token or nothing at the end, keys, values, chunk). ENOSPC says that
        one bucket of the hash alone has more entries than the buffer."""
        h = host()
        following = bytearray(max(8, self.key_size))
        while True:
            keys, values = bytearray(chunk * self.key_size), bytearray(chunk * self.value_bytes)
            # in_batch@0 out_batch@8 keys@16 values@24 count@32 map_fd@36 elem_flags@40 flags@48
            attr = bytearray(
                struct.pack(
                    "=QQQQIIQQ",
                    h.address(token),
                    h.address(following),
                    h.address(keys),
                    h.address(values),
                    chunk,
                    self.fileno(),
                    0,
                    0,
                )
            )
            try:
                _bpf.bpf(command, attr)
            except OSError as e:
                if e.errno == errno.ENOENT:
                    return struct.unpack_from("=I", attr, 32)[0], b"", keys, values, chunk
                if e.errno != errno.ENOSPC or chunk > 1 << 20:
                    raise
                chunk *= 2
                continue
            return struct.unpack_from("=I", attr, 32)[0], bytes(following), keys, values, chunk

    def _dump_by_key(self, delete: bool) -> Entries:
        keys: list[bytes] = []
        values: list[bytes] = []
        for key in list(self.keys()):
            value = self.lookup(key)
            if value is not None:
                keys.append(key)
                values.append(value)
                if delete:
                    self.delete(key)
        return Entries(
            len(keys), self.key_size, self.value_bytes, memoryview(b"".join(keys)), memoryview(b"".join(values))
        )


def map_create(
    type_: int,
    key_size: int,
    value_size: int,
    max_entries: int,
    *,
    flags: int = 0,
    name: str = "",
    btf: FdLike | None = None,
    key_btf: int = 0,
    value_btf: int = 0,
    inner: FdLike | None = None,
    vmlinux_value_btf: int = 0,
    extra: int = 0,
) -> Map:
    """Makes a map. Sizes in bytes; ``btf`` with the type numbers of key and value, where the kind of map or
    pretty-printing wants it. Raises KernelError."""
    # map_type@0 key_size@4 value_size@8 max_entries@12 map_flags@16 inner_map_fd@20 numa_node@24 map_name@28
    # map_ifindex@44 btf_fd@48 btf_key_type_id@52 btf_value_type_id@56 btf_vmlinux_value_type_id@60 map_extra@64
    attr = bytearray(
        struct.pack(
            "=IIIIIII16sIIIIIQ",
            type_,
            key_size,
            value_size,
            max_entries,
            flags,
            inner.__index__() if inner is not None else 0,
            0,
            _bpf.object_name(name),
            0,
            btf.__index__() if btf is not None else 0,
            key_btf,
            value_btf,
            vmlinux_value_btf,
            extra,
        )
    )
    kind = u.MAP_TYPES[type_] if type_ < len(u.MAP_TYPES) else str(type_)
    number = _bpf.create(u.BPF_MAP_CREATE, attr, map_type=kind, max_entries=max_entries, value_size=value_size)
    return Map(number, type_, key_size, value_size, max_entries, f"map:{name or kind}")


@dataclass(frozen=True, slots=True)
class MapInfo:
    id: int
    type: str
    key_size: int
    value_size: int
    max_entries: int
    flags: int
    name: str
    btf_id: int


def map_info(fd: FdLike) -> MapInfo:
    # type@0 id@4 key_size@8 value_size@12 max_entries@16 map_flags@20 name@24 ifindex@40 ... btf_id@64
    raw = _bpf.object_info(fd, 104)
    kind, number, key_size, value_size, max_entries, flags = struct.unpack_from("=6I", raw)
    return MapInfo(
        number,
        u.MAP_TYPES[kind] if kind < len(u.MAP_TYPES) else str(kind),
        key_size,
        value_size,
        max_entries,
        flags,
        raw[24:40].split(b"\0", 1)[0].decode("ascii", "replace"),
        struct.unpack_from("=I", raw, 64)[0],
    )
