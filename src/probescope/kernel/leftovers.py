"""What a killed run can leave behind in tracefs, who owns it, and its removal.

Everything of ours that the kernel would keep after our death carries ``probescope_<pid>_<pid namespace>_``. It is
reaped when that process is gone; the namespace's number tells our dead from the living of another container, whose pids
mean nothing here. bpf objects and perf events are tied to descriptors and vanish by themselves.
"""

from __future__ import annotations

import re
from contextlib import suppress

from probescope.errors import KernelError
from probescope.frozen import dataclass
from probescope.kernel.host import host
from probescope.kernel.procfs import ended

PREFIX = "probescope_"
OWNER = re.compile(r"probescope_(\d{1,10})_([0-9a-f]{1,16})_")


def pid_namespace() -> int:
    try:
        return host().inode("/proc/self/ns/pid")[1]
    except OSError:
        return 0


def owner_prefix() -> str:
    """The beginning of every name that this process gives to something global."""
    return f"{PREFIX}{host().getpid()}_{pid_namespace():x}_"


@dataclass(frozen=True, slots=True)
class Leftover:
    """``kind``: ``event`` (``name`` is GROUP/EVENT), ``instance``, or ``settings`` (``name`` is the file that says
    how they were). ``alive``: its owner still runs, or cannot be told
    dead."""

    kind: str
    name: str
    pid: int
    alive: bool


def leftovers() -> list[Leftover]:
    """Everything in tracefs with our prefix, of this process too. Raises KernelError if tracefs is not there."""
    from probescope.kernel import tracefs

    found: list[Leftover] = []
    root = tracefs.find_root()
    try:
        text = tracefs.read("dynamic_events")
    except KernelError:
        text = ""
    for line in text.splitlines():
        # "p:GROUP/EVENT place args", "r8:GROUP/EVENT ..." with a maxactive count, "s:synthetic/EVENT\tfields"
        name = line.replace("\t", " ").split(" ", 1)[0].partition(":")[2]
        if owner := OWNER.match(name.removeprefix("synthetic/")):
            found.append(_leftover("event", name, owner))
    try:
        names = host().listdir(root + "/instances")
    except OSError:
        names = []
    found += [_leftover("instance", name, owner) for name in sorted(names) if (owner := OWNER.match(name))]
    from probescope.kernel.borrowed import abandoned

    return found + [Leftover("settings", path, pid, alive) for path, pid, alive in abandoned()]


def _leftover(kind: str, name: str, owner: re.Match[str]) -> Leftover:
    pid = int(owner[1])
    foreign = int(owner[2], 16) != pid_namespace()
    return Leftover(kind, name, pid, foreign or not ended(pid))


def reap() -> list[Leftover]:
    """Removes what dead runs left, and returns it. What cannot be removed (still in use) is left out and left alone."""
    from probescope.kernel import tracefs

    instances = tracefs.find_root() + "/instances/"

    def remove(item: Leftover) -> bool:
        if item.kind == "instance":
            return tracefs.remove_instance(instances + item.name)
        if item.kind == "settings":
            from probescope.kernel.borrowed import settle

            return settle(item.name)
        return _remove_event(item.name)

    dead = [item for item in leftovers() if not item.alive]
    # settings may be those of an instance; an instance that has an event switched on keeps it
    dead.sort(key=lambda item: ("settings", "instance", "event").index(item.kind))
    return [item for item in dead if remove(item)]


def tidy() -> None:
    """``reap`` at the start of a run, which goes on where tracefs is absent or closed to it."""
    with suppress(KernelError):
        reap()


def _remove_event(name: str) -> bool:
    from probescope.kernel import tracefs

    if not host().exists(f"{tracefs.find_root()}/events/{name}/enable"):
        return True  # what its run had written down has removed it
    try:
        if not tracefs.read(f"events/{name}/enable").startswith("0"):  # writing a 0 makes the top buffer grow as well
            tracefs.write(f"events/{name}/enable", "0")
        tracefs.write("dynamic_events", f"-:{name}")
    except KernelError:
        return False
    return True
