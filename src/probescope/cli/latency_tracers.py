"""``probescope latency TRACER``: the kernel's own latency tracers, with what they found."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.errors import SessionError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.ftrace.latency_tracer import LatencyTracer
    from probescope.collect.ftrace.meanwhile import Meanwhile
    from probescope.views.latency.samples import Samples

LOOK_MS = 100
TAIL = 40
"""Lines of a trace that ended with what was too long: that is at the end."""
MOST_LINES = 200
"""Of the trace of a maximum: with functions it may have tens of thousands."""

_SWITCH = "probescope latency 'sched:sched_waking{} to sched:sched_switch' --match pid=next_pid"
_OFF = "probescope latency preemptirq:{0}_disable to preemptirq:{0}_enable --match cpu"
_IRQ = "probescope latency irq:irq_handler_entry to irq:irq_handler_exit --match irq,cpu"
INSTEAD: dict[str, tuple[str, str]] = {
    # tracer: (the option of the kernel that has it, what answers a like question without)
    "irqsoff": ("CONFIG_IRQSOFF_TRACER", _OFF.format("irq")),
    "preemptoff": ("CONFIG_PREEMPT_TRACER", _OFF.format("preempt")),
    "preemptirqsoff": ("CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER", _OFF.format("irq")),
    "wakeup": ("CONFIG_SCHED_TRACER", _SWITCH.format("")),
    "wakeup_rt": ("CONFIG_SCHED_TRACER", _SWITCH.format(" /args.prio < 100/")),
    "wakeup_dl": ("CONFIG_SCHED_TRACER", _SWITCH.format(" /args.prio < 0/")),
    "hwlat": ("CONFIG_HWLAT_TRACER", ""),
    "osnoise": ("CONFIG_OSNOISE_TRACER", _IRQ),
    "timerlat": ("CONFIG_TIMERLAT_TRACER", _SWITCH.format("")),
}


def measure(tracer: str, args: argparse.Namespace) -> int:
    from probescope.collect.ftrace.latency_tracer import LatencyTracer, TracerAsked
    from probescope.collect.ftrace.meanwhile import Meanwhile
    from probescope.kernel import tracefs

    if tracer not in tracefs.tracers():
        raise _absent(tracer)
    us = {name: getattr(args, name) // 1000 for name in ("over", "stop", "period", "runtime")}
    asked = TracerAsked(tracer, **us, cpus=args.cpus, functions=args.functions)
    with Meanwhile(args.command, args.seconds) as meanwhile, LatencyTracer(asked) as run:
        if not run.private:
            _tell("this kernel has the tracer in the top buffer only: that one is used, and left as it was")
        found = _samples(run) if run.sampler else None  # whatever takes time is done before it starts
        run.start()
        meanwhile.go()
        if found is not None:
            _sampled(run, found, meanwhile, args)
        else:
            _maximum(run, meanwhile, args)
        return meanwhile.exit_code


def _samples(run: LatencyTracer) -> Samples:
    from probescope.views.latency.samples import samples

    return samples(run.asked.tracer, run.events)


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _absent(tracer: str) -> SessionError:
    from probescope.kernel import tracefs

    option, other = INSTEAD[tracer]
    event = next((w.strip("'") for w in other.split() if ":" in w), "")
    hints = [f"a kernel built with {option} has it (Debian's linux-image-rt-amd64 has all but irqsoff and preemptoff)"]
    if other and tracefs.has_event(*event.split(":", 1)):
        hints.insert(0, f"a like question: {other}")
    elif not other:
        hints.insert(0, "nothing else sees what the hardware keeps from the kernel")
    return SessionError(f"this kernel has no tracer {tracer}", hints=hints)


# --- the longest one


def _maximum(run: LatencyTracer, meanwhile: Meanwhile, args: argparse.Namespace) -> None:
    longest, trace = 0, ""
    before, going = 0, True
    while going:
        going = meanwhile.wait(LOOK_MS)
        now = run.maximum()
        if now == before:
            continue
        before = now
        if args.over:
            _found(now, args)
        if now > longest:
            longest, trace = now, run.text() if args.over else ""
        if args.stop and now * 1000 > args.stop:
            break
    run.stop()
    if not trace:
        longest, trace = run.maximum(), run.text()
    if args.format == "json":
        _write([json.dumps({"type": "max", "tracer": run.asked.tracer, "latency_us": longest, "trace": trace}) + "\n"])
    elif not longest:
        _write([f"nothing that {run.asked.tracer} watches took any time\n"])
    else:
        _write([f"{run.asked.tracer}: the longest took {longest:,} us\n", *_cut(trace)])


def _found(us: int, args: argparse.Namespace) -> None:
    at = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if args.format == "json":
        _write([json.dumps({"type": "found", "latency_us": us, "time_ns": at}) + "\n"])
    else:
        _write([f"{us:>10,} us  seen at {at // 1_000_000_000}.{at % 1_000_000_000 // 1000:06}\n"])
    sys.stdout.flush()


def _cut(trace: str) -> Iterator[str]:
    from probescope.model.visible import visible

    lines = trace.splitlines()
    half = MOST_LINES // 2
    for number, line in enumerate(lines):
        if len(lines) > MOST_LINES and half <= number < len(lines) - half:
            if number == half:
                yield f"... {len(lines) - MOST_LINES:,} lines; -f json has all\n"
            continue
        yield visible(line) + "\n"


# --- samples


def _sampled(run: LatencyTracer, found: Samples, meanwhile: Meanwhile, args: argparse.Namespace) -> None:
    going, stopped = True, False
    while going:
        going = meanwhile.wait(LOOK_MS)
        if args.stop and run.stopped():
            stopped = True
            break
        batch = run.records() if not args.stop else None  # what is read is in no text any more
        if batch is not None:
            found.add(batch)
    run.stop()
    tail = run.text().splitlines()[-TAIL:] if stopped else []
    for batch in run.rest():
        found.add(batch)
    if args.format == "json":
        _write(json.dumps(d) + "\n" for d in found.documents())
        if stopped:
            _write([json.dumps({"type": "stopped", "trace": "\n".join(tail)}) + "\n"])
    else:
        _write(found.rows() if found.count else ["nothing was sampled: a longer time, or a lower --over\n"])
        if stopped:
            _write(["it ended at the first that was longer; before that:\n", *_cut("\n".join(tail))])
    lost = run.lost()
    if lost:
        _tell(f"LOST: {lost:,} records that the buffers had no room for: fewer --cpus, or a longer --period")


def _write(lines: Iterator[str] | list[str]) -> None:
    sys.stdout.writelines(lines)
