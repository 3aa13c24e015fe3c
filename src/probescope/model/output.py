"""What a session says, as values: every view (text, JSON, an API caller's loop) takes the same ones.

Values inside are finished: opaque numbers have become texts or stacks. Their types come along for those who need them.
"""

from __future__ import annotations

from typing import Any, Literal

from probescope.diagnostics import Diagnostic
from probescope.frozen import dataclass, field
from probescope.model.format import Format
from probescope.model.types import Agg, Type


@dataclass(frozen=True, slots=True)
class Output:
    """Base of everything a session says."""


@dataclass(frozen=True, slots=True)
class Attached(Output):
    """All probes are in place; ``count`` of them."""

    count: int


@dataclass(frozen=True, slots=True)
class Text(Output):
    """Text to be written as it is. ``kind``: printf, time, cat, join, system, strftime...; errorf, warnf and debugf
    go to stderr. ``message`` and ``place``: of errorf and warnf, what was printed and where in the script."""

    kind: str
    text: str
    values: tuple[Any, ...] = ()
    message: str = field(default="", compare=False, repr=False)
    place: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Batch(Output):
    """Many events of one statement, as columns by name (numpy arrays of ``count`` items). ``action``: its place in the
    program's actions."""

    action: int
    kind: str
    count: int
    columns: dict[str, Any] = field(repr=False)

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class ValueOut(Output):
    """``print(expr)``, or ``print(@x[k])`` with ``map`` and ``key`` given."""

    type: Type | Agg
    value: Any
    map: str = ""
    key_type: Type | None = None
    key: Any = None


@dataclass(frozen=True, slots=True)
class MapOut(Output):
    """A whole map: pairs of finished key and value (aggregations: states of ``model/aggregate.py``), sorted as they
    are printed. ``top`` 0: all. ``div``: values are divided by it. ``final``: printed at exit. ``format``: of each
    entry, if the program asks for one (model/mapformat.py). ``labels``: names for the items of the key."""

    name: str
    key_type: Type | None
    value_type: Type | Agg
    items: tuple[tuple[Any, Any], ...]
    top: int = 0
    div: int = 0
    final: bool = False
    format: Format | None = field(default=None, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lost(Output):
    """Something was lost or went wrong ``count`` times: ``kind`` as in bpf/unit.py's counters; ``about`` says it in
    words and ``hint`` what to change."""

    kind: str
    count: int
    about: str
    hint: str = ""
    place: str = ""
    helper: str = ""  # of the kernel, that failed with ``code``
    code: int = 0
    context: str = field(default="", compare=False, repr=False)  # the line of the script, with the place marked


@dataclass(frozen=True, slots=True)
class Warned(Output):
    """Something in the script is not done, and the session goes on: a probe that the kernel refuses."""

    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True)
class TestResult(Output):
    """What became of a ``test:`` probe: the one at ``index`` of ``names``. ``passed``: of those until this one, itself
    included. ``said``: what it printed."""

    __test__ = False  # not a test case, whatever its name says to pytest

    names: tuple[str, ...]
    index: int
    passed: tuple[bool, ...]
    duration_ns: int
    said: tuple[Output, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchResult(Output):
    """What a ``bench:`` probe takes, as the mean of ``runs``."""

    names: tuple[str, ...]
    index: int
    average_ns: int
    runs: int


@dataclass(frozen=True, slots=True)
class Ended(Output):
    """The session is over; ``code`` is the exit code that the program asked for."""

    code: int = 0
    reason: Literal["exit", "signal", "child", "limit", "end"] = "end"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a finished stack: ``symbol`` is empty where none is known; ``offset`` from the symbol; ``module``
    the file or kernel module it lies in. ``file`` and ``line`` (0: unknown) of the source, where debug information
    tells them. ``build_id``: in hex, of the file; then ``offset`` is that in the file. ``inlined``: a function that has
    no frame of its own, and no offset; the next frame has called it."""

    address: int
    symbol: str = ""
    offset: int = 0
    module: str = ""
    inlined: bool = False
    file: str = ""
    line: int = 0
    build_id: str = ""


@dataclass(frozen=True, slots=True)
class StackOut:
    """A finished stack, innermost frame first. ``mode`` chooses the text form: bpftrace, perf, raw or build_id.
    ``lost``: it was not kept."""

    frames: tuple[Frame, ...] = ()
    mode: str = "bpftrace"
    user: bool = False
    pid: int = 0
    lost: bool = field(default=False)
