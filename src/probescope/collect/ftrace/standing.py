"""Traces that outlive the command: `ftrace start`, `set`, `stop`, `restart`, `clear`, `reset`, `extract`."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from contextlib import suppress

from probescope.collect.asked import processes_asked_for
from probescope.collect.ftrace import about, refusals
from probescope.collect.ftrace.buffers import Buffers, loss_of
from probescope.collect.ftrace.places import Place
from probescope.collect.ftrace.record_plan import Recorded, TracePlan
from probescope.collect.ftrace.recording import put_together, read_events
from probescope.collect.ftrace.spools import check_output, opened
from probescope.errors import KernelError, SessionError
from probescope.frozen import replace
from probescope.kernel import tracefs
from probescope.kernel.advice import kernel_error
from probescope.kernel.borrowed import FOLDER, Borrowed
from probescope.kernel.host import host
from probescope.kernel.leftovers import reap
from probescope.kernel.machine import online_cpus
from probescope.kernel.started import OWN, Started, all_started, keep, remove

_PATIENCE_S = 2.0


def start(plan: TracePlan, before: Callable[[Buffers], None] = lambda _: None) -> list[Started]:
    """Everything is in place and on when it returns; ``before`` is called while it is off still. Raises what
    ``Buffers`` raises, SessionError where such a trace stands already."""
    processes_asked_for(plan.pids)
    reap()
    made: list[str] = []

    def make(name: str) -> str:
        instance = name or OWN
        path = f"{tracefs.find_root()}/instances/{instance}"
        try:
            host().mkdir(path)
        except OSError as e:
            raise _there(instance, e, path) from None
        keep(Started(instance))
        made.append(instance)
        return path

    try:
        buffers = Buffers(plan, make)
    except BaseException:
        _forget(made)
        raise
    try:
        before(buffers)
        told = [Started(p.name or OWN, not p.private) for p in buffers.places]
        told[0] = replace(told[0], undo=tuple(buffers.borrowed.undo), events=_listed(buffers))
        for one in told:
            keep(one)
        buffers.start()
    except BaseException:
        buffers.close()
        _forget(made)
        raise
    buffers.hand_over()
    return told


def _there(instance: str, e: OSError, path: str) -> Exception:
    if e.errno != errno.EEXIST:
        return kernel_error(f"mkdir {path}", e.errno or 0, path=path)
    if any(one.instance == instance for one in all_started()):
        again = "probescope ftrace reset ends it; set changes it; stop, restart, show, extract use it"
        return SessionError(f"the trace {instance} was started already", hints=[again])
    return SessionError(f"there is an instance {instance} that was not started by probescope", hints=["-B NAME"])


def _forget(made: list[str]) -> None:
    """Only what cannot be removed, because somebody reads it, is remembered still."""
    for one in all_started():
        if one.instance in made:
            remove(one)


def _listed(buffers: Buffers) -> dict[str, list[str]]:
    return {system: sorted(names) for system, names in buffers.enabled.items()}


def change(plan: TracePlan) -> None:
    """`set`: of traces that stand. They go on meanwhile."""
    processes_asked_for(plan.pids)
    standing = {one.label: one for one in all_started()}
    for b in plan.buffers:
        if b.name not in standing:
            raise nothing_started(b.name)
    buffers = Buffers(plan, lambda name: standing[name].base, owned=False)
    first = standing[plan.buffers[0].name]
    events = {
        s: sorted({*first.events.get(s, ()), *buffers.enabled.get(s, ())}) for s in {*first.events, *buffers.enabled}
    }
    keep(replace(first, undo=(*first.undo, *buffers.hand_over()), events=events))


def nothing_started(name: str = "") -> SessionError:
    """Raises PermissionDenied or Unsupported for who may not see what was started."""
    tracefs.find_root()
    try:
        host().listdir(FOLDER)
    except PermissionError as e:
        raise kernel_error(f"read {FOLDER}", e.errno or 0, path=FOLDER) from None
    except OSError:  # no trace was started since the machine was
        pass
    what = f"no trace {name} was started" if name else "no trace was started"
    return SessionError(what, hints=["probescope ftrace start -e EVENT starts one; ftrace stat shows what there is"])


def chosen(names: list[str], *, every: bool = False) -> list[Started]:
    """Those of ``-B``; ``every``: all; neither: the one without a name, or if there is none all. Raises
    SessionError."""
    standing = all_started()
    if not standing:
        raise nothing_started(names[0] if names else "")
    if every:
        return standing
    if names:
        by_name = {one.instance: one for one in standing}
        missing = next((n for n in names if n not in by_name), "")
        if missing:
            raise nothing_started(missing)
        return [by_name[n] for n in names]
    return [one for one in standing if not one.label] or standing


def switch(some: list[Started], *, on: bool) -> None:
    for one in some:
        tracefs.write("tracing_on", str(int(on)), one.base)


def clear(some: list[Started]) -> None:
    for one in some:
        tracefs.write("trace", "", one.base, truncate=True)


def reset(some: list[Started]) -> None:
    """Raises SessionError where a reader keeps one."""
    for one in some:
        until = time.monotonic() + _PATIENCE_S
        while not remove(one):
            if time.monotonic() > until:
                what = f"the trace {one.instance} cannot be removed: somebody reads it"
                raise SessionError(what, hints=["end whatever shows it, then reset again"])
            time.sleep(0.05)


def extract(some: list[Started], path: str, version: int, compression: str, *, snapshot: bool = False) -> Recorded:
    """What their buffers hold, as a trace.dat, and out of the buffers. Tracing rests meanwhile, and goes on."""
    check_output(path)
    borrowed = Borrowed()
    places = [Place(one.label, one.base, borrowed, private=True) for one in some]
    on = [p for p in places if p.read("tracing_on").strip() == "1"]
    cpus = online_cpus()
    file = "snapshot_raw" if snapshot else "trace_pipe_raw"
    if snapshot and not host().exists(f"{places[0].base}/snapshot"):
        raise refusals.no_snapshots()
    for place in on:
        tracefs.write("tracing_on", "0", place.base)
    spools = None
    try:
        spools = opened(places, cpus, path, 0, file=file)
        spools.finish()
        stats = [(p, cpu, tracefs.read(f"per_cpu/cpu{cpu}/stats", p.base)) for p in places for cpu in cpus]
        clock = places[0].read("trace_clock").partition("[")[2].partition("]")[0]
        head = about.head(_all_events(some), clock, version, compression)
        head = replace(head, options=tuple(about.options(stats, max(cpus) + 1)))
        done = put_together(head, spools, path)  # or the pages stay, as it says: they are out of the buffers
        spools.remove()
        if not snapshot:
            clear(some)  # the kernel's counts of what was read and lost: the next time they are told of what came since
    finally:
        if spools is not None:
            spools.close()
        for place in on:
            with suppress(KernelError):
                tracefs.write("tracing_on", "1", place.base)
    losses = tuple(loss for p, cpu, text in stats if (loss := loss_of(p.name, cpu, text)).any)
    return replace(done, losses=losses, events=sum(read_events(text) for _, _, text in stats))


def _all_events(some: list[Started]) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for one in all_started():  # the first knows the events of those that were started with it
        for system, names in one.events.items():
            out.setdefault(system, set()).update(names)
    for one in some:
        with suppress(KernelError):
            for line in tracefs.read("set_event", one.base).splitlines():
                system, _, name = line.split(" ")[0].partition(":")
                if name:
                    out.setdefault(system, set()).add(name)
    return out
