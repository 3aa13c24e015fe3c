"""What a session is told, besides the program."""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """``pid``: only this process, 0 for all. ``command``: a program to start, which is followed until it ends.
    ``follow``: what either of them forks belongs to it.
    ``unwind_pids``: other processes whose unwind tables are to be there from the start.
    ``texts``: printf output may be handed on in lumps (text views); ``everything``: report failed reads and the like
    too. ``signals``: SIGINT and SIGTERM end the session in good order (commands want that; a library leaves signals to
    its caller). ``terminal``: people read the output on a terminal, which control characters of strangers
    must not reach. ``mode``: test or bench: their probes are all that is run, and only results are told. ``rehearsal``:
    no clause is run; the session is to attach and leave."""

    pid: int = 0
    command: tuple[str, ...] = ()
    follow: bool = False
    unwind_pids: tuple[int, ...] = ()
    unsafe: bool = False
    via: Literal["auto", "bpf", "perf", "ftrace"] = "auto"
    texts: bool = True
    everything: bool = False
    signals: bool = False
    rehearsal: bool = False
    mode: str = ""
    terminal: bool = False
