"""bpf(2): the call itself, its errors, and what is neither map, program nor link: BTF objects, ids, infos, statistics.

An attribute is a bytearray laid out as ``union bpf_attr`` has it for the command; bytes past what a kernel knows must
be zero, so one layout serves old and new kernels. Source: include/uapi/linux/bpf.h, kernel/bpf/syscall.c.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

from probescope.errors import KernelError
from probescope.frozen import dataclass
from probescope.kernel.fds import Fd
from probescope.kernel.host import FdLike, host
from probescope.kernel.syscalls import number
from probescope.kernel.uapi import bpf as u

_TRIES = 10
_LOG_SIZE = 1 << 20


def bpf(command: int, attr: bytearray) -> int:
    """The raw call. Raises OSError. A verifier that saw a pending signal says EAGAIN: then it is asked again."""
    h = host()
    nr = number("bpf")
    for left in range(_TRIES, -1, -1):
        try:
            return h.syscall(nr, command, h.address(attr), len(attr))
        except OSError as e:
            if e.errno not in {errno.EAGAIN, errno.EINTR} or not left:
                raise
    raise AssertionError  # the loop ends by return or raise


def call_name(command: int) -> str:
    return f"bpf(BPF_{u.COMMANDS[command]})"


def bpf_or_advice(command: int, attr: bytearray, **context: object) -> int:
    """As ``bpf``, but failures are ``KernelError`` with advice; ``context`` is what the advice may look at."""
    try:
        return bpf(command, attr)
    except OSError as e:
        from probescope.kernel.advice import kernel_error

        raise kernel_error(call_name(command), e.errno or 0, **context) from None


def create(command: int, attr: bytearray, **context: object) -> int:
    """For commands that make something: the same, but once more after raising RLIMIT_MEMLOCK where that can have been
    the cause. Kernels before 5.11 charge maps and programs to it ("bpf: Eliminate rlimit-based memory accounting")."""
    try:
        return bpf(command, attr)
    except OSError as e:
        if e.errno == errno.EPERM and raise_memlock():
            return bpf_or_advice(command, attr, **context)
        from probescope.kernel.advice import kernel_error

        raise kernel_error(call_name(command), e.errno or 0, **context) from None


def raise_memlock() -> bool:
    """Raises RLIMIT_MEMLOCK as far as this process may. True if it was raised; never an error, and at most one
    attempt."""
    cache = host().cache
    if cache.get("memlock_tried"):
        return False
    cache["memlock_tried"] = True
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    for limits in ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), (hard, hard)):
        if limits[0] == soft:
            continue
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, limits)
        except (OSError, ValueError):
            continue
        return True
    return False


def object_name(name: str) -> bytes:
    """A name as the kernel takes it: at most 15 of [A-Za-z0-9_.]."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in name)[:15].encode()


# --- BTF
# ---------------------------------------------------------------------------------------------------------------


def btf_load(data: bytes, *, name: str = "btf") -> Fd:
    """Loads a BTF blob. Raises KernelError; the verifier's complaint, if any, is its ``where``."""
    h = host()

    def attr(log: bytearray | None) -> bytearray:
        # btf@0 log_buf@8 btf_size@16 log_size@20 log_level@24
        return bytearray(
            struct.pack(
                "=QQIII4x", h.address(data), h.address(log) if log else 0, len(data), len(log or b""), 1 if log else 0
            )
        )

    try:
        return Fd(bpf(u.BPF_BTF_LOAD, attr(None)), f"btf:{name}")
    except OSError:
        log = bytearray(_LOG_SIZE)
    try:
        return Fd(create(u.BPF_BTF_LOAD, attr(log)), f"btf:{name}")
    except KernelError as e:
        text = log.split(b"\0", 1)[0].decode("utf-8", "replace").strip().splitlines()
        e.where = f"BTF: {text[-1]}" if text else ""
        raise


# --- objects by id
# -----------------------------------------------------------------------------------------------------

_NEXT = {
    "prog": u.BPF_PROG_GET_NEXT_ID,
    "map": u.BPF_MAP_GET_NEXT_ID,
    "btf": u.BPF_BTF_GET_NEXT_ID,
    "link": u.BPF_LINK_GET_NEXT_ID,
}
_BY_ID = {
    "prog": u.BPF_PROG_GET_FD_BY_ID,
    "map": u.BPF_MAP_GET_FD_BY_ID,
    "btf": u.BPF_BTF_GET_FD_BY_ID,
    "link": u.BPF_LINK_GET_FD_BY_ID,
}


def object_ids(kind: str) -> Iterator[int]:
    """Ids of every ``prog``, ``map``, ``btf`` or ``link`` of this machine, rising. Needs CAP_SYS_ADMIN. Raises
    KernelError."""
    current = 0
    attr = bytearray(16)
    while True:
        struct.pack_into("=II", attr, 0, current, 0)
        try:
            bpf(_NEXT[kind], attr)
        except OSError as e:
            if e.errno == errno.ENOENT:
                return
            from probescope.kernel.advice import kernel_error

            raise kernel_error(call_name(_NEXT[kind]), e.errno or 0) from None
        following = struct.unpack_from("=I", attr, 4)[0]
        if following <= current:
            return
        current = following
        yield current


def object_fd(kind: str, number: int) -> Fd | None:
    """A descriptor of the object, or None if it is gone by now. Raises KernelError."""
    try:
        return Fd(bpf(_BY_ID[kind], bytearray(struct.pack("=III4x", number, 0, 0))), f"{kind}:id{number}")
    except OSError as e:
        if e.errno == errno.ENOENT:
            return None
        from probescope.kernel.advice import kernel_error

        raise kernel_error(call_name(_BY_ID[kind]), e.errno or 0) from None


def object_info(fd: FdLike, size: int = 256, preset: bytes = b"") -> bytes:
    """The raw info structure, as much as this kernel fills, padded with zeros to ``size``. ``preset`` are its first
    bytes on the way in (pointers to buffers). Raises KernelError."""
    h = host()
    info = bytearray(preset.ljust(size, b"\0"))
    bpf_or_advice(u.BPF_OBJ_GET_INFO_BY_FD, bytearray(struct.pack("=IIQ", fd.__index__(), size, h.address(info))))
    return bytes(info)


def pin(fd: FdLike, path: str) -> None:
    """Gives a map, program or link a name in a bpf file system. Raises KernelError."""
    name = os.fsencode(path) + b"\0"
    attr = bytearray(struct.pack("=QIII4x", host().address(name), fd.__index__(), 0, 0))
    bpf_or_advice(u.BPF_OBJ_PIN, attr, path=path)


def get_pinned(path: str) -> Fd:
    name = os.fsencode(path) + b"\0"
    attr = bytearray(struct.pack("=QIII4x", host().address(name), 0, 0, 0))
    return Fd(bpf_or_advice(u.BPF_OBJ_GET, attr, path=path), f"pin:{path}")


def enable_stats() -> Fd:
    """While it is open the kernel counts ``run_time_ns`` and ``run_cnt`` of every program (a few ns a run). Raises
    KernelError."""
    return Fd(bpf_or_advice(u.BPF_ENABLE_STATS, bytearray(struct.pack("=I4x", u.BPF_STATS_RUN_TIME))), "bpf stats")


# --- who uses a perf event
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskFd:
    """A descriptor of some process that holds a program on a perf event: ``name`` is its tracepoint, symbol or file."""

    prog_id: int
    kind: int
    name: str
    offset: int
    address: int


def task_fd_query(pid: int, fd: int) -> TaskFd | None:
    """What program sits behind descriptor ``fd`` of process ``pid``; None if there is none. Raises KernelError for
    EPERM."""
    h = host()
    name = bytearray(4096)
    # pid@0 fd@4 flags@8 buf_len@12 buf@16 prog_id@24 fd_type@28 probe_offset@32 probe_addr@40
    attr = bytearray(struct.pack("=IIIIQIIQQ", pid, fd, 0, len(name), h.address(name), 0, 0, 0, 0))
    try:
        bpf(u.BPF_TASK_FD_QUERY, attr)
    except OSError as e:
        if e.errno not in {errno.EPERM, errno.EACCES}:
            return None
        from probescope.kernel.advice import kernel_error

        raise kernel_error(call_name(u.BPF_TASK_FD_QUERY), e.errno) from None
    prog_id, kind, offset, address = struct.unpack_from("=IIQQ", attr, 24)
    return TaskFd(prog_id, kind, name.split(b"\0", 1)[0].decode("utf-8", "replace"), offset, address)
