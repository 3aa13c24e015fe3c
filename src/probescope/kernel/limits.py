"""What a process may raise for itself."""

from __future__ import annotations

import os
from contextlib import suppress

from probescope.errors import UsageError


def more_files() -> None:
    """As many open files as the hard limit allows. A program that is started later inherits it: start it before."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def bounded(data: int) -> None:
    """This process has at most so many bytes of memory of its own; what goes beyond is refused to who asks for it,
    instead of to whoever the kernel picks when there is none left. Programs that it starts later inherit it.

    Source: getrlimit(2), RLIMIT_DATA (mmap counts since Linux 4.7).
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [n for n in (soft, hard, data) if n != resource.RLIM_INFINITY]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))


def urgent(by: int = -10) -> int:
    """This thread comes before ordinary ones (``by`` as of nice(1)), where that is allowed; what its niceness was.
    Threads and programs that it starts later inherit it."""
    was = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, min(was, by))
    return was


def ordinary(niceness: int = 0) -> None:
    """This thread, as it was."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)


def ahead() -> None:
    """This thread comes before those that it has started, where all have one real-time priority: the kernel would let
    each of them go on until it waits for something (SCHED_FIFO, sched(7)). Ordinary threads share."""
    policy = os.sched_getscheduler(0)
    if policy & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
        priority = os.sched_getparam(0).sched_priority
        with suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(min(priority + 1, 99)))


def realtime(priority: int) -> None:
    """SCHED_FIFO for this process; programs that it starts later do not inherit it. Raises UsageError."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as e:
        hints = ["1 to 99, with CAP_SYS_NICE: sudo probescope ..."]
        raise UsageError(f"cannot get the priority {priority}: {e.strerror}", hints=hints) from None
