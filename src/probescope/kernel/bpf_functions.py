"""Functions of the BPF programs that are loaded on this machine, whoever loaded them: what fentry can attach to.

A program brings the BTF of its functions; ``func_info`` says which of its types are the functions, in order. Source:
``struct bpf_prog_info`` and ``struct bpf_btf_info`` of include/uapi/linux/bpf.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from probescope.errors import KernelError
from probescope.frozen import dataclass
from probescope.kernel import bpf as _bpf
from probescope.kernel.fds import Fd
from probescope.kernel.host import host

MOST_FUNCTIONS = 4096
LARGEST_BTF = 64 << 20
_RECORD = struct.Struct("=II")  # struct bpf_func_info: insn_off, type_id
_BTF_ID, _RECORD_SIZE, _POINTER, _COUNT = 128, 132, 136, 144


@dataclass(frozen=True, slots=True)
class Functions:
    """``types``: ids in the BTF object ``btf``, of the program itself and then of those that it calls."""

    program: int
    btf: int
    types: tuple[int, ...]


def loaded(only: int = 0) -> Iterator[Functions]:
    """Of every program with BTF, or of the one with the id ``only``. Needs CAP_SYS_ADMIN. Raises KernelError."""
    for number in (only,) if only else _bpf.object_ids("prog"):
        fd = _bpf.object_fd("prog", number)
        if fd is not None:
            with fd:
                found = _functions(fd, number)
            if found is not None:
                yield found


def _functions(fd: Fd, number: int) -> Functions | None:
    try:
        raw = _bpf.object_info(fd, 232)
    except KernelError:
        return None  # one program that cannot be asked must not hide the others
    btf, size = struct.unpack_from("=II", raw, _BTF_ID)
    count = min(struct.unpack_from("=I", raw, _COUNT)[0], MOST_FUNCTIONS)
    if not btf or not count or size < _RECORD.size:
        return None
    records = bytearray(size * count)
    ask = bytearray(_COUNT + 4)
    struct.pack_into("=I", ask, _RECORD_SIZE, size)
    struct.pack_into("=QI", ask, _POINTER, host().address(records), count)
    _bpf.object_info(fd, 232, bytes(ask))
    return Functions(number, btf, tuple(_RECORD.unpack_from(records, at)[1] for at in range(0, len(records), size)))


def btf_bytes(number: int) -> bytes:
    """The BTF object with this id; empty if it is gone. Raises KernelError."""
    fd = _bpf.object_fd("btf", number)
    if fd is None:
        return b""
    with fd:
        size = struct.unpack_from("=I", _bpf.object_info(fd, 32), 8)[0]
        data = bytearray(min(size, LARGEST_BTF))
        _bpf.object_info(fd, 32, struct.pack("=QI", host().address(data), len(data)))
    return bytes(data)


@dataclass(frozen=True, slots=True)
class Code:
    """What the kernel made of a program: address, length and tag of each of its functions, the program itself first.
    ``name``: as it was loaded; ``functions``: those of them that have BTF."""

    program: int
    tag: bytes
    name: str
    places: tuple[tuple[int, int, bytes], ...]
    functions: Functions | None


# nr_jited_ksyms@104 nr_jited_func_lens@108 jited_ksyms@112 jited_func_lens@120 ... nr_prog_tags@180 prog_tags@184
_KSYMS, _LENGTHS, _TAGS = (104, 112, 8), (108, 120, 4), (180, 184, 8)


def code() -> Iterator[Code]:
    """Of every program that is compiled. Needs CAP_SYS_ADMIN; addresses are 0 where the kernel hides them. Raises
    KernelError."""
    for number in _bpf.object_ids("prog"):
        fd = _bpf.object_fd("prog", number)
        if fd is not None:
            with fd:
                found = _code(fd, number)
            if found is not None:
                yield found


def _code(fd: Fd, number: int) -> Code | None:
    try:
        raw = _bpf.object_info(fd, 232)
        ask = bytearray(192)
        buffers = []
        for count_at, pointer_at, size in (_KSYMS, _LENGTHS, _TAGS):
            count = min(struct.unpack_from("=I", raw, count_at)[0], MOST_FUNCTIONS)
            buffers.append(bytearray(max(count, 1) * size))
            struct.pack_into("=I", ask, count_at, count)
            struct.pack_into("=Q", ask, pointer_at, host().address(buffers[-1]))
        _bpf.object_info(fd, 232, bytes(ask))
    except KernelError:
        return None
    addresses = struct.unpack(f"={len(buffers[0]) // 8}Q", buffers[0])
    lengths = struct.unpack(f"={len(buffers[1]) // 4}I", buffers[1])
    tags = [bytes(buffers[2][at : at + 8]) for at in range(0, len(buffers[2]), 8)]
    places = tuple(zip(addresses, lengths, tags, strict=False))
    name = raw[64:80].split(b"\0", 1)[0].decode("ascii", "replace")
    return Code(number, raw[8:16], name, places, _functions(fd, number)) if places[0][0] else None
