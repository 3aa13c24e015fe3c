"""Settings of tracefs that exist once for the whole machine, borrowed for a while: what undoes each is written down
before it is changed, so that the next run puts back what a killed one could not.

    /run/probescope/borrowed_<pid>_<pid namespace>_<number>.json
    [["set_graph_function", "", true], ["max_graph_depth", "0", false]]        file, text, whether it is emptied first

Only settings that nobody uses are borrowed: those who use them would be disturbed, and their state is not ours to keep.
Of two runs that look at once one would not see the other: whoever looks has a lock until it has written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Self

from probescope.errors import KernelError, LimitError, SessionError
from probescope.frozen import dataclass
from probescope.kernel import tracefs
from probescope.kernel.host import host
from probescope.kernel.leftovers import pid_namespace
from probescope.kernel.procfs import ended

FOLDER = "/run/probescope"
_NAME = re.compile(r"borrowed_(\d{1,10})_([0-9a-f]{1,16})(?:_\d{1,9})?\.json")
_numbers = count()
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
        self._number = next(_numbers)  # of those that one process may have at once
        self._path = ""
        self._locks = ExitStack()

    def hold(self, what: str) -> None:
        """No other probescope has it until ``close``. Raises SessionError where one has."""
        try:
            host().make_private_folder(FOLDER)
            name = what.replace(" ", "_").replace("/", "_")
            self._locks.enter_context(host().lock(f"{FOLDER}/{name}.lock", wait=False))
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

    def change(self, file: str, text: str, before: Callable[[str], str]) -> None:
        """Of a file that is no ``Setting``. ``before``: what of its text is put back. Where another run has changed it,
        that is what it held before that one. Raises KernelError."""
        with _alone():
            earlier = dict(_of_the_living()).get(file)
            self.note(file, before(tracefs.read(file).strip()) if earlier is None else earlier)
            tracefs.write(file, text)

    def note(self, file: str, back: str, *, truncate: bool = False) -> None:
        """What puts back a file that is no ``Setting``: its own value of before."""
        self._undo.append((file, back, truncate))
        self._keep()

    def share(self, items: Sequence[tuple[str, str]], make: Callable[[int], None]) -> None:
        """Things that have names and are taken back by ``items``, as (file, text). ``make`` is called for each, by its
        number, but for those that another run has made: these are both's from now on, and the last one takes them back.
        What could not be made is not taken back. Raises what ``make`` raises, SessionError."""
        with _alone():
            there, before = _of_the_living(), self._undo
            self._undo = [*before, *((file, back, False) for file, back in items)]
            self._keep()
            for i, item in enumerate(items):
                try:
                    if item not in there:
                        make(i)
                except KernelError:
                    self._undo = self._undo[: len(before) + i]
                    self._keep()
                    raise

    def join(self, items: Sequence[tuple[str, str]]) -> None:
        """Those of them that another run has made stay as long as this one runs."""
        with _alone():
            there = _of_the_living()
            mine = {item[:2] for item in self._undo}
            self._undo += [(file, back, False) for file, back in items if (file, back) in there - mine]
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
            self._path = f"{FOLDER}/borrowed_{h.getpid()}_{pid_namespace():x}_{self._number}.json"
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
        if self._undo or self._path:
            with _alone(must=False):
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
def _alone(*, must: bool = True) -> Generator[None]:
    """No other probescope looks at settings of the machine, or changes them, meanwhile; unless ``must``, as far as that
    can be had."""
    with ExitStack() as held:
        try:
            host().make_private_folder(FOLDER)
            held.enter_context(host().lock(f"{FOLDER}/settings.lock"))
        except OSError as e:
            if must:
                raise _unwritten(e) from None
        yield


def others_at_work() -> bool:
    """Whether another run has something to take back."""
    return any(alive and pid != host().getpid() for _, pid, alive in abandoned())


def _of_the_living() -> set[tuple[str, str]]:
    """What other runs will take back, as (file, text)."""
    living = (path for path, pid, alive in abandoned() if alive and pid != host().getpid())
    return {(file, text) for path in living for file, text, _ in _written_down(path)}


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
    """Last first. Nothing is to be recorded meanwhile. What other runs have made too (``-:GROUP/EVENT``) is left to
    them."""
    shared = _of_the_living() if any(text.startswith("-:") for _, text, _ in undo) else set()
    undo = [item for item in undo if not (item[1].startswith("-:") and item[:2] in shared)]
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
    undo = _written_down(path)
    put_back([item for item in undo if _FILE.fullmatch(item[0])])
    host().unlink(path)
    return bool(undo)


def _written_down(path: str) -> list[tuple[str, str, bool]]:
    """Nothing where it cannot be read."""
    try:
        told = json.loads(host().read_text(path, _LIMIT))
        return [(str(file), str(text), bool(truncate)) for file, text, truncate in told]
    except (OSError, ValueError, TypeError, RecursionError, LimitError):
        return []
