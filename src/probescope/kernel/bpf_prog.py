"""BPF programs: loading, with the verifier's words when it refuses; test runs; what the kernel knows about a loaded
one."""

from __future__ import annotations

import errno
import struct

from probescope.errors import KernelError, VerifierError
from probescope.frozen import dataclass, field
from probescope.kernel import bpf as _bpf
from probescope.kernel.fds import Fd
from probescope.kernel.host import FdLike, host
from probescope.kernel.uapi import bpf as u

LOG_FIRST = 1 << 16
LOG_MOST = 1 << 24  # the largest that every kernel takes (UINT_MAX >> 8 until 5.12)

# Lines of the verifier's log that never say why
_NOISE = (
    "processed ",
    "verification time",
    "stack depth",
    "max_states",
    "mark_precise",
    "func#",
    "last_idx",
    "regs=",
    "parent ",
)


class Prog(Fd):
    """A loaded program. All methods raise KernelError."""

    __slots__ = ("type",)

    def __init__(self, number: int, type_: int, what: str) -> None:
        super().__init__(number, what)
        self.type = type_

    def info(self) -> ProgInfo:
        return prog_info(self)


@dataclass(frozen=True, slots=True)
class Load:
    """What BPF_PROG_LOAD is given. ``insns``: 8 bytes an instruction. ``func_info``: pairs of u32 (instruction, BTF
    type id of the function). ``line_info``: quadruples of u32 (instruction, file name, line text: offsets into the BTF
    strings; line << 10 | column). ``fd_array``: descriptors that ``BPF_PSEUDO_MAP_IDX`` loads and kfunc calls into
    modules index."""

    type: int
    insns: bytes = field(repr=False)
    name: str = ""
    license: str = "GPL"
    expected_attach_type: int = 0
    flags: int = 0
    attach_btf_id: int = 0
    attach_btf_obj_fd: FdLike | None = None
    attach_prog_fd: FdLike | None = None
    btf_fd: FdLike | None = None
    func_info: bytes = field(default=b"", repr=False)
    line_info: bytes = field(default=b"", repr=False)
    fd_array: tuple[FdLike, ...] = ()

    @property
    def type_name(self) -> str:
        return u.PROG_TYPES[self.type] if self.type < len(u.PROG_TYPES) else str(self.type)


def prog_load(load: Load) -> Prog:
    """Loads it, without a log at first, which is faster. If the kernel refuses, it is asked once more for its reasons.

    Raises VerifierError when there is a log, PermissionDenied or another KernelError when the kernel gave none."""
    try:
        return _prog(_attempt(load, 0, None), load)
    except OSError as e:
        first = e.errno or 0
    if first == errno.EPERM and _bpf.raise_memlock():
        return prog_load(load)
    fd, number, log = _load_with_log(load, 1)
    if fd >= 0:
        return _prog(fd, load)  # a passing trouble: memory, a signal
    raise load_error(load, number or first, log)


def prog_load_verbose(load: Load, level: int = 2) -> tuple[Prog, str]:
    """Loads it with a log of that level, and returns both. Raises as ``prog_load``."""
    fd, number, log = _load_with_log(load, level)
    if fd < 0:
        raise load_error(load, number, log)
    return _prog(fd, load), log


def _prog(fd: int, load: Load) -> Prog:
    return Prog(fd, load.type, f"prog:{load.name or load.type_name}")


def _load_with_log(load: Load, level: int) -> tuple[int, int, str]:
    """(descriptor or -1, errno, log). ENOSPC says that the log did not fit: the buffer grows, to a bound, and what is
    there counts then."""
    size = LOG_FIRST
    while True:
        log = bytearray(size)
        fd, number = -1, 0
        try:
            fd = _attempt(load, level, log)
        except OSError as e:
            number = e.errno or 0
        if number == errno.ENOSPC and size < LOG_MOST:
            size *= 4
            continue
        return fd, number, log.split(b"\0", 1)[0].decode("utf-8", "replace")


def load_error(load: Load, number: int, log: str) -> KernelError:
    """The error for a refused load: typed by whether the verifier spoke."""
    from probescope.kernel.advice import hints_for, kernel_error

    reason = last_words(log)
    if reason:
        hints = hints_for("verifier", number, log=reason, prog=load.type_name)
        return VerifierError(number, log, reason=reason, where=load.name, hints=hints)
    attach = load.expected_attach_type
    return kernel_error("bpf(BPF_PROG_LOAD)", number, load.name, prog=load.type_name, attach=attach)


def last_words(log: str) -> str:
    """The last line of a verifier log that says why, or an empty text."""
    for line in reversed(log.splitlines()):
        text = line.strip()
        if text and not text.startswith(_NOISE):
            return text
    return ""


def _attempt(load: Load, level: int, log: bytearray | None) -> int:
    h = host()
    license_ = load.license.encode() + b"\0"
    array = struct.pack(f"={len(load.fd_array)}i", *load.fd_array)
    target = load.attach_btf_obj_fd if load.attach_btf_obj_fd is not None else load.attach_prog_fd
    attr = bytearray(
        struct.pack(
            _LAYOUT,
            load.type,
            len(load.insns) // 8,
            h.address(load.insns),
            h.address(license_),
            level,
            len(log or b""),
            h.address(log) if log else 0,
            0,
            load.flags,
            _bpf.object_name(load.name),
            0,
            load.expected_attach_type,
            load.btf_fd.__index__() if load.btf_fd is not None else 0,
            8 if load.func_info else 0,
            h.address(load.func_info),
            len(load.func_info) // 8,
            16 if load.line_info else 0,
            h.address(load.line_info),
            len(load.line_info) // 16,
            load.attach_btf_id,
            target.__index__() if target is not None else 0,
            0,
            h.address(array),
        )
    )
    return _bpf.bpf(u.BPF_PROG_LOAD, attr)


# prog_type@0 insn_cnt@4 insns@8 license@16 log_level@24 log_size@28 log_buf@32 kern_version@40 prog_flags@44
# prog_name@48 prog_ifindex@64 expected_attach_type@68 prog_btf_fd@72 func_info_rec_size@76 func_info@80
# func_info_cnt@88 line_info_rec_size@92 line_info@96 line_info_cnt@104 attach_btf_id@108 attach_btf_obj_fd@112
# core_relo_cnt@116 fd_array@120
_LAYOUT = "=IIQQIIQII16sIIIIQIIQIIIIQ"


# --- test runs
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TestRun:
    """``duration_ns``: mean of one run. ``retval``: unsigned 32 bits."""

    retval: int
    duration_ns: int
    data: bytes
    ctx: bytes

    __test__ = False  # not a test case, whatever its name says to pytest


def prog_test_run(
    prog: FdLike,
    *,
    data: bytes = b"",
    data_out: int = 0,
    ctx: bytes = b"",
    ctx_out: int = 0,
    repeat: int = 0,
    flags: int = 0,
    cpu: int = 0,
) -> TestRun:
    """Runs the program in the kernel with input that we make up (BPF_PROG_TEST_RUN). raw_tracepoint and syscall
    programs take ``ctx`` alone, without ``repeat``; socket filters ``data`` of at least 14 bytes. Tracepoint and kprobe
    programs cannot be run (ENOTSUPP)."""
    h = host()
    out, out_ctx = bytearray(data_out), bytearray(ctx_out)
    context = bytearray(ctx)  # syscall programs write into it
    # prog_fd@0 retval@4 data_size_in@8 data_size_out@12 data_in@16 data_out@24 repeat@32 duration@36 ctx_size_in@40
    # ctx_size_out@44 ctx_in@48 ctx_out@56 flags@64 cpu@68 batch_size@72
    attr = bytearray(
        struct.pack(
            "=IIIIQQIIIIQQIII4x",
            prog.__index__(),
            0,
            len(data),
            data_out,
            h.address(data),
            h.address(out),
            repeat,
            0,
            len(ctx),
            ctx_out,
            h.address(context),
            h.address(out_ctx),
            flags,
            cpu,
            0,
        )
    )
    _bpf.bpf_or_advice(u.BPF_PROG_TEST_RUN, attr)
    written, written_ctx = struct.unpack_from("=I", attr, 12)[0], struct.unpack_from("=I", attr, 44)[0]
    return TestRun(
        struct.unpack_from("=I", attr, 4)[0],
        struct.unpack_from("=I", attr, 36)[0],
        bytes(out[:written]),
        bytes(out_ctx[:written_ctx]) if ctx_out else bytes(context),
    )


# --- info
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProgInfo:
    """``run_time_ns`` and ``run_count`` move only while ``enable_stats()`` or kernel.bpf_stats_enabled is on. Lengths
    are in bytes."""

    id: int
    type: str
    name: str
    tag: str
    jited_len: int
    xlated_len: int
    run_time_ns: int
    run_count: int
    misses: int
    verified_insns: int
    btf_id: int


def prog_info(fd: FdLike) -> ProgInfo:
    # type@0 id@4 tag@8 jited_prog_len@16 xlated_prog_len@20 ... name@64 ... btf_id@128 ... run_time_ns@192 run_cnt@200
    # recursion_misses@208 verified_insns@216
    raw = _bpf.object_info(fd, 232)
    kind, number = struct.unpack_from("=II", raw)
    jited, xlated = struct.unpack_from("=II", raw, 16)
    run_time, run_count, misses, verified = struct.unpack_from("=QQQI", raw, 192)
    return ProgInfo(
        number,
        u.PROG_TYPES[kind] if kind < len(u.PROG_TYPES) else str(kind),
        raw[64:80].split(b"\0", 1)[0].decode("ascii", "replace"),
        raw[8:16].hex(),
        jited,
        xlated,
        run_time,
        run_count,
        misses,
        verified,
        struct.unpack_from("=I", raw, 128)[0],
    )


def bind_map(prog: FdLike, map_fd: FdLike) -> None:
    """Keeps the map alive as long as the program, though no instruction mentions it (5.10)."""
    _bpf.bpf_or_advice(u.BPF_PROG_BIND_MAP, bytearray(struct.pack("=III4x", prog.__index__(), map_fd.__index__(), 0)))
