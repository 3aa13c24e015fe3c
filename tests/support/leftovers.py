"""What a session could leave in the kernel, listed by the kernel itself, without a line of the product.

BPF objects have ids; a process that holds one shows it in /proc/PID/fdinfo. An object that is new and that no other
living process holds is a leftover of the tests. In tracefs the names of global probes and instances are compared.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# include/uapi/linux/bpf.h, enum bpf_cmd: the commands that walk ids; their bpf_attr is {u32 start_id; u32 next_id; ...}
NEXT_ID = {"prog": 11, "map": 12, "link": 31}
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
FDINFO_ID = re.compile(r"^(prog|map|link)_id:\s*(\d+)$", re.MULTILINE)
TRACEFS = Path("/sys/kernel/tracing")
#: Freeing BPF objects waits for grace periods of RCU; on a loaded machine that takes a while.
PATIENCE_SECONDS = 20.0

Object = tuple[str, str]


def bpf_ids(kind: str) -> Iterator[int]:
    libc = ctypes.CDLL(None, use_errno=True)
    number = BPF_SYSCALL.get(platform.machine())
    if number is None:
        return
    current = 0
    while True:
        attr = ctypes.create_string_buffer(struct.pack("=III", current, 0, 0), 12)
        if libc.syscall(ctypes.c_long(number), ctypes.c_long(NEXT_ID[kind]), attr, ctypes.c_ulong(12)) < 0:
            if ctypes.get_errno() in {errno.ENOENT, errno.EPERM, errno.EINVAL}:
                return
            raise OSError(ctypes.get_errno(), f"walking the ids of BPF {kind}s")
        (current,) = struct.unpack_from("=4xI", attr.raw)
        yield current


def tracefs_entries() -> Iterator[Object]:
    for name in ("uprobe_events", "kprobe_events", "dynamic_events", "synthetic_events"):
        try:
            lines = (TRACEFS / name).read_text().splitlines()
        except OSError:
            continue
        yield from ((name, line.split(" ")[0]) for line in lines if line)
    try:
        yield from (("instance", entry) for entry in os.listdir(TRACEFS / "instances"))
    except OSError:
        return


def objects() -> set[Object]:
    """Everything there now, as (kind, id or name)."""
    bpf = {(kind, str(number)) for kind in NEXT_ID for number in bpf_ids(kind)}
    return bpf | set(tracefs_entries())


@dataclass(frozen=True)
class Snapshot:
    """What there was, and which processes ran, at one moment."""

    objects: set[Object]
    processes: set[int]


def snapshot() -> Snapshot:
    return Snapshot(objects(), processes())


def processes() -> set[int]:
    return {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}


def held_by(pids: Iterable[int]) -> set[Object]:
    """BPF objects that these processes hold open."""
    held: set[Object] = set()
    for pid in pids:
        try:
            infos = [Path(f"/proc/{pid}/fdinfo/{fd}").read_text() for fd in os.listdir(f"/proc/{pid}/fdinfo")]
        except OSError:
            continue  # ended meanwhile
        held.update((kind, number) for info in infos for kind, number in FDINFO_ID.findall(info))
    return held


def descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    family = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def remaining(before: Snapshot, *, alone: bool, patience: float = PATIENCE_SECONDS) -> list[str]:
    """What is new since ``before``, after waiting for the kernel to free what is already let go.

    Where the tests are ``alone`` on the machine, each new thing counts that is not held by a process older than they
    are: a tracer that outlived its test is found too. Elsewhere other people trace as well: only what no other process
    holds counts, and in tracefs only what carries our name.
    """
    deadline = time.monotonic() + patience
    while True:
        new = objects() - before.objects
        family = descendants(os.getpid())
        others = before.processes - family if alone else processes() - family
        if new:
            new -= held_by(others)
        if not alone:
            new = {(kind, name) for kind, name in new if kind in NEXT_ID or "probescope" in name}
        if not new or time.monotonic() > deadline:
            return [f"{kind} {name}" for kind, name in sorted(new)]
        time.sleep(0.1)
