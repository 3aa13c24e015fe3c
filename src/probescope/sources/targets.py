"""What the binary of a probe means: paths, bare names, globs, ``*``, and nothing at all, seen from the traced process.

    /bin/bash     as it is          libc, libssl.so.3   the library of the process, else by ld.so.cache
    bash          through PATH      /usr/lib/*.so       every file that matches        *   whatever is mapped
    (nothing)     the program of -p PID or of -c

A process in another mount namespace sees other files under the same names: its paths are reached through
/proc/PID/root, with links followed inside that root. A file that was deleted since is reached through the process's own
/proc entries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from probescope.debuginfo import libraries
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.locate import in_root, mapped_file
from probescope.diagnostics import nearest
from probescope.errors import ElfError, KernelError, ProbeError
from probescope.kernel import procfs
from probescope.kernel.host import host
from probescope.sources.context import ResolveContext
from probescope.sources.globs import is_glob, matches

MOST_FILES = 4096
"""Files that one glob or ``*`` may stand for."""


def paths(source: str, target: str, ctx: ResolveContext) -> list[str]:
    """Paths to open and to attach to, at least one. Raises ``ProbeError`` with what is there instead."""
    if "\0" in target:
        raise ProbeError("a path cannot hold a NUL byte")
    if ctx.pid > 0 and not procfs.alive(ctx.pid):
        raise ProbeError(f"there is no process {ctx.pid}", hints=["it may have ended; ps shows those that run"])
    if not target:
        return [_program(source, ctx)]
    if target == "*":
        return _everything(source, ctx)
    if is_glob(target) and not host().exists(target):
        return _expand(source, target, ctx)
    if "/" not in target:
        return [_bare(target, ctx)]
    return [_plain(target, ctx)]


def shown(target: str, path: str) -> str:
    """How names of probes show a binary: a path as it was written (what a glob stands for is relative if the glob is),
    anything else by the path that it led to."""
    if "/" not in target or not host().exists(path):
        return path
    if not is_glob(target):
        return target if path == os.path.abspath(target) else path
    here = os.path.abspath("")
    if os.path.isabs(target) or not path.startswith(f"{here}/"):
        return path
    return f"{'./' if target.startswith('./') else ''}{os.path.relpath(path, here)}"


def _root(ctx: ResolveContext) -> str:
    return procfs.root(ctx.pid) if ctx.pid > 0 else ""


def _program(source: str, ctx: ResolveContext) -> str:
    if ctx.pid > 0:
        path = procfs.exe(ctx.pid)
        if not path:
            hints = ["it is a kernel thread, has ended, or belongs to another user"]
            raise ProbeError(f"process {ctx.pid} has no program file that can be read", hints=hints)
        return _same_file(in_root(_root(ctx), path), f"/proc/{ctx.pid}/exe")
    if ctx.child:
        return _plain(ctx.child, ctx) if "/" in ctx.child else _bare(ctx.child, ctx)
    hints = [f"write {source}:/path/to/program:NAME", "or name a process: -p PID, or -c COMMAND"]
    raise ProbeError(f"{source} needs a binary", hints=hints)


def _same_file(path: str, link: str) -> str:
    """``path`` if it still is the file that ``link`` leads to: else it was deleted or replaced, and only the link knows
    it."""
    try:
        return path if host().inode(path) == host().inode(link) else link
    except OSError:
        return link


def _plain(target: str, ctx: ResolveContext) -> str:
    path = in_root(_root(ctx), _absolute(target))
    if _is_folder(path):
        raise ProbeError(f"{target} is a directory, not a binary")
    if not host().exists(path) and not _in_archive(path):
        kept = _held(ctx.pid, path)
        if kept == path:
            raise ProbeError(f"there is no file {target}", hints=_similar(path, target, ctx))
        return kept
    return _held(ctx.pid, path)


def _held(pid: int, path: str) -> str:
    """``path``, or where what the process runs under that name is for us, if that was deleted or replaced since."""
    if pid <= 0:
        return path
    root = procfs.root(pid)
    name = path.removeprefix(root) if root else os.path.realpath(path)
    try:
        same = [m for m in procfs.maps(pid) if m.executable and m.path == name]
    except (KernelError, OSError):
        return path
    if not same or not all(m.deleted for m in same):
        return path
    return file_of(pid, same[0], root)


def _in_archive(path: str) -> bool:
    """``ARCHIVE!/MEMBER``, of an archive that is there."""
    archive, mark, _ = path.partition("!/")
    return bool(mark) and host().exists(archive) and not _is_folder(archive)


def _similar(path: str, target: str, ctx: ResolveContext) -> list[str]:
    folder, name = os.path.split(path)
    try:
        names = host().listdir(folder)[:MOST_FILES]
    except OSError:
        where = f" of process {ctx.pid}'s mount namespace" if _root(ctx) else ""
        return [f"there is no directory {os.path.dirname(target)}{where}"]
    return [f"did you mean {os.path.join(os.path.dirname(target), n)}?" for n in nearest(name, names)]


def _bare(target: str, ctx: ResolveContext) -> str:
    root = _root(ctx)
    if ctx.pid > 0:
        for path, real in mapped(ctx.pid):
            name = os.path.basename(path)
            if name == target or (name.startswith((f"{target}.so", f"{target}-")) and ".so" in name):
                return real
    found = libraries.find_binary(target, ctx.arch.name, root)
    if found:
        return in_root(root, found[0])
    if host().exists(target):
        raise ProbeError(f"there is no library or program '{target}' in the search path", hints=[f"write ./{target}"])
    hints = ["libraries are found by /etc/ld.so.cache, programs by PATH; write a path for anything else"]
    raise ProbeError(f"there is no library or program '{target}'", hints=hints)


def mapped(pid: int) -> Iterator[tuple[str, str]]:
    """(path as the process sees it, path for us) of each file that the process has mapped executable."""
    root = procfs.root(pid)
    seen: set[tuple[int, int]] = set()
    for m in procfs.maps(pid):
        if m.executable and m.path.startswith("/") and (m.device, m.inode) not in seen:
            seen.add((m.device, m.inode))
            yield m.path, file_of(pid, m, root)


def file_of(pid: int, m: procfs.MapEntry, root: str | None = None) -> str:
    """Where the file of a mapping lies for us: of one without a name, the link that still leads to it."""
    if not m.deleted:
        return mapped_file(procfs.root(pid) if root is None else root, m.path, m.inode)
    try:
        if host().inode(f"/proc/{pid}/exe")[1] == m.inode:
            return f"/proc/{pid}/exe"
    except OSError:
        pass
    return f"/proc/{pid}/map_files/{m.start:x}-{m.end:x}"


def _everything(source: str, ctx: ResolveContext) -> list[str]:
    if ctx.pid > 0:
        return [real for _, real in mapped(ctx.pid)]
    if source != "usdt":
        hints = ["name one process: -p PID", f"or a binary: {source}:/path/to/program:NAME"]
        raise ProbeError(f"{source}:* would mean every program of this machine", hints=hints)
    found: dict[tuple[int, int], str] = {}
    for pid in procfs.pids():
        try:
            for _, real in mapped(pid):
                _remember(found, real)
        except KernelError:  # a process of another user
            continue
    return list(found.values())


def _remember(found: dict[tuple[int, int], str], path: str) -> None:
    try:
        identity = host().inode(path)
    except OSError:
        return
    if len(found) < MOST_FILES:
        found.setdefault(identity, path)


def _expand(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    root = _root(ctx)
    if ctx.pid > 0:
        matching = [real for path, real in mapped(ctx.pid) if matches(pattern, path)]
        if matching:
            return matching
    found: dict[tuple[int, int], str] = {}
    for folder in [""] if "/" in pattern else [*os.environ.get("PATH", "").split(":"), *libraries.FOLDERS]:
        where = _absolute(os.path.join(folder, pattern))
        for path in _glob(root, where):
            if _is_elf(path):
                _remember(found, path)
    if not found:
        raise ProbeError(
            f"no binary matches '{pattern}'", hints=["the pattern is matched against files, as by a shell"]
        )
    return sorted(found.values())


def _glob(root: str, pattern: str) -> list[str]:
    import glob
    from itertools import islice

    return sorted(islice(glob.iglob(root + pattern), MOST_FILES))


def _is_elf(path: str) -> bool:
    try:
        ElfFile.open(path).close()
    except ElfError:
        return False
    return True


def _is_folder(path: str) -> bool:
    try:
        host().listdir(path)
    except OSError:
        return False
    return True


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except FileNotFoundError:  # of getcwd(2)
        raise ProbeError(f"'{path}' starts from the working directory, which is gone", hints=["cd"]) from None
