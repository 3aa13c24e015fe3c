"""``probe --via ftrace`` and ``--via perf``: definitions become events of tracefs while it runs, whose records are read
here. So it goes where programs in the kernel are not permitted, or where the kernel has none."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.api import Built
    from probescope.ir.program import Program
    from probescope.lang.probe.lower import Condition, Row
    from probescope.model.probe_found import ProbeEvent
    from probescope.model.site import Site
    from probescope.plan.events import StreamPlan

WHY = "BPF is not permitted here: the probe is an event of tracefs, as with --via ftrace"


def wanted(via: str) -> bool:
    """Whether events of tracefs are asked for, or what is left."""
    from probescope.collect.host import bpf_refused

    return via in ("ftrace", "perf") or (via == "auto" and bpf_refused())


def built(
    args: argparse.Namespace, found: Sequence[ProbeEvent], condition: Condition | None
) -> tuple[Built, tuple[Row, ...]]:
    """Puts the events into tracefs until ``probe_remembered.take_back``. Raises ProbeError with the kernel's reason,
    KernelError where tracefs cannot be written, ScriptError."""
    from probescope.api import Built, Request
    from probescope.lang.probe.traced import lower_traced

    sites = _sites(found)
    program, rows = lower_traced(found, sites, condition)
    follow = bool(args.command) and not args.all
    if args.via == "perf" and follow:
        raise UsageError("--via perf follows no command", hints=["-A: events of everybody while it runs, or -p PID"])
    request = Request("", "probe", command=shlex.join(args.command), pid=args.pid, follow=follow, signals=True)
    plan = _planned(args, program, follow=follow)
    if args.via == "auto" and not args.quiet:
        sys.stderr.write(f"WARNING: {WHY}\n")
    return Built(request, program, plan, plan.warnings), rows


def _sites(found: Sequence[ProbeEvent]) -> list[Site]:
    from probescope.api import parse_probe, resolve_context
    from probescope.frozen import replace
    from probescope.kernel.leftovers import owner_prefix
    from probescope.sources import probe_remembered, registry

    group = f"{owner_prefix()}probe"  # so doctor and the next run know whose it was
    mine = [replace(e, group=group, event=f"{e.event[:40]}_{i}") for i, e in enumerate(found)]
    probe_remembered.put_all(mine)
    ctx = resolve_context()
    ctx.need_fields = True
    return [registry.resolve(parse_probe(f"tracepoint:{e.group}:{e.event}"), ctx)[0] for e in mine]


def _planned(args: argparse.Namespace, program: Program, *, follow: bool) -> StreamPlan:
    from probescope.collect.host import arch, own_namespace, plan_request
    from probescope.collect.options import SessionOptions
    from probescope.evaluate.columns.runner import by_rows
    from probescope.plan.ftrace import plan_ftrace
    from probescope.plan.perf import plan_perf

    via: Literal["perf", "ftrace"] = "perf" if args.via == "perf" else "ftrace"
    asked = plan_request(SessionOptions(pid=args.pid, via=via))
    if via == "perf":
        return plan_perf(program, asked, by_rows)
    return plan_ftrace(program, asked, by_rows, arch(), follow=follow, nested=own_namespace() is not None)
