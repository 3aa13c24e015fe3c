"""``attach:``: ways to put a program on a probe.

Most are asked for a target that cannot exist, in such a way that only a kernel that has the mechanism gets as far as
missing it; so nothing is ever attached, and nothing has to be detached (which takes 20 to 100 ms for tracepoints and
uprobes).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable

from probescope.errors import KernelError
from probescope.kernel import bpf as _bpf
from probescope.kernel.bpf_link import link_iter, link_kprobe_multi, link_uprobe_multi, raw_tracepoint_open
from probescope.kernel.features.answer import No
from probescope.kernel.features.tiny import load
from probescope.kernel.host import host
from probescope.kernel.perf_attr import PMU_DIR, PerfAttr, kprobe_attr, software_attr, tracepoint_attr, uprobe_attr
from probescope.kernel.perf_event import perf_event_open
from probescope.kernel.uapi import bpf as u

_NOBODY = "probescope_no_such_thing"


def attempt(name: str) -> None:
    what = name.partition(":")[2]
    if what not in _ATTEMPTS:
        raise No("no such way to attach")
    _ATTEMPTS[what]()


def _misses(call: Callable[[], object], *expected: int) -> None:
    """The call must fail, and with one of these errnos."""
    try:
        call()
    except (KernelError, OSError) as e:
        if e.errno not in expected:
            raise


def _raw_tracepoint(cookie: int | None) -> Callable[[], None]:
    def go() -> None:
        with load("raw_tracepoint") as prog:
            # a kernel without cookies says EINVAL to the longer attribute
            _misses(lambda: raw_tracepoint_open(prog, _NOBODY, cookie), errno.ENOENT)

    return go


def _tracepoint() -> None:
    with load("tracepoint"):
        # no event has id 0; without the tracepoint PMU it would be ENOENT
        _misses(lambda: perf_event_open(tracepoint_attr(0), pid=0), errno.EINVAL)


def _perf_event() -> None:
    with load("perf_event") as prog, perf_event_open(software_attr(0, frequency=1), pid=0, cpu=0) as event:
        event.set_bpf(prog)


def _perf_link() -> None:
    with load("tracepoint") as prog:
        # prog_fd, target_fd -1, attach type, flags; a kernel without such links says EINVAL
        attr = bytearray(64)
        struct.pack_into("=III", attr, 0, prog.fileno(), 0xFFFFFFFF, u.BPF_PERF_EVENT)
        _misses(lambda: _bpf.bpf(u.BPF_LINK_CREATE, attr), errno.EBADF)


def _loads(kind: str) -> Callable[[], None]:
    return lambda: load(kind).close()


def _kprobe() -> None:
    attr = kprobe_attr(_NOBODY)  # Unsupported where there is no such PMU
    with load("kprobe"):
        _misses(lambda: _open(attr), errno.ENOENT, errno.EINVAL, errno.EADDRNOTAVAIL)


def _uprobe() -> None:
    attr = uprobe_attr("/", 0)  # a folder is not a regular file
    with load("kprobe"):
        _misses(lambda: _open(attr), errno.EINVAL)


def _open(attr: PerfAttr) -> None:
    perf_event_open(attr, pid=0).close()


def _uprobe_ref_ctr() -> None:
    if not host().exists(f"{PMU_DIR}/uprobe/format/ref_ctr_offset"):
        raise No("the uprobe PMU has no ref_ctr_offset")


def _kprobe_multi(kind: str) -> Callable[[], None]:
    def go() -> None:
        with load(kind) as prog:
            session = kind == "kprobe_session"
            _misses(lambda: link_kprobe_multi(prog, symbols=[_NOBODY], session=session), errno.ESRCH)

    return go


def _uprobe_multi(kind: str) -> Callable[[], None]:
    def go() -> None:
        with load(kind) as prog:
            session = kind == "uprobe_session"
            # the path must name a regular file; only the newer kernels say so
            _misses(lambda: link_uprobe_multi(prog, "/", [0], session=session), errno.EBADF)

    return go


def _uprobe_multi_pid() -> None:
    """A kernel that filters by thread, and so misses all threads but the first, takes a process number below 0."""
    _uprobe_multi("uprobe_multi")()
    with load("uprobe_multi") as prog:
        try:
            link_uprobe_multi(prog, "/", [0], pid=(1 << 32) - 1)
        except KernelError as e:
            if e.errno == errno.EINVAL:
                return
            if e.errno != errno.EBADF:
                raise
        raise No("it looks at the first thread of a process alone")


def _iter() -> None:
    with load("iter") as prog:
        link_iter(prog).close()


_ATTEMPTS: dict[str, Callable[[], None]] = {
    "raw_tracepoint": _raw_tracepoint(None),
    "raw_tracepoint_cookie": _raw_tracepoint(1),
    "tracepoint": _tracepoint,
    "perf_event": _perf_event,
    "perf_link": _perf_link,
    "tp_btf": _loads("tp_btf"),
    "fentry": _loads("fentry"),
    "fexit": _loads("fexit"),
    "fsession": _loads("fsession"),
    "modify_return": _loads("modify_return"),
    "lsm": _loads("lsm"),
    "kprobe": _kprobe,
    "kprobe_multi": _kprobe_multi("kprobe_multi"),
    "kprobe_session": _kprobe_multi("kprobe_session"),
    "uprobe": _uprobe,
    "uprobe_ref_ctr": _uprobe_ref_ctr,
    "uprobe_multi": _uprobe_multi("uprobe_multi"),
    "uprobe_multi_pid": _uprobe_multi_pid,
    "uprobe_session": _uprobe_multi("uprobe_session"),
    "iter": _iter,
}
