"""Sessions inside a virtual machine, over work that is known to the last call.

A ``Worker`` is a child of the test's process: it exists, and its pid is known, before anything is attached; it does its
work when told to, and stays until it is let go, so that whatever names it has can still be looked up. Everything runs
in the one process of the tests: starting Python anew takes seconds under emulation.
"""

from __future__ import annotations

import ctypes
import os
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import probescope
from probescope.model.output import Attached, Lost, MapOut, Output, Text, ValueOut, Warned

COMM = "worker"
PR_SET_NAME = 15


class Worker:
    """``work`` runs in a child called ``worker``. ``go`` returns when it is done, and raises if it failed."""

    def __init__(self, work: Callable[[], object], *, name: str = COMM) -> None:
        from_parent, self._go = os.pipe()
        self._done, to_parent = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            os.close(self._done)
            self._child(work, name, from_parent, to_parent)
        os.close(from_parent)
        os.close(to_parent)

    @staticmethod
    def _child(work: Callable[[], object], name: str, orders: int, answers: int) -> None:
        code = 1
        try:
            ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())
            os.write(answers, b"r")
            if os.read(orders, 1):
                work()
                os.write(answers, b"d")
                os.read(orders, 1)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def ready(self) -> None:
        assert os.read(self._done, 1) == b"r", "the worker did not start"

    def go(self) -> None:
        os.write(self._go, b"g")
        assert os.read(self._done, 1) == b"d", "the worker failed"

    def __enter__(self) -> Self:
        self.ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._go)
        os.close(self._done)
        os.waitpid(self.pid, 0)


@dataclass
class Seen:
    """What a session said, after its end."""

    maps: dict[str, Any]
    outputs: list[Output]
    mechanisms: list[str]
    attached: int = 0
    lost: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def text(self) -> str:
        return "".join(o.text for o in self.outputs if isinstance(o, Text))

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def values(self) -> list[Any]:
        return [o.value for o in self.outputs if isinstance(o, ValueOut)]

    @property
    def warnings(self) -> list[str]:
        return [o.diagnostic.message for o in self.outputs if isinstance(o, Warned)]

    def printed(self, name: str) -> list[MapOut]:
        """The maps that the program printed while it ran."""
        return [o for o in self.outputs if isinstance(o, MapOut) and o.name == name and not o.final]


def traced(program: str, *work: Callable[[], object], wait: float = 0, **options: Any) -> Seen:
    """Runs a program while a worker each does ``work``. ``PID`` in the program is the first worker's pid, ``PID2`` the
    second's; the option ``pid=True`` traces the first alone. ``wait``: seconds to go on after the work."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(w)) for w in work]
        for n, worker in reversed(list(enumerate(workers))):
            program = program.replace("PID" if n == 0 else f"PID{n + 1}", str(worker.pid))
        if options.get("pid") is True:
            options["pid"] = workers[0].pid
        session = probescope.run(program, **options)
        outputs: list[Output] = []
        with session:
            outputs += session.poll(0)
            for worker in workers:
                worker.go()
            outputs += session.wait(wait) if wait else []
            session.stop()
            outputs += session.poll(0)
        return _seen(session, outputs)


def finished(program: str, **options: Any) -> Seen:
    """Runs a program that ends by itself."""
    with probescope.run(program, **options) as session:
        return _seen(session, list(session))


def _seen(session: Any, outputs: list[Output]) -> Seen:
    plan = session._session.plan.plan
    return Seen(
        dict(session.maps),
        outputs,
        [c.mechanism for c in plan.choices],
        sum(o.count for o in outputs if isinstance(o, Attached)),
        {o.kind: o.count for o in outputs if isinstance(o, Lost)},
    )
