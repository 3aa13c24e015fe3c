"""The event that a clause run by probescope itself sees: this process, now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from probescope.evaluate.world import Blank
from probescope.kernel import procfs

_CLOCKS = {"": 7, "boot": 7, "monotonic": 1, "tai": 11, "sw_tai": 11, "realtime": 0}


class OwnEvent(Blank):
    """``site``: number of the site that fired. ``start_ns``: CLOCK_BOOTTIME at activation."""

    def __init__(self, site: int, start_ns: int, cpid: int) -> None:
        self._facts: dict[str, Callable[[str], Any]] = {
            "pid": lambda _: os.getpid(),
            "tid": lambda _: os.getpid(),
            "uid": lambda _: os.getuid(),
            "gid": lambda _: os.getgid(),
            "comm": lambda _: own_comm(),
            "cpu": lambda _: procfs.last_cpu(os.getpid()),
            "nsecs": lambda clock: time.clock_gettime_ns(_CLOCKS[clock]),
            "elapsed": lambda _: max(0, time.clock_gettime_ns(7) - start_ns) if start_ns else 0,
            "rand": lambda _: int.from_bytes(os.urandom(4), "little"),
            "probe": lambda _: site,
            "func": lambda _: site,
            "cpid": lambda _: cpid,
            "cgroup": lambda _: own_cgroup(),
        }

    def context(self, name: str, arg: str) -> Any:
        return self._facts[name](arg)


def own_comm() -> bytes:
    return procfs.comm(os.getpid()).encode("utf-8", "surrogateescape")


def own_cgroup() -> int:
    from probescope.kernel.cgroups import own_id

    return own_id()
