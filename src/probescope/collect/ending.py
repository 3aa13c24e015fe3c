"""Why and when a session ends, besides its own ``exit()``: signals, the child of ``-c``, the process of ``-p``, and
that nothing can happen any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from probescope.collect.options import SessionOptions
from probescope.kernel.child import Child
from probescope.kernel.signals import Signals
from probescope.kernel.watch import Watch
from probescope.model.plan import Plan, RunOnce, UserRun

Reason = Literal["exit", "signal", "child", "limit", "end"]


class _Watched(Protocol):
    def fileno(self) -> int: ...
    def ended(self) -> bool: ...
    def close(self) -> None: ...


class Ending:
    """Raises UsageError if the command cannot be started or the process is not there."""

    def __init__(self, options: SessionOptions, plan: Plan) -> None:
        self.reason: Reason = "end"
        self._asked = False
        self.others_live: Callable[[], bool] | None = None  # with --follow: whether any other process is left
        usr1 = any(isinstance(s, UserRun | RunOnce) and s.when == "signal" for s in plan.steps)
        self._watched: list[_Watched] = []
        self._child = Child(options.command) if options.command else None
        if self._child is not None:
            self._watched.append(self._child)
        try:
            if options.pid:
                self._watched.append(Watch(options.pid))
            self._signals = Signals(stop=options.signals, usr1=usr1)
        except BaseException:
            for w in self._watched:
                w.close()
            raise

    @property
    def child_pid(self) -> int:
        return self._child.pid if self._child else 0

    @property
    def child_code(self) -> int:
        """How the command ended, as a shell tells it; 0 while it runs, or if there is none."""
        return self._child.exit_code() if self._child else 0

    def let_go(self, at_entry: Callable[[], None] | None = None) -> None:
        """The child may run its program. ``at_entry``: as in kernel/child.py."""
        if self._child:
            self._child.start(at_entry)

    def ask(self) -> None:
        """Asks for the end, from any thread."""
        self._asked = True
        self._signals.wake()

    def asked(self) -> bool:
        return self._asked or bool(self._signals.stop_asked)

    def over(self, *, more: bool) -> bool:
        """Whether the session should end, and ``reason`` why. ``more``: something can still happen in it."""
        if self.asked():
            self.reason = "signal"
        elif any(w.ended() for w in self._watched) and not (self.others_live and self.others_live()):
            self.reason = "child"
        elif not more:
            self.reason = "end"
        else:
            return False
        return True

    def fired(self) -> Iterator[str]:
        """Names of the signals that came and are no reason to end."""
        fired, self._signals.fired = self._signals.fired, []
        return iter(fired)

    def filenos(self) -> list[int]:
        """Descriptors that become readable when there is a reason to look."""
        watched = [w for w in self._watched if not (self.others_live and w.ended())]
        return [self._signals.fileno(), *(fd for w in watched if (fd := w.fileno()) >= 0)]

    @property
    def blind(self) -> bool:
        """Whether something can end without waking us: then we have to look by ourselves."""
        return any(w.fileno() < 0 or (self.others_live and w.ended()) for w in self._watched)

    def drain(self) -> None:
        self._signals.drain()

    def close(self) -> None:
        self._signals.close()
        for w in self._watched:
            w.close()
