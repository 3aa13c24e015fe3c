"""``ftrace:``: what tracefs offers. Files are opened, never changed; what needs a try is tried in an instance of our
own."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from probescope.kernel import tracefs
from probescope.kernel.features.answer import No
from probescope.kernel.host import host


def attempt(name: str) -> None:
    what = name.partition(":")[2]
    if what not in _ATTEMPTS:
        raise No("no such ftrace feature")
    _ATTEMPTS[what]()


def _file(name: str, flags: int = os.O_RDONLY) -> Callable[[], None]:
    def go() -> None:
        h = host()
        path = f"{tracefs.find_root()}/{name}"
        if not h.exists(path):
            raise No(f"no file {path}", errno.ENOENT)
        h.close(h.open(path, flags))

    return go


def _tracer(name: str, file: str = "") -> Callable[[], None]:
    def go() -> None:
        if name not in tracefs.tracers():
            raise No(f"available_tracers has no {name}")
        if file:
            _file(file)()

    return go


def _root() -> None:
    tracefs.find_root()


def _instances() -> None:
    tracefs.Instance("try").close()


def _trigger(text: str) -> Callable[[], None]:
    def go() -> None:
        with tracefs.Instance("try") as instance:
            file = "events/sched/sched_switch/trigger"
            instance.write(file, text)
            instance.write(file, "!" + text)

    return go


def _switch() -> None:
    """Writes into ftrace_enabled what it holds: no change. A kernel without the function tracer has no such file."""
    h = host()
    path = "/proc/sys/kernel/ftrace_enabled"
    if h.exists(path):
        h.write(path, h.read_text(path, 64))


_ATTEMPTS: dict[str, Callable[[], None]] = {
    "tracefs": _root,
    "instances": _instances,
    "function": _tracer("function", "set_ftrace_filter"),
    "function_graph": _tracer("function_graph", "set_graph_function"),
    "switch": _switch,
    "filter_functions": _file("available_filter_functions"),
    "blk": _tracer("blk"),
    "hwlat": _tracer("hwlat"),
    "osnoise": _tracer("osnoise"),
    "timerlat": _tracer("timerlat"),
    "wakeup": _tracer("wakeup"),
    "irqsoff": _tracer("irqsoff"),
    "kprobe_events": _file("kprobe_events"),
    "uprobe_events": _file("uprobe_events"),
    "dynamic_events": _file("dynamic_events"),
    "synthetic_events": _file("synthetic_events"),
    "user_events": _file("user_events_data", os.O_RDWR),
    "hist": _trigger("hist:keys=common_pid"),
    "stacktrace_trigger": _trigger("stacktrace:1"),
    "snapshot": _file("snapshot"),
    "error_log": _file("error_log"),
    "trace_marker": _file("trace_marker", os.O_WRONLY),
}
