"""``probescope ftrace record``: into a trace.dat, as trace-cmd record does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.ftrace_options import add_tracing, number, split, trace_plan
from probescope.cli.parsing import Parser, command_words
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.ftrace.record_plan import CpuLoss, Recorded, RecordPlan

EXAMPLES = """examples:
  probescope ftrace record -e sched -- sleep 1
  probescope ftrace record -e sched:sched_switch -f 'prev_prio < 100' -e irq -- make
  probescope ftrace record -p function_graph -g do_sys_openat2 -F -c -- ls
  probescope ftrace record -p function -l 'ext4_*' --module ext4 -o ext4.dat -- tar xf x.tar
  probescope ftrace record -e sched_switch -R stacktrace -m 10000        until ^C, the last 10 MB of each CPU
then: probescope ftrace report, script, export, run -i trace.dat; trace-cmd report; kernelshark
"""


LATENCY = {"irqsoff", "preemptoff", "preemptirqsoff", "wakeup", "wakeup_rt", "wakeup_dl"}


def parser(command: str = "record") -> Parser:
    p = Parser("ftrace record", "Record events and functions of the kernel into a trace.dat.", EXAMPLES)
    add_tracing(p)
    p.add_argument("-o", dest="output", default="trace.dat", metavar="FILE", help="to this file (trace.dat)")
    p.add_argument("-m", dest="max_kb", metavar="KB", help="keep the latest of each CPU only")
    p.add_argument("-s", dest="sleep_us", metavar="US", help="look so often, not when buffers are half full")
    p.add_argument("--poll", action="store_true", help="look all the time: -s 1000")
    p.add_argument("-r", dest="priority", metavar="PRIORITY", help="record with this SCHED_FIFO priority")
    p.add_argument("--date", action="store_true", help="times of day instead of the clock's")
    p.add_argument("--user", default="", metavar="USER", help="run the command as this user")
    p.add_argument("--proc-map", action="store_true", help="save where the files of traced processes are mapped")
    p.add_argument("--file-version", choices=("6", "7"), help="of the file (7)")
    p.add_argument("--compression", choices=("any", "none", "zlib", "zstd"), help="of version 7 (any)")
    p.add_argument("--temp", default="", metavar="FOLDER", help="where pages wait until the file is written")
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    return split(parser(command), argv)


def main(command: str, argv: list[str]) -> int:
    from probescope.collect.ftrace.recording import record

    args = parse(command, argv)
    plan = record_plan(args)

    def say(text: str) -> None:
        sys.stderr.write(f"[ probescope ftrace record: {text} ]\n")

    done = record(plan, say)
    for text in told(done, quiet=args.quiet):
        say(text)
    return 128 + done.signal if done.signal else done.exit_code


def record_plan(args: argparse.Namespace) -> RecordPlan:
    """Raises UsageError."""
    from probescope.collect.ftrace.record_plan import RecordPlan

    trace = trace_plan(args)
    if not any(b.events or b.tracer != "nop" for b in trace.buffers):
        raise UsageError("what is to be recorded?", hints=["-e EVENT, -p TRACER, or -a for all events"])
    worst = next((b.tracer for b in trace.buffers if b.tracer in LATENCY), "")
    if worst:
        hints = [f"probescope ftrace start -p {worst}, then show prints it; probescope latency --help"]
        raise UsageError(f"{worst} keeps only the longest time that it has seen, nothing to be recorded", hints=hints)
    if args.only_command and not args.command:
        raise UsageError("-F traces the command: there is none", hints=["-P PID traces a process that runs already"])
    if args.user and not args.command:
        raise UsageError("--user is whom the command runs as: there is no command")
    version = int(args.file_version or (7 if args.compression != "none" or not args.file_version else 6))
    return RecordPlan(
        trace,
        args.output,
        command_words(args.command),
        only_command=args.only_command,
        user=args.user,
        version=version,
        compression=compression(args.compression, version),
        max_kb=number(args.max_kb, "-m", 1 << 31) if args.max_kb else 0,
        sleep_us=number(args.sleep_us, "-s", 1 << 31) if args.sleep_us else 1000 if args.poll else 0,
        priority=number(args.priority, "-r", 99) if args.priority else 0,
        date=args.date,
        proc_map=args.proc_map,
        folder=args.temp,
    )


def compression(asked: str | None, version: int) -> str:
    """Raises UsageError for one that the version does not have, or that Python lacks."""
    if version == 6:
        if asked in {"zlib", "zstd"}:
            raise UsageError("version 6 of trace.dat is not compressed", hints=["--file-version 7"])
        return "none"
    if asked in {None, "any", "zstd"}:
        from probescope.errors import FormatError
        from probescope.formats.zstd import zstd

        try:
            zstd()
        except FormatError:
            if asked == "zstd":
                raise
            return "none"
        return "zstd"
    return asked or "none"


def told(done: Recorded, *, quiet: bool) -> list[str]:
    """What was recorded, and what was not."""
    out = [] if quiet else [f"wrote {done.path}: {done.events:,} events, {done.size / (1 << 20):.3f} MB"]
    if done.cut and not quiet:
        out.append(f"{done.cut / (1 << 20):.1f} MB of older events were left out, as -m says")
    return out + lost(done.losses)


def lost(losses: Sequence[CpuLoss]) -> list[str]:
    out = []
    for loss in losses:
        where = f"CPU {loss.cpu}" + (f" of {loss.buffer}" if loss.buffer else "")
        out.append(f"LOST: {loss.overrun + loss.dropped:,} events of {where} that its buffer had no room for: -b KB")
    return out
