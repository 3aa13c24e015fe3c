"""Definitions that were used once are remembered by the names of their events, so that ``record -e probe:vfs_read`` and
``stat -e`` find them: they are put into tracefs for as long as that runs, and no longer.

    $XDG_CACHE_HOME/probescope/probes.json
    {"probe:vfs_read": {"file": "kprobe_events", "stamp": "<build-id>", "line": "p:probe/vfs_read ..."}}

``stamp``: of the kernel or the binary that the place is in; where that has changed meanwhile, the definition is void.
The file is ours, yet read as bytes from outside. That it cannot be written is no error.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
from collections.abc import Generator, Iterable, Sequence

from probescope.errors import KernelError, ProbeError
from probescope.kernel import tracefs
from probescope.kernel.borrowed import Borrowed, others_at_work
from probescope.kernel.filelock import FileLock
from probescope.kernel.host import host
from probescope.kernel.wholefile import whole_file
from probescope.model.probe_found import ProbeEvent
from probescope.sources import probe_events
from probescope.sources.globs import matches

MOST = 1000
_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z_]\w{0,63}:[A-Za-z_]\w{0,63}")
_LINE = re.compile(r"[pr]:[A-Za-z_]\w*/[A-Za-z_]\w* \S+(?: \S+)*")
_RETURN = "__return"


def path() -> str:
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not folder.startswith("/"):  # the specification: a relative path is to be ignored
        folder = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "probescope", "probes.json")


def remember(events: Iterable[ProbeEvent]) -> None:
    with _alone():
        known = _load()
        for e in events:
            known.pop(e.name, None)  # the newest come last
            file = probe_events.FILES[bool(e.found.path)]
            known[e.name] = {"file": file, "stamp": stamp(e.found.path), "line": e.definition()}
        _write(known)


def forget(pattern: str) -> list[str]:
    """Names of those that matched ``GROUP:EVENT`` or ``EVENT``, globs."""
    group, _, event = pattern.rpartition(":")
    with _alone():
        known = _load()
        gone = [
            n
            for n in known
            if matches(event or "*", n.partition(":")[2]) and matches(group or "*", n.partition(":")[0])
        ]
        if gone:
            _write({n: told for n, told in known.items() if n not in gone})
    return gone


@contextlib.contextmanager
def _alone() -> Generator[None]:
    """Of two runs at once one would forget what the other remembers."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path()), exist_ok=True)
            held.enter_context(FileLock(f"{path()}.lock"))
        yield


def _write(known: dict[str, dict[str, str]]) -> None:
    """The newest, as many as can be read again."""
    kept = list(known.items())[-MOST:]
    while len(text := json.dumps(dict(kept), indent=1).encode()) > _MOST_BYTES:
        kept = kept[len(kept) // 4 + 1 :]
    with contextlib.suppress(OSError), whole_file(path()) as f:
        f.write(text)


def _load() -> dict[str, dict[str, str]]:
    try:
        with open(path(), "rb") as f:
            found = json.loads(f.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    out: dict[str, dict[str, str]] = {}
    for name, told in found.items() if isinstance(found, dict) else ():
        texts = isinstance(told, dict) and all(isinstance(v, str) for v in told.values())
        if _NAME.fullmatch(name) and texts and _LINE.fullmatch(told.get("line", "")):
            out[name] = told
    return out


def stamp(binary: str) -> str:
    """What changes when a binary does, or the kernel."""
    if not binary:
        from probescope.sources.probe_images import running_build_id

        return running_build_id() or host().release
    try:
        found = os.stat(binary)
    except OSError:
        return ""
    return f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


# --- in tracefs for a while -------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The newest come last."""
    return list(_load())


def usable(most: int) -> list[str]:
    """The newest of those whose kernel or binary is what it was."""
    out: list[str] = []
    for name, told in reversed(_load().items()):
        if len(out) < most and told.get("stamp") == stamp(_binary(told)):
            out.insert(0, name)
    return out


def _binary(told: dict[str, str]) -> str:
    place = told["line"].partition(" ")[2].split(" ", 1)[0]
    return place.rpartition(":")[0] if told.get("file") == probe_events.FILES[1] else ""


def lend(group: str, event: str) -> bool:
    """Puts a remembered definition into tracefs until this process ends; whether there is one. ``readline`` finds what
    older versions of perf called so: ``readline__return``. Raises ``ProbeError`` where the binary has changed."""
    known = _load()
    name = f"{group}:{event}"
    told = known.get(name) or known.get(name + _RETURN)
    if told is None:
        return False
    head, _, rest = told["line"].partition(" ")
    if told.get("file") not in probe_events.FILES or "stamp" not in told:
        return False
    binary = _binary(told)
    if told["stamp"] != stamp(binary):
        raise ProbeError(
            f"{name} was defined for another {'version of ' + binary if binary else 'kernel'}",
            hints=["define it again: probescope probe ..."],
        )
    line = f"{head[0]}:{group}/{event} {rest}"
    _borrowed().share([(told["file"], f"-:{group}/{event}")], lambda _: tracefs.write(told["file"], line))
    return True


def join(group: str, event: str) -> None:
    """An event that another run has lent stays for as long as this one runs, too."""
    if others_at_work():
        _borrowed().join([(file, f"-:{group}/{event}") for file in probe_events.FILES])


def put_all(events: Sequence[ProbeEvent]) -> None:
    """Into tracefs until this process ends, however it does: what undoes it is written down before."""
    items = [(probe_events.FILES[bool(e.found.path)], f"-:{e.group}/{e.event}") for e in events]
    failed = 0

    def make(number: int) -> None:
        nonlocal failed
        failed = number
        tracefs.write(items[number][0], events[number].definition())

    try:
        _borrowed().share(items, make)
    except KernelError as problem:
        raise probe_events.refused(events[failed], problem) from problem


def take_back() -> None:
    """What was put into tracefs goes, before this process ends."""
    found = host().cache.pop("probe_events", None)
    if isinstance(found, Borrowed):
        found.close()


def clear_dead() -> None:
    """What runs that died have left behind goes: a name beside it would get a number."""
    _borrowed()


def _borrowed() -> Borrowed:
    """The one of this process; what runs that died have left behind goes first."""
    cache = host().cache
    found = cache.get("probe_events")
    if not isinstance(found, Borrowed):
        from probescope.kernel.leftovers import reap

        reap()
        found = cache["probe_events"] = Borrowed()
        atexit.register(_close, os.getpid())
    return found


def _close(pid: int) -> None:
    found = host().cache.get("probe_events")
    if isinstance(found, Borrowed) and os.getpid() == pid:  # not in a forked child
        found.close()
