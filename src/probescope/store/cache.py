"""Stores are kept: ``$XDG_CACHE_HOME/probescope/store/KEY.duckdb``.

``KEY`` stands for the file (path, size, time of change, device and inode, its first and last bytes), the layout of the
tables and the way that names were looked for. A store appears under its name when it is whole; two processes that want
the same one wait for each other. When all of them together are larger than the limit, those that were not used for the
longest time go.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from probescope.errors import LimitError, UsageError
from probescope.formats.piped import is_pipe
from probescope.frozen import dataclass
from probescope.store import schema

if TYPE_CHECKING:
    from probescope.collect.recorded.search import Search

    Step = Callable[[int, int, str], None]

LIMIT = 10 << 30
LIMIT_VARIABLE = "PROBESCOPE_STORE_LIMIT"
ENDS = 4096
KEY_LENGTH = 32
SUFFIX = ".duckdb"
LEVELS = ".lod"
"""Files that are made of a store, and go with it: ``KEY.*.lod``."""
PART = ".part"
"""Behind the names of files that are being made."""
BUILD_MEMORY = "512MB"
FREE = 64 << 20


@dataclass(frozen=True, slots=True)
class Kept:
    """``path`` of the database; ``built``: whether it was made just now; ``remove``: it is nobody else's, and goes
    with who asked for it."""

    path: str
    built: bool = False
    remove: bool = False

    def close(self) -> None:
        if self.remove:
            shutil.rmtree(os.path.dirname(self.path), ignore_errors=True)


def folder(environment: Mapping[str, str]) -> str:
    """XDG Base Directory Specification."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.join(base, "probescope", "store")


def limit(environment: Mapping[str, str]) -> int:
    """Bytes of all stores together."""
    text = environment.get(LIMIT_VARIABLE, "")
    if text and not (text.isascii() and text.isdigit()):
        raise UsageError(f"{LIMIT_VARIABLE}={text} is not a number of bytes", hints=[f"{LIMIT_VARIABLE}={LIMIT}"])
    return int(text) if text else LIMIT


def store_of(
    path: str,
    *,
    fresh: bool = False,
    step: Step = lambda *_: None,
    search: Callable[[], Search | None] = lambda: None,
    names: str = "",
    environment: Mapping[str, str] = os.environ,
) -> Kept:
    """The store of a recording, built if there is none, or if it is to be ``fresh``. ``search``: gives how names
    are looked for, ``names`` the same as a text. Raises UsageError, FormatError, LimitError."""
    home = folder(environment)
    most = limit(environment)
    if path == "-" or is_pipe(path) or not _usable(home):
        return _alone(path, step, search)
    key = _key(path, names)
    kept = os.path.join(home, key + SUFFIX)
    if not fresh and _used(kept):
        return Kept(kept)
    from probescope.kernel.filelock import FileLock

    with FileLock(os.path.join(home, key + ".lock")):
        if not fresh and _used(kept):  # another process was at it
            return Kept(kept)
        _build_at(path, kept, step, search)
    evict(home, most, kept)
    _clear_abandoned(home)
    return Kept(kept, built=True)


def still_of(store: str, path: str) -> bool:
    """Whether a store is of the file that is there now, as far as its name tells: those that nobody else has do not.
    Pipes have given what they had. Raises UsageError where there is no file."""
    key = os.path.basename(store).removesuffix(SUFFIX)
    return not is_pipe(path) and (len(key) != KEY_LENGTH or key == _key(path, ""))


def _alone(path: str, step: Step, search: Callable[[], Search | None]) -> Kept:
    from probescope.kernel.scratch import scratch_prefix

    made = tempfile.mkdtemp(prefix=scratch_prefix("store"))
    kept = Kept(os.path.join(made, "store" + SUFFIX), built=True, remove=True)
    try:
        _build_at(path, kept.path, step, search)
    except BaseException:
        kept.close()
        raise
    return kept


def _usable(home: str) -> bool:
    try:
        os.makedirs(home, 0o700, exist_ok=True)
    except OSError:
        return False
    return os.access(home, os.W_OK)


def _used(kept: str) -> bool:
    """Whether it is there; then it was used now."""
    try:
        os.utime(kept)
    except OSError:
        return False
    return True


def _build_at(path: str, kept: str, step: Step, search: Callable[[], Search | None]) -> None:
    from probescope.store.making import make

    part = kept + PART
    _clear(part)
    try:
        make(path, part, step, search(), memory=BUILD_MEMORY)
        os.replace(part, kept)
        _forget_levels(kept)
    except OSError as e:
        hints = [f"stores are kept in {os.path.dirname(kept)}: XDG_CACHE_HOME=FOLDER names another"]
        raise LimitError(f"the store cannot be written: {e.strerror or e}", hints=hints) from e
    finally:
        _clear(part)


def _forget_levels(kept: str) -> None:
    """Of the store that was there before."""
    import glob

    for path in glob.glob(glob.escape(kept.removesuffix(SUFFIX)) + ".*" + LEVELS):
        with suppress(OSError):
            os.unlink(path)


def _clear(part: str) -> None:
    """What is left of a build that came to no end."""
    for name in (part, part + ".wal"):
        with suppress(OSError):
            os.unlink(name)
    shutil.rmtree(part + ".tmp", ignore_errors=True)


def _clear_abandoned(home: str) -> None:
    """What killed processes have begun: parts of stores and of levels whose lock nobody has."""
    from probescope.kernel.filelock import FileLock

    for name in sorted(os.listdir(home)):
        if PART not in name:
            continue
        with suppress(OSError), FileLock(os.path.join(home, name.partition(".")[0] + ".lock"), wait=False):
            path = os.path.join(home, name)
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


def _key(path: str, names: str) -> str:
    """Raises UsageError where there is no such file."""
    real = os.path.realpath(path)
    h = hashlib.sha256()
    for word in (str(schema.VERSION), real, names):
        h.update(word.encode("utf-8", "surrogateescape") + b"\0")
    for one in _files(real):
        try:
            s = os.stat(one)
            h.update(f"{one}\0{s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
            if not os.path.isdir(one):
                h.update(_ends(one, s.st_size))
        except OSError as e:
            if one == real:
                raise UsageError(
                    f"cannot read {path}: {e.strerror}", hints=["probescope record -o FILE makes one"]
                ) from e
    return h.hexdigest()[:KEY_LENGTH]


def _files(real: str) -> list[str]:
    """Of a directory of perf's its files; the table of symbols beside a recording counts, too."""
    names = [os.path.join(real, n) for n in sorted(os.listdir(real))] if os.path.isdir(real) else []
    return [real, *names, real + ".symbols"]


def _ends(path: str, size: int) -> bytes:
    with open(path, "rb") as f:
        first = f.read(ENDS)
        f.seek(max(0, size - ENDS))
        return first + f.read(ENDS)


def evict(home: str, most: int, kept: str) -> list[str]:
    """Removes what was not used for the longest time until the rest fits; never ``kept``. What was made of a store goes
    with it. The paths that went."""
    groups: dict[str, list[tuple[str, os.stat_result]]] = {}
    with os.scandir(home) as entries:
        for entry in entries:
            if entry.name.endswith((SUFFIX, LEVELS)):
                with suppress(OSError):
                    groups.setdefault(entry.name.partition(".")[0], []).append((entry.path, entry.stat()))
    total = sum(s.st_size for some in groups.values() for _, s in some)
    gone: list[str] = []
    for some in sorted(groups.values(), key=lambda g: max(s.st_mtime for _, s in g)):
        if total <= most:
            break
        if kept in {path for path, _ in some}:
            continue
        for path, s in some:
            with suppress(OSError):
                os.unlink(path)  # who reads it goes on reading
            gone.append(path)
            total -= s.st_size
    return gone
