"""Control groups: between the 64-bit ids that programs read (bpf_get_current_cgroup_id) and paths.

The id of a version 2 group is the inode number of its folder. On hybrid systems version 2 is mounted beside version 1
(``/sys/fs/cgroup/unified``). Source: Documentation/admin-guide/cgroup-v2.rst; kernfs inode numbers have 64 bits since
5.5.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from probescope.errors import UsageError
from probescope.kernel.host import host

_MOST = 100_000


def mounts() -> Mapping[str, str]:
    """Hierarchy to mount point: ``{"": "/sys/fs/cgroup/unified", "cpu,cpuacct": "/sys/fs/cgroup/cpu,cpuacct"}``; the
    empty name is version 2. Those that are not mounted are left out."""
    cached: dict[str, str] | None = host().cache.get("cgroup_mounts")
    if cached is not None:
        return cached
    found: dict[str, str] = {}
    try:
        text = host().read_text("/proc/self/mountinfo", 1 << 22)
    except OSError:
        return found
    for line in text.splitlines():
        # 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
        left, _, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")
        if len(fields) < 5 or len(kind) < 3 or fields[3] != "/":
            continue
        if kind[0] == "cgroup2":
            found.setdefault("", fields[4])
        elif kind[0] == "cgroup":
            names = [o for o in kind[2].split(",") if o not in {"rw", "ro", "xattr", "clone_children", "nsdelegate"}]
            found.setdefault(",".join(n for n in names if not n.startswith("release_agent")), fields[4])
    host().cache["cgroup_mounts"] = found
    return found


def root_v2() -> str:
    """Where version 2 is mounted; empty if it is not."""
    return mounts().get("", "")


def cgroup_id(path: str) -> int | None:
    """The id of a group, by the path of its folder, absolute or below the version 2 mount. None if there is no such
    folder."""
    base = root_v2()
    for full in (path, f"{base}/{path.lstrip('/')}" if base else ""):
        if full:
            try:
                return host().inode(full)[1]
            except OSError:
                continue
    return None


def open_folder(path: str) -> int:
    """A descriptor of a group's folder, for events that are of that group. It is the caller's, and has to live until
    all events are open. Raises UsageError."""
    for base in [root_v2(), *mounts().values()]:
        try:
            return host().open(f"{base}/{path.strip('/')}", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
    raise UsageError(f"there is no cgroup '{path}'", hints=["paths are as in /proc/PID/cgroup"])


def own_id() -> int:
    """The id of this process's group in version 2; 0 if that is not mounted."""
    base, path = root_v2(), cgroups_of(host().getpid()).get("", "/")
    try:
        return host().inode(base + path)[1] if base else 0
    except OSError:
        return 0


def cgroup_path(number: int) -> str:
    """The path below the version 2 mount (``/`` is the root group), or an empty text if there is no such group now."""
    known: dict[int, str] = host().cache.setdefault("cgroup_paths", {})
    if number not in known:
        known.update(_walk(root_v2()))
    return known.get(number, "")


def all_cgroups() -> list[tuple[int, str]]:
    """Id and path of every group of version 2 that there is now."""
    return list(_walk(root_v2()).items())


def snapshot() -> None:
    """Takes in all groups that there are now: some may be gone when they are asked for."""
    host().cache.setdefault("cgroup_paths", {}).update(_walk(root_v2()))


def remember(number: int, path: str) -> None:
    """A group that was made; the paths of the latest 100,000 are kept."""
    known: dict[int, str] = host().cache.setdefault("cgroup_paths", {})
    known.pop(number, None)
    while len(known) >= _MOST:
        del known[next(iter(known))]
    known[number] = path


def _walk(base: str) -> Mapping[int, str]:
    """Every group's id and path, level by level: at most 100,000."""
    out: dict[int, str] = {}
    if not base:
        return out
    h = host()
    try:
        out[h.inode(base)[1]] = "/"
    except OSError:
        return out
    level = [""]
    while level and len(out) < _MOST:
        following: list[str] = []
        for folder in level:
            try:
                children = h.folders(base + folder)
            except OSError:
                continue
            for name, inode in children:
                out[inode] = f"{folder}/{name}"
                following.append(f"{folder}/{name}")
        level = following
    return out


def cgroups_of(pid: int) -> Mapping[str, str]:
    """Hierarchy to the process's group in it: ``{"": "/user.slice", "cpu,cpuacct": "/"}``. Empty if it is gone."""
    try:
        data = host().read_bytes(f"/proc/{pid}/cgroup", 1 << 20)
    except OSError:
        return {}
    out: dict[str, str] = {}
    for line in data.split(b"\n"):
        parts = line.split(b":", 2)
        if len(parts) == 3:
            out[parts[1].decode("ascii", "replace")] = os.fsdecode(parts[2])
    return out
