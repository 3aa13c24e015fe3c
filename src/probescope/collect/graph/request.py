"""What a function graph is asked for, as data; and what answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Protocol

from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.recording import EventBatch, EventType

Way = Literal["auto", "ftrace", "fentry", "kprobe", "syscalls"]
WAYS: tuple[Way, ...] = ("auto", "ftrace", "fentry", "kprobe", "syscalls")


ARGS = "funcgraph-args"
"""The option of the kernel's tracer that records what functions are given (6.15)."""


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """``roots``: patterns of functions, of ``binary`` if there is one; ``only``: trace nothing else; ``notrace``: leave
    out, with all that is called. ``kernel``: with ``binary``, roots in the kernel below its functions, empty: system
    calls; ``None``: no kernel. ``via``: what is to answer for the kernel. ``command``, ``pids``, ``seconds``: who, and
    until when; ``everybody``: the command only says how long. ``threshold_us``: only returns of longer calls, where
    the tracer can leave others out. ``options`` of the kernel's tracer; ``events`` among the calls. ``retval``: ask
    for it. ``everything``: roots are all functions, as a person said twice. ``keep``: a trace.dat to write too."""

    roots: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    notrace: tuple[str, ...] = ()
    binary: str = ""
    kernel: tuple[str, ...] | None = None
    via: Way = "auto"
    command: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    seconds: float = 0
    everybody: bool = False
    depth: int = 0
    threshold_us: int = 0
    options: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    retval: bool = False
    everything: bool = False
    buffer_kb: int = 0
    keep: str = ""


class FunctionNames(Protocol):
    """Names of what ``CallColumns.func`` and ``tid`` hold."""

    def function(self, number: int, /) -> str: ...

    def arguments(self, number: int, values: tuple[int, ...], /) -> str:
        """As people read them; ``values`` as they are in registers."""
        ...

    def of_kernel(self, number: int, /) -> bool: ...

    def interrupts(self) -> tuple[int, int]:
        """First and last address of the code that interrupts enter by; two zeros where that is not known."""
        ...

    def learn(self, tids: set[int], /) -> None: ...

    def comm(self, tid: int, /) -> str: ...


class Calls(Protocol):
    """``begin`` puts everything in place; ``batches`` lets the command go and gives what comes until the end;
    ``close`` undoes all. ``events``: kinds of what ``EventBatch`` holds, after ``begin``; empty where there are none.
    ``ret``: the kernel words what is returned as Linux 6.13 does."""

    @property
    def names(self) -> FunctionNames: ...

    @property
    def events(self) -> tuple[EventType, ...]: ...

    @property
    def ret(self) -> bool: ...

    def begin(self) -> None: ...

    def batches(self) -> Iterator[tuple[CallColumns, EventBatch | None]]:
        """Columns, and the batch whose places they tell, where other events may be in it."""
        ...

    @property
    def exit_code(self) -> int: ...

    def told(self) -> list[str]:
        """At the end: what was lost, and what else there is to say."""
        ...

    def close(self) -> None: ...
