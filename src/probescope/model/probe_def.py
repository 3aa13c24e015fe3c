"""A probe definition as written: which place of a function or file, and what is wanted there. Not looked up yet.

[[GROUP:]EVENT=]PLACE [ARG ...]

vfs_read file->f_path.dentry->d_name.name:string
myevent=main@src/main.c:12 count argv[1]:string $params
read%return $retval          main+0x10          main.c:30          schedule;rq=cpu_rq*          %sdt_libc:setjmp
"""

from __future__ import annotations

from probescope.diagnostics import NOWHERE, Source, Span
from probescope.frozen import dataclass, field
from probescope.model.fetch import Fetch, FetchType


@dataclass(frozen=True, slots=True)
class Var(Fetch):
    """A variable by its name, whose value is wanted."""

    name: str


@dataclass(frozen=True, slots=True)
class Member(Fetch):
    """``x.name``, with ``arrow`` ``x->name``."""

    x: Fetch
    name: str
    arrow: bool = False


@dataclass(frozen=True, slots=True)
class Element(Fetch):
    """``x[index]``; ``count``: ``x[index-last]``, so many elements, 0: the one."""

    x: Fetch
    index: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class Container(Fetch):
    """``container_of(x, struct type, member.of.it)``: a pointer to what ``x`` points into."""

    x: Fetch
    type: str
    member: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Star(Fetch):
    """``*x``"""

    x: Fetch


@dataclass(frozen=True, slots=True)
class ArgDef:
    """One argument. ``every``: ``vars`` or ``params``, and then nothing else. ``type`` may lack its size. ``user``:
    what it points to is memory of the process (``@user``)."""

    name: str
    x: Fetch | None
    type: FetchType | None = None
    user: bool = False
    every: str = ""
    text: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """``function`` and one of ``offset``, ``line`` (from its first), ``label``, ``ret``, ``lazy``; or ``file`` and
    ``line`` or ``lazy``; or ``address``; or ``sdt`` with its ``provider``. ``file`` beside a function says which one of
    that name."""

    function: str = ""
    file: str = ""
    offset: int = 0
    line: int | None = None
    label: str = ""
    ret: bool = False
    lazy: str = ""
    address: int | None = None
    sdt: str = ""
    provider: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        if self.sdt:
            return f"%sdt_{self.provider}:{self.sdt}" if self.provider else f"%{self.sdt}"
        text = self.function or (f"{self.address:#x}" if self.address is not None else "")
        text += (f"@{self.file}" if text else self.file) if self.file else ""
        text += f"+{self.offset}" if self.offset else ""
        text += f":{self.line}" if self.line is not None else f":{self.label}" if self.label else ""
        return text + ("%return" if self.ret else "") + (f";{self.lazy}" if self.lazy else "")


@dataclass(frozen=True, slots=True)
class ProbeDef:
    """``group`` and ``event`` are empty where they are to be chosen. ``source``: the text that spans refer to."""

    place: Place
    args: tuple[ArgDef, ...] = ()
    group: str = ""
    event: str = ""
    source: Source | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines to be shown: of a function (counted from its first, which is 0), or of a file (from 1). ``end`` -1: to the
    end of the function, or of the file."""

    function: str = ""
    file: str = ""
    start: int = 0
    end: int = -1
    given: bool = False
