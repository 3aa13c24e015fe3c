"""Settings of tracefs that exist once for the whole machine, borrowed for a while: what undoes each is written down
before it is changed, so that the next run puts back what a killed one could not.

    /run/probescope/borrowed_<pid>_<pid namespace>.json
    [["set_graph_function", "", true], ["max_graph_depth", "0", false]]        file, text, whether it is emptied first

Only settings that nobody uses are borrowed: those who use them would be disturbed, and their state is not ours to keep.
Of two runs that look at once one would not see the other: whoever looks has a lock until it has written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Self

from probescope.errors import KernelError, LimitError, SessionError
from probescope.frozen import dataclass
from probescope.kernel import tracefs
from probescope.kernel.host import host
from probescope.kernel.leftovers import pid_namespace
from probescope.kernel.procfs import ended

FOLDER = "/run/probescope"
_NAME = re.compile(r"borrowed_(\d{1,10})_([0-9a-f]{1,16})\.json")
_LIMIT = 1 << 24
_FILE = re.compile(r"[a-z_]{1,64}(/(?!\.\.?(/|$))[^/\0]{1,255}){0,6}")
"""Below tracefs: ``instances/NAME/trace_options``, where a name is whatever the user has called a buffer."""


@dataclass(frozen=True, slots=True)
class Setting:
    """``idle``: how the file reads while nobody uses it, or how such a text begins; empty: there is nothing in it.
    ``back``: what makes it so again; ``truncate``: opening it empties it."""

    file: str
    idle: str
    back: str = ""
    truncate: bool = False

    def is_idle(self) -> bool:
        text = tracefs.read(self.file).strip()
        return text.startswith(self.idle) if self.idle else not text


SETTINGS = {
    s.file: s
    for s in (
        Setting("set_graph_function", "#### all functions enabled ####", truncate=True),
        Setting("set_graph_notrace", "#### no functions disabled ####", truncate=True),
        Setting("max_graph_depth", "0", "0"),
        Setting("current_tracer", "nop", "nop"),
        Setting("set_ftrace_filter", "#### all functions enabled ####", truncate=True),
        Setting("set_ftrace_notrace", "#### no functions disabled ####", truncate=True),
        Setting("set_ftrace_pid", "no pid", truncate=True),
        Setting("set_event_pid", "", truncate=True),
        Setting("tracing_thresh", "0", "0"),
    )
}


class Borrowed:
    """``write`` changes a setting; ``close`` puts all of them back, last first. Raises SessionError where somebody else
    uses it, KernelError where the kernel refuses."""

    def __init__(self) -> None:
        self._undo: list[tuple[str, str, bool]] = []
        self._path = ""
        self._locks = ExitStack()

    def hold(self, what: str) -> None:
        """No other probescope has it until ``close``. Raises SessionError where one has."""
        try:
            host().make_private_folder(FOLDER)
            self._locks.enter_context(host().lock(f"{FOLDER}/{what.replace(' ', '_')}.lock", wait=False))
        except BlockingIOError:
            whose = _living() or "another probescope"
            raise SessionError(f"{what} of tracefs is in use by {whose}", hints=["wait until it has ended"]) from None
        except OSError as e:
            raise _unwritten(e) from None

    def write(self, file: str, text: str) -> None:
        with _alone():
            if all(file != known for known, _, _ in self._undo):
                self._note(file)
            tracefs.write(file, text)

    def note(self, file: str, back: str, *, truncate: bool = False) -> None:
        """What puts back a file that is no ``Setting``: its own value of before."""
        self._undo.append((file, back, truncate))
        self._keep()

    def _note(self, file: str) -> None:
        setting = SETTINGS[file]
        if not setting.is_idle():
            whose = _living() or "another tracer"
            what = f"{file} of tracefs is in use by {whose}, and there is one for the whole machine"
            look = f"cat {tracefs.find_root()}/{file} shows it; trace-cmd reset, or its owner, gives it back"
            raise SessionError(what, hints=[look])
        self._undo.append((file, setting.back, setting.truncate))
        self._keep()

    def _keep(self) -> None:
        h = host()
        try:
            h.make_private_folder(FOLDER)
            self._path = f"{FOLDER}/borrowed_{h.getpid()}_{pid_namespace():x}.json"
            h.write_whole(self._path, json.dumps(self._undo))
        except OSError as e:
            raise _unwritten(e) from None

    @property
    def undo(self) -> list[tuple[str, str, bool]]:
        """What ``close`` would write, first thing last."""
        return list(self._undo)

    def hand_over(self) -> list[tuple[str, str, bool]]:
        """What undoes all, for somebody else to keep: nothing is put back by this one any more."""
        undo, self._undo = self._undo, []
        return undo

    def close(self) -> None:
        put_back(self._undo)
        self._undo = []
        if self._path:
            host().unlink(self._path)
            self._path = ""
        self._locks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _unwritten(e: OSError) -> SessionError:
    return SessionError(f"cannot write down in {FOLDER} what has to be undone: {e.strerror}")


@contextmanager
def _alone() -> Generator[None]:
    """No other probescope looks at settings of the machine, or changes them, meanwhile."""
    with ExitStack() as held:
        try:
            host().make_private_folder(FOLDER)
            held.enter_context(host().lock(f"{FOLDER}/settings.lock"))
        except OSError as e:
            raise _unwritten(e) from None
        yield


def _living() -> str:
    """Another probescope that has borrowed something now; empty if there is none."""
    others = [pid for _, pid, alive in abandoned() if alive and pid != host().getpid()]
    return f"another probescope (process {others[0]})" if others else ""


def tracers_at_work(but: Collection[str] = ()) -> list[tuple[str, str]]:
    """(buffer, tracer) of every buffer of the machine that a tracer works in, save the folders ``but``; the top buffer
    is called so. Raises KernelError."""
    root = tracefs.find_root()
    folders = [(root, "the top buffer")]
    with suppress(OSError):
        names = sorted(host().listdir(f"{root}/instances"))
        folders += [(f"{root}/instances/{name}", f"the instance {name}") for name in names]
    out: list[tuple[str, str]] = []
    for folder, name in folders:
        if folder not in but:
            with suppress(KernelError):  # it was removed meanwhile
                out.append((name, tracefs.read("current_tracer", folder).strip()))
    return [(name, tracer) for name, tracer in out if tracer != "nop"]


def put_back(undo: list[tuple[str, str, bool]]) -> None:
    """Last first. Nothing is to be recorded meanwhile."""
    if any(file == "tracing_on" for file, _, _ in undo):
        undo = [*undo, ("tracing_on", "0", False)]
    for file, text, truncate in reversed(undo):
        try:
            tracefs.write(file, text, truncate=truncate)
        except KernelError:
            continue  # the others all the same


def abandoned() -> list[tuple[str, int, bool]]:
    """(path, pid, whether its owner may live) of what runs have written down and not put back."""
    out: list[tuple[str, int, bool]] = []
    try:
        names = host().listdir(FOLDER)
    except OSError:
        return out
    for name in sorted(names):
        owner = _NAME.fullmatch(name)
        if owner:
            foreign = int(owner[2], 16) != pid_namespace()
            out.append((f"{FOLDER}/{name}", int(owner[1]), foreign or not ended(int(owner[1]))))
    return out


def settle(path: str) -> bool:
    """Puts back what a dead run has written down there; whether that could be read, which it cannot once another run
    has done it."""
    try:
        with _alone():
            return _settled(path)
    except SessionError:  # it is another user's
        return False


def _settled(path: str) -> bool:
    try:
        told = json.loads(host().read_text(path, _LIMIT))
        undo = [(str(file), str(text), bool(truncate)) for file, text, truncate in told]
    except (OSError, ValueError, TypeError, RecursionError, LimitError):
        undo = []
    put_back([item for item in undo if _FILE.fullmatch(item[0])])
    host().unlink(path)
    return bool(undo)
