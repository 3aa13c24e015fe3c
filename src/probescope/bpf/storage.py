"""A program's map as a kernel map, and back: which type, how keys and values lie in it, what its bytes mean.

One place decides and both sides ask it: the compiler (``Storage.spec``, offsets) and whoever reads or writes the map
from user space (``decode``, ``encode``).

    declared                     kernel map                       value
    without key                  array of one, addressed directly value, padding to 8, u64 "it was set"
    without key, aggregation     per-CPU array of one             words (bpf/words.py)
    with key                     hash                             value as model/abi.py lays it out
    with key, aggregation        per-CPU hash                     words

Keys are laid out by model/abi.py. Histograms under a key are one value with all buckets, not one key a bucket: a hit
costs one lookup either way, ``max_entries`` goes on meaning keys, and clearing one key is one deletion. Their memory is
taken as keys come (BPF_F_NO_PREALLOC) where it would be more than ``PREALLOC_LIMIT`` and the kernel's own allocator for
BPF makes that safe at any probe ("bpf: Introduce any context BPF specific memory allocator", 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from probescope.bpf.unit import MapSpec, Options
from probescope.bpf.words import Layout, layout, merged, updated
from probescope.errors import LimitError
from probescope.frozen import dataclass, field
from probescope.ir.program import MapDecl, Program
from probescope.model.abi import align_up, size_align
from probescope.model.codec import Bytes, Decoder, Encoder, decoder, encoder
from probescope.model.types import Agg, Type, TypeTable, is_integer, wrap

HASH, ARRAY, PERCPU_HASH, PERCPU_ARRAY, LRU_HASH, LRU_PERCPU_HASH = 1, 2, 5, 6, 9, 10
NO_PREALLOC = 1 << 0
MMAPABLE = 1 << 10

PREALLOC_LIMIT = 4 << 20
"""Bytes of preallocated values, over all CPUs, beyond which memory is taken as keys come."""

PERCPU_LIMIT = 32 << 10
"""The greatest per-CPU value that the kernel allocates: PCPU_MIN_UNIT_SIZE of include/linux/percpu.h."""

_KEYED = {"auto": HASH, "hash": HASH, "lruhash": LRU_HASH, "percpuhash": PERCPU_HASH, "percpulruhash": LRU_PERCPU_HASH}
_KEYED_AGG = {LRU_HASH: LRU_PERCPU_HASH, HASH: PERCPU_HASH}
_ONE = b"\0\0\0\0"  # the key of an array of one


@dataclass(frozen=True, slots=True)
class Storage:
    """A declared map in the kernel. A *row* is its value as bpf(2) reads and writes it: of a per-CPU map, one slot of
    ``slot`` bytes for each of ``cpus`` possible CPUs. ``shape`` None: not an aggregation. ``set_at``: offset of the
    u64 that says whether a map without key was set, -1 for other maps."""

    decl: MapDecl
    spec: MapSpec
    cpus: int
    shape: Layout | None
    set_at: int = -1
    types: TypeTable | None = field(default=None, compare=False, repr=False)

    @property
    def per_cpu(self) -> bool:
        return self.spec.per_cpu

    @property
    def slot(self) -> int:
        return align_up(self.spec.value_size, 8)

    @property
    def row_bytes(self) -> int:
        return self.slot * self.cpus if self.per_cpu else self.spec.value_size

    def codec(self) -> Codec:
        """Functions for this map, made once for many entries."""
        return Codec(self)


class Codec:
    """Turns the bytes of one map into values and back; values as in model/codec.py, states as in model/aggregate.py."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        decl = storage.decl
        self._key: Decoder | None = None if decl.key is None else decoder(decl.key, storage.types)
        self._encode_key: Encoder | None = None if decl.key is None else encoder(decl.key, storage.types)
        self._value = None if isinstance(decl.value, Agg) else decoder(decl.value, storage.types)
        self._encode = None if isinstance(decl.value, Agg) else encoder(decl.value, storage.types)

    def key(self, raw: Bytes) -> Any:
        """The key's value; ``None`` for a map without keys."""
        return None if self._key is None else self._key(raw, 0)

    def key_bytes(self, key: Any) -> bytes:
        return _ONE if self._encode_key is None else self._encode_key(key)

    def value(self, row: Bytes) -> Any:
        """The value or the merged state in a row; ``None``: a map without keys that was never set."""
        s = self.storage
        if s.shape is not None:
            return self._state(row, s.shape)
        if s.set_at >= 0 and not any(row[s.set_at : s.set_at + 8]):
            return None
        return self._plain_per_cpu(row) if s.per_cpu else self._decode(row, 0)

    def row(self, value: Any) -> bytes:
        """The whole row that holds ``value``: of a per-CPU aggregation, all of it as if the first CPU had seen it."""
        s = self.storage
        if s.shape is not None:
            words = s.shape.write(value)
            return _pack(words).ljust(s.row_bytes, b"\0")
        raw = self._encode_value(value)
        if s.set_at >= 0:
            return raw.ljust(s.set_at, b"\0") + (1).to_bytes(8, _order())
        if not s.per_cpu:
            return raw
        one = raw.ljust(s.slot, b"\0")
        return one.ljust(s.row_bytes, b"\0") if _summed(s.decl.value) else one * s.cpus

    def absent(self) -> bytes:
        """The row of a map without keys that was never set: what deleting writes."""
        return bytes(self.storage.row_bytes)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _decode(self, row: Bytes, at: int) -> Any:
        assert self._value is not None
        return self._value(row, at)

    def _encode_value(self, value: Any) -> bytes:
        assert self._encode is not None
        return self._encode(value)

    def _state(self, row: Bytes, shape: Layout) -> Any:
        agg = self.storage.decl.value
        assert isinstance(agg, Agg)
        words = memoryview(row).cast("B").cast("Q")
        rows: Sequence[Any] = [words[i : i + shape.words] for i in range(0, len(words), shape.words)]
        if self.storage.decl.key is None and not updated(shape, rows):
            return None
        return merged(agg, shape, rows)

    def _plain_per_cpu(self, row: Bytes) -> Any:
        """Integers are added up over the CPUs; of other values the first that is not all zero counts."""
        s = self.storage
        starts = range(0, len(row), s.slot)
        if _summed(s.decl.value):
            assert not isinstance(s.decl.value, Agg)
            return wrap(sum(self._decode(row, at) for at in starts), s.decl.value)
        at = next((i for i in starts if any(row[i : i + s.slot])), 0)
        return self._decode(row, at)


def _summed(t: Type | Agg) -> bool:
    return is_integer(t)


def _pack(words: Sequence[int]) -> bytes:
    import struct

    return struct.pack(f"={len(words)}Q", *[w & ((1 << 64) - 1) for w in words])


def _order() -> Any:
    import sys

    return sys.byteorder


# --- choosing ---------------------------------------------------------------------------------------------------------


def storages(program: Program, options: Options) -> dict[str, Storage]:
    """Every map of a program, by name."""
    return {m.name: storage(m, options) for m in program.maps}


def storage(decl: MapDecl, options: Options) -> Storage:
    """Raises LimitError for an aggregation too large for a per-CPU value."""
    key_size = 4 if decl.key is None else max(1, size_align(decl.key, options.types)[0])
    if isinstance(decl.value, Agg):
        shape = layout(decl.value, keyed=decl.key is not None)
        return _aggregation(decl, decl.value, shape, key_size, options)
    size = size_align(decl.value, options.types)[0]
    if decl.key is None:
        at = align_up(size, 8)
        spec = MapSpec(map_name(decl), "state", ARRAY, 4, at + 8, 1, MMAPABLE, decl.name)
        return Storage(decl, spec, options.cpus, None, at, options.types)
    kind = _KEYED[decl.kind]
    spec = _hash(decl, kind, key_size, max(1, size), options)
    return Storage(decl, spec, options.cpus, None, -1, options.types)


def _aggregation(decl: MapDecl, agg: Agg, shape: Layout, key_size: int, options: Options) -> Storage:
    size = shape.words * 8
    if size > PERCPU_LIMIT:
        raise LimitError(
            f"@{decl.name}: {agg.kind}() needs {size} bytes a key, the kernel allows {PERCPU_LIMIT}",
            hints=["use fewer or wider buckets"],
        )
    if decl.key is None:
        spec = MapSpec(map_name(decl), "state", PERCPU_ARRAY, 4, size, 1, 0, decl.name, True)
    else:
        kind = _KEYED[decl.kind]
        spec = _hash(decl, _KEYED_AGG.get(kind, kind), key_size, size, options)
    return Storage(decl, spec, options.cpus, shape, -1, options.types)


def _hash(decl: MapDecl, kind: int, key_size: int, value_size: int, options: Options) -> MapSpec:
    per_cpu = kind in {PERCPU_HASH, LRU_PERCPU_HASH}
    memory = decl.max_entries * (align_up(value_size, 8) * (options.cpus if per_cpu else 1) + key_size)
    lazily = memory > PREALLOC_LIMIT and kind in {HASH, PERCPU_HASH} and options.features.has("map:no_prealloc")
    flags = NO_PREALLOC if lazily else 0
    return MapSpec(map_name(decl), "state", kind, key_size, value_size, decl.max_entries, flags, decl.name, per_cpu)


def map_name(decl: MapDecl) -> str:
    """Of the kernel map, unique among those of a program: ``@`` keeps it apart from the compiler's own."""
    return f"@{decl.name}"


def read_counters(row: Bytes) -> list[int]:
    """The numbers in the one value of the counters map, in the order of ``Object.counters``."""
    return list(memoryview(row).cast("B").cast("Q"))
