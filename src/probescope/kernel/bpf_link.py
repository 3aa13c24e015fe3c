"""BPF links: a program on a hook, for as long as the descriptor is open. Every way of attaching that leaves nothing
behind.

All raise KernelError. Cookies are u64 that the program reads with bpf_get_attach_cookie().
Source: ``link_create`` and ``raw_tracepoint`` of union bpf_attr; kernel/trace/bpf_trace.c for the multi links.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence

from probescope.frozen import dataclass
from probescope.kernel import bpf as _bpf
from probescope.kernel.fds import Fd
from probescope.kernel.host import FdLike, host
from probescope.kernel.uapi import bpf as u

_LINK_ATTR_SIZE = 64


class Link(Fd):
    """A program attached; closing detaches it."""

    __slots__ = ()

    def info(self) -> LinkInfo:
        return link_info(self)


def _create(prog: FdLike, target: int, attach_type: int, payload: bytes, what: str, **context: object) -> Link:
    # prog_fd@0 target_fd@4 attach_type@8 flags@12, then what the attach type wants @16
    head = struct.pack("=IIII", prog.__index__(), target, attach_type, 0)
    attr = bytearray((head + payload).ljust(_LINK_ATTR_SIZE, b"\0"))
    return Link(_bpf.bpf_or_advice(u.BPF_LINK_CREATE, attr, link=what, **context), f"link:{what}")


def link_perf_event(prog: FdLike, event: FdLike, cookie: int = 0) -> Link:
    """On a perf event: tracepoint, kprobe, uprobe, clock, counter, breakpoint. 5.15, "bpf: Implement minimal BPF perf
    link"; before it there is ``PerfEvent.set_bpf``."""
    return _create(prog, event.__index__(), u.BPF_PERF_EVENT, struct.pack("=Q", cookie), "perf_event")


def raw_tracepoint_open(prog: FdLike, name: str, cookie: int | None = None) -> Link:
    """On a raw tracepoint by name, or, with an empty name, on what the program was loaded for. Cookies: 6.10, "bpf:
    support BPF cookie in raw_tracepoint"."""
    text = name.encode("utf-8", "surrogateescape") + b"\0"
    # name@0 prog_fd@8 cookie@16; the cookie is left off where it is not asked for, or an old kernel would answer E2BIG
    attr = bytearray(struct.pack("=QI4x", host().address(text) if name else 0, prog.__index__()))
    if cookie is not None:
        attr += struct.pack("=Q", cookie)
    number = _bpf.bpf_or_advice(u.BPF_RAW_TRACEPOINT_OPEN, attr, tracepoint=name, cookie=cookie is not None)
    return Link(number, f"link:raw_tracepoint:{name}")


def link_tracing(prog: FdLike, attach_type: int, cookie: int = 0) -> Link:
    """On what a tracing program was loaded for (attach_btf_id): fentry, fexit, modify_return, BTF tracepoints, LSM.

    BPF_LINK_CREATE takes these since 5.19 ("bpf, x86: Attach a cookie to fentry/fexit/fmod_ret/lsm"); before, without
    cookies, they go through BPF_RAW_TRACEPOINT_OPEN with no name."""
    # target_btf_id@16 (0: as loaded), cookie@24
    head = struct.pack("=IIIIQQ", prog.__index__(), 0, attach_type, 0, 0, cookie)
    try:
        return Link(_bpf.bpf(u.BPF_LINK_CREATE, bytearray(head.ljust(_LINK_ATTR_SIZE, b"\0"))), "link:tracing")
    except OSError as e:
        if e.errno == errno.EINVAL and not cookie:
            return raw_tracepoint_open(prog, "")
        from probescope.kernel.advice import kernel_error

        raise kernel_error("bpf(BPF_LINK_CREATE)", e.errno or 0, link="tracing", attach=attach_type) from None


def link_kprobe_multi(
    prog: FdLike,
    *,
    symbols: Sequence[str] = (),
    addresses: Sequence[int] = (),
    cookies: Sequence[int] = (),
    ret: bool = False,
    session: bool = False,
) -> Link:
    """On many kernel functions at once, by symbols or by addresses, with a cookie each if given. The program was loaded
    with BPF_TRACE_KPROBE_MULTI (5.18), or BPF_TRACE_KPROBE_SESSION for entry and return in one (6.10)."""
    h = host()
    names = b"".join(s.encode("utf-8", "surrogateescape") + b"\0" for s in symbols)
    at = h.address(names)
    pointers: list[int] = []
    for s in symbols:
        pointers.append(at)
        at += len(s.encode("utf-8", "surrogateescape")) + 1
    syms, addrs, cooks = _u64s(pointers), _u64s(addresses), _u64s(cookies)
    count = len(symbols) or len(addresses)
    _same(count, cookies, "cookies")
    # flags@16 cnt@20 syms@24 addrs@32 cookies@40
    flags = u.BPF_F_KPROBE_MULTI_RETURN if ret else 0
    payload = struct.pack("=IIQQQ", flags, count, h.address(syms), h.address(addrs), h.address(cooks))
    kind = u.BPF_TRACE_KPROBE_SESSION if session else u.BPF_TRACE_KPROBE_MULTI
    return _create(
        prog, 0, kind, payload, "kprobe_session" if session else "kprobe_multi", count=count, symbols=symbols
    )


def link_uprobe_multi(
    prog: FdLike,
    path: str,
    offsets: Sequence[int],
    *,
    ref_ctr_offsets: Sequence[int] = (),
    cookies: Sequence[int] = (),
    pid: int = 0,
    ret: bool = False,
    session: bool = False,
) -> Link:
    """On many file offsets of one binary at once. ``ref_ctr_offsets``: file offsets of USDT semaphores, one a site.
    ``pid``: only in that process, 0 for all. The program was loaded with BPF_TRACE_UPROBE_MULTI (6.6), or
    BPF_TRACE_UPROBE_SESSION (6.13)."""
    h = host()
    file = os.fsencode(path) + b"\0"
    offs, refs, cooks = _u64s(offsets), _u64s(ref_ctr_offsets), _u64s(cookies)
    _same(len(offsets), cookies, "cookies")
    _same(len(offsets), ref_ctr_offsets, "ref_ctr_offsets")
    # path@16 offsets@24 ref_ctr_offsets@32 cookies@40 cnt@48 flags@52 pid@56
    flags = u.BPF_F_UPROBE_MULTI_RETURN if ret else 0
    payload = struct.pack(
        "=QQQQIII", h.address(file), h.address(offs), h.address(refs), h.address(cooks), len(offsets), flags, pid
    )
    kind = u.BPF_TRACE_UPROBE_SESSION if session else u.BPF_TRACE_UPROBE_MULTI
    return _create(prog, 0, kind, payload, "uprobe_session" if session else "uprobe_multi", path=path, pid=pid)


def link_iter(prog: FdLike, info: bytes = b"") -> Link:
    """An iterator. ``info`` is a ``union bpf_iter_link_info`` (which map, task or cgroup), empty for everything."""
    payload = struct.pack("=QI", host().address(info), len(info))
    return _create(prog, 0, u.BPF_TRACE_ITER, payload, "iter")


def iter_create(link: FdLike) -> Fd:
    """One walk: reading the descriptor to its end runs the program over every object and returns what it printed."""
    return Fd(_bpf.bpf_or_advice(u.BPF_ITER_CREATE, bytearray(struct.pack("=II", link.__index__(), 0))), "iter")


def _u64s(values: Sequence[int]) -> bytes:
    return struct.pack(f"={len(values)}Q", *values)


def _same(count: int, values: Sequence[int], name: str) -> None:
    # the kernel would read past the end of a shorter array
    if values and len(values) != count:
        raise ValueError(f"{len(values)} {name} for {count} sites")


@dataclass(frozen=True, slots=True)
class LinkInfo:
    id: int
    type: str
    prog_id: int


def link_info(fd: FdLike) -> LinkInfo:
    kind, number, prog = struct.unpack_from("=III", _bpf.object_info(fd, 96))
    return LinkInfo(number, u.LINK_TYPES[kind] if kind < len(u.LINK_TYPES) else str(kind), prog)
