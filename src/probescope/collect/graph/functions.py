"""Patterns of the kernel's functions as ftrace takes them, how many there are, and how often they are called.

What is wanted, and how it is written (what is in a module, ``:mod:``, is understood by set_ftrace_filter alone, and so
looked for here):

- do_sys_openat2, 'ext4_*': as they are
- ext4:ext4_file_*: in a module; so :mod:ext4 and *_open:mod:ext4, as trace-cmd and the kernel write it
"""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from probescope.errors import KernelError, ProbeError
from probescope.frozen import dataclass
from probescope.kernel import tracefs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_NAMED = 2000
"""Functions of a module that are written one by one: each costs the kernel a look at all its functions."""
LARGE = 1000
TASTE_S, TASTE_SHARE = 0.1, 16


def named(patterns: Sequence[str]) -> tuple[str, ...]:
    """Patterns as every file of tracefs takes them. Raises ProbeError where a module has no such function."""
    out: list[str] = []
    for pattern in patterns:
        module, glob = _in_module(pattern)
        if not module:
            out.append(pattern)
            continue
        found = sorted({name for name, mod in tracefs.filter_functions() if mod == module and fnmatchcase(name, glob)})
        if not found:
            raise _none(pattern, module)
        if len(found) > MOST_NAMED:
            hints = [f"{module} has {len(found):,} functions like it, and {MOST_NAMED:,} are the most: be more exact"]
            raise ProbeError(f"too many functions are meant by {pattern}", hints=hints)
        out += found
    return tuple(out)


def _in_module(pattern: str) -> tuple[str, str]:
    """(module, glob); an empty module: it is of no module."""
    if ":mod:" in pattern:
        glob, _, module = pattern.partition(":mod:")
        return module, glob or "*"
    module, colon, glob = pattern.partition(":")
    return (module, glob or "*") if colon else ("", pattern)


def _none(pattern: str, module: str) -> ProbeError:
    from probescope.diagnostics import nearest

    modules = sorted({mod for _, mod in tracefs.filter_functions() if mod})
    if module in modules:
        names = [name for name, mod in tracefs.filter_functions() if mod == module]
        near = nearest(_in_module(pattern)[1], names)
        hints = [f"did you mean {module}:{near[0]}?"] if near else [f"probescope list 'kprobe:{module}:*'"]
        return ProbeError(f"the module {module} has no function {_in_module(pattern)[1]}", hints=hints)
    near = nearest(module, modules)
    hints = [f"did you mean {near[0]}?"] if near else ["lsmod shows those that are loaded"]
    return ProbeError(f"there is no module {module} with functions to trace", hints=hints)


# --- how many


def matching(patterns: Iterable[str]) -> list[int]:
    """Places, in available_filter_functions, of what the patterns mean; of all functions for ``*``. Raises
    KernelError."""
    wanted = [(_in_module(p), p) for p in patterns]
    exact = {glob for (module, glob), _ in wanted if not module and not any(c in glob for c in "*?[")}
    globs = [(module, glob) for (module, glob), _ in wanted if module or glob not in exact]
    if ("", "*") in globs:
        return list(range(sum(1 for _ in tracefs.filter_functions())))
    return [
        at
        for at, (name, mod) in enumerate(tracefs.filter_functions())
        if name in exact or any((not m or m == mod) and fnmatchcase(name, g) for m, g in globs)
    ]


@dataclass(frozen=True, slots=True)
class Expected:
    """``functions``: how many. ``calls_per_second``: of all of them, by a taste of a few; -1 where none was taken."""

    functions: int
    calls_per_second: float = -1.0

    def text(self) -> str:
        rate = f", about {self.calls_per_second:,.0f} calls a second" if self.calls_per_second >= 0 else ""
        return f"{self.functions:,} functions will be traced{rate}"


def expected(patterns: Sequence[str], pids: tuple[int, ...], taste: bool) -> Expected:
    """Of a set before it is armed. ``taste``: one function in ``TASTE_SHARE`` is counted for a while, where the set is
    large. Calls of different functions differ by orders of magnitude: it is no more than an idea. Raises KernelError,
    SessionError."""
    places = matching(patterns)
    if not taste or len(places) < LARGE:
        return Expected(len(places))
    few = places[TASTE_SHARE // 2 :: TASTE_SHARE]
    try:
        return Expected(len(places), _counted(few, pids) * len(places) / len(few))
    except KernelError:
        return Expected(len(places))


def _counted(places: list[int], pids: tuple[int, ...]) -> float:
    """Calls a second of these functions. The kernel takes numbers for names ("ftrace: Allow enabling of filters via
    index of available_filter_functions", 5.1), and finds those at once."""
    from probescope.collect.ftrace.arming import Armed
    from probescope.collect.ftrace.setup import Setup
    from probescope.kernel.machine import online_cpus

    numbers = tuple(str(at + 1) for at in places)
    with Armed(Setup(tracer="function", functions=numbers, pids=pids, tag="taste")) as armed:
        armed.start()
        begun = time.monotonic()
        time.sleep(TASTE_S)
        armed.stop()
        return armed.recorded(online_cpus()) / (time.monotonic() - begun)
