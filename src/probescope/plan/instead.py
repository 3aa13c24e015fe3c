"""Other probes that answer nearly the same question: what works where a probe cannot be used, and what is stabler.

For a kernel function these are the tracepoint of its name, the system call that it serves, and the events whose names
share its words; which of them exist is known to the caller, who gives the names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probescope.frozen import dataclass
from probescope.model.site import FentryAttach, KprobeAttach, PerfAttach, Site
from probescope.plan.mechanism import Offers

MOST = 4
_SYSCALL_PREFIXES = (
    "__x64_sys_",
    "__arm64_sys_",
    "__se_sys_",
    "__do_sys_",
    "do_sys_",
    "ksys_",
    "sys_",
    "vfs_",
    "do_",
    "__sys_",
)
_COMMON = frozenset(("do", "get", "set", "is", "to", "and", "sys", "init", "exit", "start", "end", "new", "kernel"))


@dataclass(frozen=True, slots=True)
class Instead:
    """A probe that exists here, and how it relates to what was asked."""

    probe: str
    why: str


def instead(site: Site, offers: Offers, events: Callable[[], Sequence[str]]) -> tuple[Instead, ...]:
    """Best first, at most a few. ``events``: gives CATEGORY:EVENT of every tracepoint, asked for only if needed."""
    match site.attach:
        case KprobeAttach(symbol=name, offset=0, ret=ret) if name:
            found = [*_typed(site, name, ret, offers), *_by_events(name, ret, events())]
        case FentryAttach(program=program) if program:
            return ()
        case FentryAttach(func=name, ret=ret):
            found = [*_untyped(name, ret, offers), *_by_events(name, ret, events())]
        case PerfAttach(type=0):
            found = [Instead("profile:hz:99", "samples by the clock: where the time goes, no counter needed")]
        case PerfAttach(type=5):
            found = []
        case _:
            return ()
    if not found and isinstance(site.attach, KprobeAttach | FentryAttach):
        found = [Instead("profile:hz:99", "count kstack: how often it is found on a CPU")]
    return tuple(found[:MOST])


def _typed(site: Site, name: str, ret: bool, offers: Offers) -> list[Instead]:
    """A trampoline needs types: a site that has named fields, or a result, comes from BTF."""
    known = bool(site.fields) or (ret and site.ret is not None)
    if not known or offers.state("attach:fentry") != "yes":
        return []
    return [Instead(f"{'fexit' if ret else 'fentry'}:{name}", "the same function through a trampoline: cheaper, typed")]


def _untyped(name: str, ret: bool, offers: Offers) -> list[Instead]:
    if offers.state("attach:kprobe") != "yes":
        return []
    return [Instead(f"{'kretprobe' if ret else 'kprobe'}:{name}", "the same function through a kprobe")]


def _by_events(name: str, ret: bool, events: Sequence[str]) -> list[Instead]:
    stem = name.strip("_")
    found = {f"tracepoint:{e}": "the event of that name" for e in events if e.partition(":")[2] == stem}
    found |= {f"tracepoint:{e}": "the system call that leads to it" for e in _system_calls(name, ret, set(events))}
    for event in _similar(stem, events):
        found.setdefault(f"tracepoint:{event}", "an event with words of its name")
    return [Instead(probe, why) for probe, why in found.items()]


def _system_calls(name: str, ret: bool, events: set[str]) -> list[str]:
    """``vfs_read`` and ``__x64_sys_read`` serve read(2); ``do_sys_openat2`` openat2(2) and openat(2)."""
    kind = "syscalls:sys_exit_" if ret else "syscalls:sys_enter_"
    out: list[str] = []
    for prefix in _SYSCALL_PREFIXES:
        if name.startswith(prefix):
            call = name.removeprefix(prefix)
            out += [kind + c for c in (call, call.rstrip("0123456789"), f"new{call}") if kind + c in events]
    return list(dict.fromkeys(out))


def _similar(stem: str, events: Sequence[str]) -> list[str]:
    """Events that share at least two words with the function, the category counting as one; best first."""
    words = [w for w in stem.split("_") if len(w) > 1]
    wanted = set(words) - _COMMON
    if not wanted:
        return []
    scored: list[tuple[float, str]] = []
    for event in events:
        category, _, rest = event.partition(":")
        if category == "syscalls":
            continue
        theirs = {w for w in rest.split("_") if len(w) > 1} | {category}
        shared = len(wanted & theirs)
        if shared >= 2:
            scored.append((shared / len(wanted | theirs), event))
    return [e for _, e in sorted(scored, key=lambda s: (-s[0], s[1]))][:MOST]
