"""A recording that the page asks for: ``timeline --record``.

The page says which events, of whom, and with which stacks, each as a word of its own; what becomes of them are options
of ``record``, never a command line, a file or a definition of a probe. Who may say so is who has the token, from the
server's own page: as with every question. There is one recording; the next one is another server's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probescope.errors import ProbescopeError, UsageError

if TYPE_CHECKING:
    from probescope.views.timeline.live import Live
    from probescope.views.timeline.opened import Opened

    Step = Callable[[int, int, str], None]

MOST_SECONDS = 3600
LOOK_S = 0.1
_EVENTS = re.compile(r"[\w:*?.,/-]{1,1000}", re.ASCII)
_SAID = re.compile(r".*?(?:ERROR|HINT): ")
HINTS = ["sched:sched_switch,sched:sched_waking", "block:*", "cpu-clock"]


def options(args: Mapping[str, Any]) -> tuple[str, ...]:
    """Of ``record``, for what the page asks for. Raises UsageError."""
    events = str(args.get("events", "")).replace(" ", "")
    if not _EVENTS.fullmatch(events) or events.startswith("-"):
        raise UsageError("events are names, with commas between them", hints=HINTS)
    out = ["-e", events, *(["-g"] if args.get("stacks") else [])]
    pid = args.get("pid")
    if pid is None:
        return (*out, "-a")
    if not 0 < int(pid) < 1 << 22:
        raise UsageError(f"{pid} is the number of no process")
    return (*out, "-p", str(int(pid)))


def seconds(args: Mapping[str, Any]) -> float:
    """0: until it is stopped. Raises UsageError."""
    found = float(args.get("seconds", 0))
    if not 0 <= found <= MOST_SECONDS:
        raise UsageError(f"a recording takes up to {MOST_SECONDS} seconds, or until it is stopped (0)")
    return found


class Wishes:
    """``make``: a recorder of options, that has not begun."""

    def __init__(self, make: Callable[[Sequence[str]], Live]) -> None:
        self._make = make
        self._asked = threading.Condition()
        self._waiting = True
        self._over: threading.Timer | None = None
        self.live: Live | None = None
        self.said = ""
        """What was wrong with the last wish."""

    @property
    def waiting(self) -> bool:
        """Whether a page may say what is recorded."""
        return self._waiting

    def ask(self, args: Mapping[str, Any]) -> None:
        """Begins to record. From any thread. Raises UsageError where it is not understood, or too late."""
        wanted, long = options(args), seconds(args)
        with self._asked:
            if not self._waiting:
                raise UsageError("there is a recording already", hints=["another server records another one"])
            live = self._make(wanted)
            try:
                live.start()
            except BaseException:
                live.close()
                raise
            self.live, self._waiting = live, False
            if long:
                self._over = threading.Timer(long, live.stop)
                self._over.daemon = True
                self._over.start()
            self._asked.notify_all()

    def opening(self, step: Step, again: Callable[[], object]) -> Opened:
        """Waits for a wish that can be fulfilled. ``again``: called where one cannot, and why is known. Whatever
        ``step`` raises ends it."""
        while True:
            with self._asked:
                while self._waiting:
                    self._asked.wait(LOOK_S)
                    step(0, 1, "waiting to be told what to record")
                live = self.live
            assert live is not None
            try:
                return live.first(step)
            except ProbescopeError as e:
                told = [_SAID.sub("", line) for line in e.hints if _SAID.match(line)]  # without the line it is about
                self.said = "; ".join(told or [e.what, *e.hints[:3]])
                self._ended()
                again()

    def _ended(self) -> None:
        """The recorder came to nothing."""
        with self._asked:
            live, self.live, self._waiting = self.live, None, True
        if live is not None:
            live.close()

    def close(self) -> None:
        if self._over is not None:
            self._over.cancel()
        if self.live is not None:
            self.live.close()
