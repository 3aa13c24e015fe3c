"""What a session is told, besides the program."""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """``pid``: only this process, 0 for all. ``command``: a program to start, which is followed until it ends.
    ``types`` gives named C types when they are first needed. ``texts``: printf output may be handed on in lumps (text
    views); ``everything``: report failed reads and the like too. ``cpid`` is the process id of a child that the
    caller started itself."""

    pid: int = 0
    command: tuple[str, ...] = ()
    unsafe: bool = False
    via: Literal["auto", "bpf"] = "auto"
    texts: bool = True
    everything: bool = False
