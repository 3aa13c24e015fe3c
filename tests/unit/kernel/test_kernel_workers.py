"""Work that several processes share: results come back whole and in order, and no process is left, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from probescope.errors import FormatError, SessionError
from probescope.kernel.workers import MOST, SLOT, SLOTS, Workers, processors

DEADLINE_S = 20.0


def gone(pid: int) -> bool:
    """Within the deadline. A zombie that nobody has waited for counts as gone: its parent may be no child of ours."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_results_come_back_in_order_whatever_their_size() -> None:
    """Larger than all slots together, empty, and many: each as it was sent."""
    sizes = [0, 1, SLOT - 1, SLOT, SLOT + 1, SLOTS * SLOT + 5, 0, *[7] * 50]

    def work(number: int, send) -> None:  # type: ignore[no-untyped-def]
        for size in sizes:
            send(bytes([number]) * size)

    with Workers(3, work) as workers:
        for size in sizes:
            for number in (1, 2, 3):
                got = b"".join([bytes(p) for p in workers.take(number)])
                assert got == bytes([number]) * size


def test_an_error_of_a_worker_is_ours() -> None:
    """The same kind, with place and hints, after what was sent before."""

    def work(number: int, send) -> None:  # type: ignore[no-untyped-def]
        send(b"before")
        raise FormatError("nothing can be found", file="x.data", offset=16, hints=["look elsewhere"])

    with Workers(1, work) as workers:
        assert [bytes(p) for p in workers.take(1)] == [b"before"]
        with pytest.raises(FormatError) as found:
            list(workers.take(1))
    assert str(found.value) == "x.data+0x10: nothing can be found"
    assert found.value.hints == ("look elsewhere",)


def test_a_worker_that_is_killed_is_one_error() -> None:
    """Its result is missing: that is said, with the signal, and nobody waits for ever."""

    def work(number: int, send) -> None:  # type: ignore[no-untyped-def]
        send(b"%d" % os.getpid())
        signal.pause()

    with Workers(2, work) as workers:
        pids = [int(b"".join([bytes(p) for p in workers.take(n)])) for n in (1, 2)]
        os.kill(pids[0], signal.SIGKILL)
        with pytest.raises(SessionError, match="signal 9"):
            list(workers.take(1))
    assert all(gone(pid) for pid in pids)


def test_leaving_ends_workers_that_are_not_done() -> None:
    """A closed pipe, an error of ours: workers that wait for a free slot, or interrupt nothing, end as well."""

    def work(number: int, send) -> None:  # type: ignore[no-untyped-def]
        send(b"%d" % os.getpid())
        while True:
            send(bytes(SLOT))

    pids: list[int] = []
    with suppress(KeyError), Workers(2, work) as workers:
        pids += [int(b"".join([bytes(p) for p in workers.take(n)])) for n in (1, 2)]
        raise KeyError
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


PARENT = """
import os, signal
from probescope.kernel.workers import Workers
def work(number, send):
    send(b"%d" % os.getpid())
    signal.pause()
with Workers(2, work) as workers:
    print(*(b"".join([bytes(p) for p in workers.take(n)]).decode() for n in (1, 2)), flush=True)
    signal.pause()
"""


def test_workers_end_with_who_started_them() -> None:
    """Also if that is killed, which nothing of ours can notice."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        process.kill()
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_processors_are_those_that_this_process_may_use() -> None:
    """Bound to one CPU, there is one; never none, and never more than are worth it."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert processors() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert 1 <= processors() <= min(len(before), MOST)
