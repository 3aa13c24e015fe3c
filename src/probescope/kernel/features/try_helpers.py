"""``helper:NAME`` and ``helper:NAME@KIND``: a program that calls it with nothing in its registers.

The verifier first asks whether programs of this kind may call it at all ("unknown func", later "program of this type
cannot use helper"), and only then looks at the arguments: any other complaint means that the helper is there.
"""

from __future__ import annotations

from probescope.errors import KernelError
from probescope.kernel.features.answer import No
from probescope.kernel.features.tiny import EXIT, LOADS, call, refusal
from probescope.kernel.uapi.helpers import IDS

_ABSENT = ("unknown func", "invalid func", "cannot use helper")

KINDS = (
    "kprobe",
    "tracepoint",
    "perf_event",
    "raw_tracepoint",
    "syscall",
    "kprobe_sleepable",
    "tp_btf",
    "iter",
    "fentry",
    "fexit",
)
"""Where a helper is looked for when no kind is named, in this order."""

TRAMPOLINES = frozenset(("fentry", "fexit"))

LOUD = frozenset(("helper:trace_printk", "helper:trace_vprintk", "helper:probe_write_user"))
"""Loading a program with these switches an event on, or writes a warning into the kernel's log."""


def attempt(name: str) -> None:
    what, _, kind = name.partition(":")[2].partition("@")
    number = IDS.get(what)
    if number is None or (kind and kind not in LOADS):
        raise No("no such helper" if number is None else "no such kind of program")
    said = ""
    for one in (kind,) if kind else KINDS:
        try:
            said = refusal(one, call(number) + EXIT)
        except No as e:
            said = said or f"unknown func: {e.reason}"
            continue
        except KernelError:
            if kind or one not in TRAMPOLINES:
                raise
            continue  # without trampolines, what only they may call is not there to be called
        if not any(sign in said for sign in _ABSENT):
            return
    raise No(f"no {kind or 'tracing'} program may call it")
