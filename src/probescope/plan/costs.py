"""What one hit of each mechanism costs: nanoseconds that an empty program, or a record, adds to the traced code.

``USUAL`` was measured on a 2-core x86-64 machine with Linux 6.18; ``collect/measure.py`` measures the same names on any
machine. A name is a mechanism, and after a slash what makes it differ: ``uprobe_multi/stepped``.
"""

from __future__ import annotations

from collections.abc import Mapping

from probescope.frozen import dataclass, field
from probescope.model.site import FentryAttach, KprobeAttach, Site, UprobeAttach

USUAL: Mapping[str, int] = {
    "tp_btf": 55,
    "raw_tracepoint": 87,
    "tracepoint": 140,
    "fentry": 60,
    "fexit": 80,
    "kprobe_multi": 110,
    "kprobe_multi/return": 180,
    "kprobe_session": 110,
    "kprobe_session/return": 180,
    "kprobe": 130,
    "kprobe/return": 400,
    "uprobe_multi": 700,
    "uprobe_multi/nop5": 500,
    "uprobe_multi/stepped": 10_500,
    "uprobe_multi/return": 1_150,
    "uprobe_multi/usdt": 640,
    "uprobe": 700,
    "uprobe/stepped": 10_500,
    "uprobe/return": 1_150,
    "uprobe/usdt": 640,
    "perf_event": 1_500,
    "watchpoint": 1_500,
    "perf stat": 90,
    "perf record": 680,
    "perf record/uprobe": 1_300,
    "perf record/uprobe/stepped": 11_000,
    "perf record/stack": 1_350,
    "ftrace event": 300,
    "ftrace uprobe": 1_000,
    "ftrace uprobe/stepped": 10_400,
    "ftrace function": 150,
    "ftrace graph": 400,
}

ABOUT: Mapping[str, str] = {
    "uprobe_multi": "uprobe on an instruction that the kernel emulates (push, jmp, call, nop)",
    "uprobe_multi/nop5": "uprobe on a nop of five bytes",
    "uprobe_multi/stepped": "uprobe on an instruction that is single-stepped (mov, lea, sub)",
    "uprobe_multi/return": "return of a user function",
    "uprobe_multi/usdt": "USDT probe with a semaphore",
    "perf record": "sample of a tracepoint into a perf ring",
    "perf record/uprobe": "sample of a uprobe into a perf ring",
    "ftrace event": "record of a tracepoint in the trace buffer",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Nanoseconds a hit: the median, and the quartiles around it."""

    ns: int
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class Costs:
    """``measured``: on this machine, since it was booted; names that are missing there have their usual cost."""

    measured: Mapping[str, Cost] = field(default_factory=dict[str, Cost])

    def ns(self, name: str) -> int:
        """0 if nothing is known. The part behind the last slash is given up where it has no number of its own."""
        found = self._measured(name)
        if found is not None:
            return found.ns
        usual = USUAL.get(name)
        if usual is None and "/" in name:
            return self.ns(name.rpartition("/")[0])
        return usual or 0

    def is_measured(self, name: str) -> bool:
        return self._measured(name) is not None

    def _measured(self, name: str) -> Cost | None:
        """One uprobe and one of many cost the same at a hit: where only one of them was measured, it stands for
        both."""
        head, slash, tail = name.partition("/")
        return self.measured.get(name) or self.measured.get(_TWINS.get(head, head) + slash + tail)


_TWINS = {"uprobe": "uprobe_multi", "uprobe_multi": "uprobe"}

CLASSES: tuple[tuple[int, str], ...] = ((100, "very low"), (300, "low"), (2_000, "medium"))


def cost_class(ns: int) -> str:
    """A word for a cost; empty for 0, which means unknown."""
    if ns <= 0:
        return ""
    return next((word for most, word in CLASSES if ns < most), "high")


def one_percent(ns: int) -> str:
    """How many hits a second take one per cent of a CPU: two digits count."""
    rate = 10_000_000 // max(ns, 1)
    digits = 10 ** max(len(str(rate)) - 2, 0)
    return f"{rate // digits * digits:,}"


def cost_name(mechanism: str, site: Site) -> str:
    """The name under which the cost of a mechanism at a site is found."""
    match site.attach:
        case UprobeAttach(slow=True) if mechanism in _USER:
            return f"{_USER[mechanism]}/stepped"
        case UprobeAttach(ret=True) if mechanism in ("uprobe", "uprobe_multi"):
            return f"{mechanism}/return"
        case UprobeAttach() if mechanism in _USER:
            usdt = site.source == "usdt" and mechanism in ("uprobe", "uprobe_multi")
            return f"{mechanism}/usdt" if usdt else _USER[mechanism]
        case KprobeAttach(ret=True) | FentryAttach(ret=True) if mechanism.startswith("kprobe"):
            return f"{mechanism}/return"
        case _ if mechanism == "perf_event" and site.source in ("watchpoint", "asyncwatchpoint"):
            return "watchpoint"
        case _:
            return mechanism


_USER: Mapping[str, str] = {
    "uprobe": "uprobe",
    "uprobe_multi": "uprobe_multi",
    "perf record": "perf record/uprobe",
    "ftrace uprobe": "ftrace uprobe",
}
