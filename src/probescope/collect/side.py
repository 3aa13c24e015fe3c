"""What a session asks of the half that events come from: programs in the kernel (kernel_side.py), or a stream of events
(stream/side.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from probescope.model.output import Frame, Lost
from probescope.model.types import Opaque

if TYPE_CHECKING:
    from probescope.collect.actions import Actions, MapReader
    from probescope.collect.unattached import Failure
    from probescope.evaluate.machine import Machine
    from probescope.evaluate.world import Event


class Side(Protocol):
    """Phases as in session.py."""

    @property
    def maps(self) -> MapReader:
        """What printing and clearing see of the maps, after ``prepare``."""
        ...

    @property
    def store(self) -> Any:
        """What evaluated clauses do to them (``evaluate.store.Store``)."""
        ...

    @property
    def failures(self) -> list[Failure]:
        """Probes that were left out, after ``attach``."""
        ...

    @property
    def walking(self) -> bool:
        """Whether what was begun has to come to its end, even if the program has asked for its own."""
        ...

    @property
    def busy(self) -> bool:
        """Whether there may be something that does not wake us."""
        ...

    @property
    def by_clock(self) -> bool:
        """Whether intervals go by this machine's clock; else the side runs them."""
        ...

    @property
    def wall_offset(self) -> int | None:
        """From the clock of ``nsecs`` to the epoch in ns, where that is not this machine's."""
        ...

    def prepare(self) -> None: ...
    def names(self) -> NameSource: ...
    def wire(self, actions: Actions, machine: Machine, *, texts: bool) -> None:
        """Where records, and clauses that are evaluated, go."""
        ...

    def columnar(self) -> None:
        """From now on what is printed comes as ``Batch``."""
        ...

    def load(self) -> None: ...
    def attach(self, give_up: Callable[[], bool]) -> None: ...
    def activate(self, start_ns: int) -> None: ...
    def consume(self) -> bool:
        """Acts on what came; whether it was much, and looking again at once is worth while."""
        ...

    def live(self) -> bool:
        """Whether anything can still fire."""
        ...

    def others_live(self) -> bool:
        """With --follow: whether anything runs on that is followed."""
        ...

    def own_event(self, site: int, start_ns: int) -> Event:
        """What clauses see that probescope fires itself."""
        ...

    def stop(self) -> None: ...
    def losses(self, *, final: bool) -> Iterator[Lost]: ...
    def close(self) -> None: ...


class NameSource(Protocol):
    """Symbols and stacks (finish.py), and whoever follows processes for them."""

    def kernel(self, address: int) -> Frame: ...
    def user(self, pid: int, address: int) -> Frame: ...
    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None: ...
    @property
    def follows(self) -> bool: ...
    def start(self, pid: int, unwind_pids: Sequence[int] = ()) -> None: ...
    def preparation(self, pid: int) -> Callable[[], None] | None: ...
    def poll(self) -> bool: ...
    def losses(self) -> Iterator[Lost]: ...
    def close(self) -> None: ...
