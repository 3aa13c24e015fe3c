"""What a buffer is set to, and how full it is, as JSON-able values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from probescope.collect.ftrace.stats import LOST, numbers
from probescope.errors import KernelError
from probescope.kernel import tracefs
from probescope.kernel.machine import online_cpus

_UNSET = ("#### all functions enabled ####", "#### no functions disabled ####", "no pid", "")
_LIMITS = {
    "functions": "set_ftrace_filter",
    "not": "set_ftrace_notrace",
    "pids": "set_event_pid",
    "function pids": "set_ftrace_pid",
}


def status(base: str, *, options: bool = False) -> dict[str, Any]:
    """Raises KernelError."""
    top = base == tracefs.find_root()
    out: dict[str, Any] = {
        "buffer": "" if top else base.rpartition("/")[2],
        "on": tracefs.read("tracing_on", base).strip() == "1",
        "tracer": tracefs.read("current_tracer", base).strip(),
        "clock": tracefs.read("trace_clock", base).partition("[")[2].partition("]")[0],
        "size_kb": int(tracefs.read("buffer_size_kb", base).split()[0].lstrip("X") or 0),
        "limits": dict(_limits(base)),
        "events": [_event(line, base) for line in tracefs.read("set_event", base).splitlines() if ":" in line],
        "cpus": [_cpu(cpu, tracefs.read(f"per_cpu/cpu{cpu}/stats", base)) for cpu in online_cpus()],
    }
    if options:
        out["options"] = tracefs.read("trace_options", base).split()
    return out


def _limits(base: str) -> list[tuple[str, list[str]]]:
    out: list[tuple[str, list[str]]] = []
    for name, file in _LIMITS.items():
        with suppress(KernelError):
            lines = tracefs.read(file, base).split("\n")
            shown = [line for line in lines if line.strip() not in _UNSET]
            out += [(name, shown)] if shown else []
    return out


def _event(line: str, base: str) -> dict[str, Any]:
    name = line.split(" ", maxsplit=1)[0]
    folder = f"events/{name.replace(':', '/', 1)}"
    filtered, triggers = "", list[str]()
    with suppress(KernelError):
        text = tracefs.read(f"{folder}/filter", base).strip()
        filtered = "" if text == "none" else text
        lines = tracefs.read(f"{folder}/trigger", base).splitlines()
        triggers = [one for one in lines if one and not one.startswith("#")]
    return {"name": name, "filter": filtered, "triggers": triggers}


def _cpu(cpu: int, stats: str) -> dict[str, int]:
    number = numbers(stats)
    lost = sum(number.get(name, 0) for name in LOST)
    return {"cpu": cpu, "entries": number.get("entries", 0), "bytes": number.get("bytes", 0), "lost": lost}
