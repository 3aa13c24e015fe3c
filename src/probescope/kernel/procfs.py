"""Processes as /proc shows them. A process may be gone at any moment: then answers are empty, never errors.

Text of other processes is hostile: names hold any byte, mappings may number in the tens of thousands, files may be
unreadable. Source: Documentation/filesystems/proc.rst, proc_pid_maps(5).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping

from probescope.frozen import dataclass
from probescope.kernel.host import host

_SMALL = 1 << 16
MAPS_LIMIT = 1 << 26
"""Bytes of /proc/PID/maps that are looked at: vm.max_map_count mappings of the usual length fit in 7 MB."""


def _read(pid: int, name: str, limit: int = _SMALL) -> bytes:
    try:
        return host().read_bytes(f"/proc/{pid}/{name}", limit)
    except OSError:
        return b""


def pids() -> list[int]:
    """Ids of the processes that this pid namespace sees, rising."""
    return sorted(int(n) for n in host().listdir("/proc") if n.isdecimal())


def threads(pid: int) -> list[int]:
    try:
        return sorted(int(n) for n in host().listdir(f"/proc/{pid}/task") if n.isdecimal())
    except OSError:
        return []


def alive(pid: int) -> bool:
    return host().exists(f"/proc/{pid}")


def ended(pid: int) -> bool:
    """Whether it is gone, or all that is left of it is what its parent has not asked for yet: a zombie has neither
    files nor memory. One stays for a while of what ``timeout -s KILL`` runs, since that kills itself as well."""
    state = _read(pid, "stat", 4096).rpartition(b")")[2].split()[:1]
    if not state:
        return not alive(pid)
    return state[0] in (b"Z", b"X") and len(threads(pid)) <= 1


def comm(pid: int) -> str:
    """The name that the kernel shows for the process, at most 15 bytes; odd bytes become U+FFFD."""
    return _read(pid, "comm", 4096).removesuffix(b"\n").decode("utf-8", "replace")


def thread_comm(pid: int, tid: int) -> str:
    """The name of one thread; odd bytes are kept as surrogates. Empty if it is gone."""
    try:
        data = host().read_bytes(f"/proc/{pid}/task/{tid}/comm", 4096)
    except OSError:
        return ""
    return data.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def cmdline(pid: int) -> list[str]:
    """The arguments; empty for kernel threads."""
    data = _read(pid, "cmdline", 1 << 22)
    return [a.decode("utf-8", "replace") for a in data.removesuffix(b"\0").split(b"\0")] if data else []


def exe(pid: int) -> str:
    """Path of the program file, as in the mount namespace of the process; empty for kernel threads. " (deleted)" is
    cut."""
    try:
        return host().readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def status(pid: int) -> Mapping[str, str]:
    """/proc/PID/status: ``{"Name": "bash", "NSpid": "812 7", ...}``, values stripped."""
    out: dict[str, str] = {}
    for line in _read(pid, "status").decode("utf-8", "replace").split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            out.setdefault(name, value.strip())
    return out


def parent(pid: int) -> int:
    """The parent's id; 0 if there is none, or the process is gone."""
    return int(_stat(pid, 1) or 0)


def leader(tid: int) -> int:
    """The process that a thread is of; itself if that cannot be told."""
    text = status(tid).get("Tgid", "")
    return int(text) if text.isdecimal() else tid


def start_ticks(pid: int) -> int:
    """When it started, in clock ticks since boot: with the pid, the identity of a process. 0 if it is gone."""
    return int(_stat(pid, 19) or 0)


def last_cpu(pid: int) -> int:
    """The CPU that it ran on last: of our own process, the current one. 0 if it is gone."""
    return int(_stat(pid, 36) or 0)


def _stat(pid: int, index: int) -> str:
    """A field of /proc/PID/stat; ``index`` 0 is the state, the first one after the name in its parentheses."""
    # the name may itself hold blanks and parentheses: the last one ends it
    fields = _read(pid, "stat", 8192).rpartition(b")")[2].split()
    return fields[index].decode("ascii", "replace") if len(fields) > index else ""


# --- mappings
# ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MapEntry:
    """Addresses ``[start, end)`` show ``path`` from byte ``offset`` on. ``device``: major << 20 | minor. ``path`` is as
    in the mount namespace of the process; empty for anonymous memory, ``[heap]`` and the like for special ones."""

    start: int
    end: int
    permissions: str
    offset: int
    device: int
    inode: int
    path: str
    deleted: bool

    @property
    def executable(self) -> bool:
        return "x" in self.permissions


def maps(pid: int) -> list[MapEntry]:
    """Every mapping of the process; empty if it is gone or has none. Raises PermissionDenied for another user's
    process."""
    return list(parse_maps(_maps(pid)))


def executable_maps(pid: int) -> list[MapEntry]:
    """Only those that code can run in: the others are not even looked at, which are nine of ten."""
    # ADDRESS-ADDRESS r-xp ...: the third letter behind the first blank
    lines = [line for line in _maps(pid).split(b"\n") if line[line.find(b" ") + 3 : line.find(b" ") + 4] == b"x"]
    return list(parse_maps(b"\n".join(lines)))


def _maps(pid: int) -> bytes:
    try:
        return host().read_bytes(f"/proc/{pid}/maps", MAPS_LIMIT)
    except OSError as e:
        if e.errno in {errno.EACCES, errno.EPERM}:
            from probescope.kernel.advice import kernel_error

            raise kernel_error(f"open /proc/{pid}/maps", e.errno, pid=pid) from None
        return b""


def parse_maps(data: bytes) -> Iterator[MapEntry]:
    """Lines of the form below; others are skipped. A newline in a path is written as an octal escape by the kernel,
    nothing else is::

    7f1c2e600000-7f1c2e628000 r-xp 00028000 fe:01 1234                       /usr/lib/libc.so.6
    """
    for line in data.split(b"\n"):
        parts = line.split(None, 5)
        if len(parts) < 5:
            continue
        try:
            low, _, high = parts[0].partition(b"-")
            major, _, minor = parts[3].partition(b":")
            start, end, offset = int(low, 16), int(high, 16), int(parts[2], 16)
            device, inode = int(major, 16) << 20 | int(minor, 16), int(parts[4])
        except ValueError:
            continue
        path = os.fsdecode(parts[5].replace(b"\\012", b"\n")) if len(parts) > 5 else ""
        kept = path.removesuffix(" (deleted)")
        if start < end:
            yield MapEntry(
                start, end, parts[1].decode("ascii", "replace"), offset, device, inode, kept, len(kept) < len(path)
            )


# --- namespaces
# ------------------------------------------------------------------------------------------------------------


def namespace(pid: int | str, kind: str) -> int:
    """Inode number of a namespace (``mnt``, ``pid``, ``net``, ``user``...) of a process, or of ``"self"``; 0 if
    unknown."""
    try:
        # the link reads  mnt:[4026531841]
        return int(host().readlink(f"/proc/{pid}/ns/{kind}").partition("[")[2].rstrip("]"))
    except (OSError, ValueError):
        return 0


def namespace_device(pid: int, kind: str) -> int:
    """The device that the namespace's inode is of, as the kernel encodes it in records; 0 if unknown."""
    try:
        return host().inode(f"/proc/{pid}/ns/{kind}")[0]
    except OSError:
        return 0


def namespaces(pid: int) -> Mapping[str, int]:
    try:
        kinds = host().listdir(f"/proc/{pid}/ns")
    except OSError:
        return {}
    return {kind: namespace(pid, kind) for kind in sorted(kinds)}


def same_mounts(pid: int) -> bool:
    """True if the process sees the file system that we see, or cannot be asked."""
    theirs = namespace(pid, "mnt")
    return not theirs or theirs == namespace("self", "mnt")


def root(pid: int) -> str:
    """A folder through which we reach the root of the process's own mount namespace: empty if it is ours too, else
    ``/proc/PID/root``. A path of the process is reached as ``root(pid) + path``."""
    if same_mounts(pid):
        try:
            if host().readlink(f"/proc/{pid}/root") == "/":
                return ""
        except OSError:
            return ""
    return f"/proc/{pid}/root"


def pid_in_namespace(pid: int) -> int:
    """The id that the process has in its own pid namespace."""
    numbers = status(pid).get("NSpid", "").split()
    return int(numbers[-1]) if numbers and numbers[-1].isdecimal() else pid
