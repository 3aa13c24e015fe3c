"""What a probe definition turned out to be: one or more places, and how each argument is fetched there."""

from __future__ import annotations

from probescope.frozen import dataclass, field
from probescope.model.capture import Capture
from probescope.model.fetch import FetchArg, FetchType, Sum
from probescope.model.types import Type


@dataclass(frozen=True, slots=True)
class FoundArg:
    """``type``: what the program's own types say; ``None`` where nobody told. ``variable``: whose value it is, if it is
    that of one. ``capture``: how all of a value is had that is more than a number."""

    fetch: FetchArg
    type: Type | None = None
    variable: str = ""
    capture: Capture | None = None


@dataclass(frozen=True, slots=True)
class FoundProbe:
    """``path``: of a binary; empty for the kernel, whose ``module`` may be named. ``offset``: of a binary the place in
    its file, of the kernel bytes from ``symbol``. ``function`` and ``inside``: where that is for people; ``file`` and
    ``line`` in its source, if known. ``ref_ctr``: file offset of a USDT semaphore. ``inlined``: the function is inlined
    there. ``address``: as the file with the debug information has it, 0: none. ``lost``: what was asked for as one of
    many (``$vars``) and cannot be had, and why.
    ``returns``: the instruction there is one by which the function returns, where return probes must not be."""

    path: str
    symbol: str
    offset: int
    ret: bool
    args: tuple[FoundArg, ...] = ()
    function: str = ""
    inside: int = 0
    address: int = 0
    file: str = ""
    line: int = 0
    module: str = ""
    ref_ctr: int = 0
    inlined: bool = False
    lost: tuple[str, ...] = ()
    returns: bool = False
    base: str = ""  # what the event is called after, if not after the function
    notes: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ProbeEvent:
    """A place with the name of its event."""

    group: str
    event: str
    found: FoundProbe

    @property
    def name(self) -> str:
        return f"{self.group}:{self.event}"

    def untold(self) -> tuple[str, ...]:
        """Names of arguments that ``definition`` leaves out: tracefs fetches memory, but no address that is a sum."""
        return tuple(a.fetch.name for a in self.found.args if isinstance(a.fetch.x, Sum))

    def definition(self) -> str:
        """The line for kprobe_events or uprobe_events of tracefs."""
        f = self.found
        return " ".join((f"{'r' if f.ret else 'p'}:{self.group}/{self.event}", place_text(f), *args_texts(f)))


def place_text(f: FoundProbe) -> str:
    if f.path:
        counter = f"({f.ref_ctr:#x})" if f.ref_ctr else ""
        return f"{f.path}:{f.offset:#x}{counter}"
    symbol = f"{f.module}:{f.symbol}" if f.module and f.symbol else f.symbol
    if not symbol:
        return f"{f.address:#x}"
    return symbol if f.ret and not f.offset else f"{symbol}+{f.offset}"


def args_texts(f: FoundProbe) -> tuple[str, ...]:
    return tuple(str(a.fetch) for a in f.args if not isinstance(a.fetch.x, Sum))


__all__ = ["FetchArg", "FetchType", "FoundArg", "FoundProbe", "ProbeEvent", "args_texts", "place_text"]
