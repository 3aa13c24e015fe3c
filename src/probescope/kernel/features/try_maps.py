"""``map:``: each type made with sizes that suit it, and what maps can be asked to do."""

from __future__ import annotations

import struct
from collections.abc import Callable

from probescope.kernel import bpf as _bpf
from probescope.kernel.bpf_map import Map, map_create
from probescope.kernel.features.answer import No
from probescope.kernel.features.own_btf import own_btf
from probescope.kernel.host import host
from probescope.kernel.uapi import bpf as u

# key size, value size, entries, flags
_SIZES: dict[str, tuple[int, int, int, int]] = {
    "hash": (8, 8, 4, 0),
    "percpu_hash": (8, 8, 4, 0),
    "lru_hash": (8, 8, 4, 0),
    "lru_percpu_hash": (8, 8, 4, 0),
    "stack_trace": (4, 8 * 4, 4, 0),
    "lpm_trie": (8, 8, 4, u.BPF_F_NO_PREALLOC),
    "queue": (0, 8, 4, 0),
    "stack": (0, 8, 4, 0),
    "bloom_filter": (0, 8, 4, 0),
    "ringbuf": (0, 0, 0, 0),  # entries: one page
    "user_ringbuf": (0, 0, 0, 0),
    "arena": (0, 0, 1, u.BPF_F_MMAPABLE),
    "prog_array": (4, 4, 4, 0),
    "perf_event_array": (4, 4, 4, 0),
    "cgroup_array": (4, 4, 4, 0),
}
_OTHER = (4, 8, 4, 0)
_LOCAL_STORAGE = frozenset(("task_storage", "inode_storage", "sk_storage", "cgrp_storage"))
_MAPS_OF_MAPS = frozenset(("array_of_maps", "hash_of_maps"))


def attempt(name: str) -> None:
    what = name.partition(":")[2]
    special = _SPECIAL.get(what)
    if special:
        special()
    elif what in u.MAP_TYPE_IDS and what != "unspec":
        _create(what).close()
    else:
        raise No("no such map type")


def _create(what: str, flags: int = 0, *, entries: int = 0) -> Map:
    type_ = u.MAP_TYPE_IDS[what]
    if what in _LOCAL_STORAGE:
        with own_btf() as btf:
            return map_create(type_, 4, 8, 0, flags=u.BPF_F_NO_PREALLOC, name="try", btf=btf, key_btf=1, value_btf=2)
    if what in _MAPS_OF_MAPS:
        with map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1) as inner:
            return map_create(type_, 4, 4, 4, name="try", inner=inner)
    key, value, count, usual = _SIZES.get(what, _OTHER)
    return map_create(type_, key, value, entries or count or host().page_size, flags=usual | flags, name="try")


def _with_flag(what: str, flag: int) -> Callable[[], None]:
    return lambda: _create(what, flag).close()


def _mmap() -> None:
    with _create("array", u.BPF_F_MMAPABLE) as m, m.mmap():
        pass


def _batch(what: str) -> Callable[[], None]:
    def go() -> None:
        with _create(what) as m:
            m.update(bytes(m.key_size), bytes(m.value_bytes))
            m._dump_batch(u.BPF_MAP_LOOKUP_BATCH)

    return go


def _lookup_and_delete() -> None:
    with _create("hash") as m:
        m.update(bytes(8), bytes(8))
        if m.lookup(bytes(8), delete=True) is None:
            raise No("a key that was there was not found")


def _one_cpu() -> None:
    # elem_flags: BPF_F_CPU with the CPU in the high half (6.19, "bpf: Add BPF_F_CPU and BPF_F_ALL_CPUS flags")
    with _create("percpu_array") as m:
        value, key, h = bytes(8), bytes(4), host()
        attr = struct.pack("=I4xQQQ", m.fileno(), h.address(key), h.address(value), u.BPF_F_CPU)
        _bpf.bpf(u.BPF_MAP_UPDATE_ELEM, bytearray(attr))


_SPECIAL: dict[str, Callable[[], None]] = {
    "mmap": _mmap,
    "batch": _batch("hash"),
    "percpu_batch": _batch("percpu_hash"),
    "lookup_and_delete": _lookup_and_delete,
    "stack_build_id": lambda: map_create(
        u.BPF_MAP_TYPE_STACK_TRACE, 4, 32 * 4, 4, flags=u.BPF_F_STACK_BUILD_ID
    ).close(),
    "ringbuf_overwrite": _with_flag("ringbuf", u.BPF_F_RB_OVERWRITE),
    "readonly": _with_flag("array", u.BPF_F_RDONLY_PROG),
    "percpu_one_cpu": _one_cpu,
}
