"""``probescope hist``: events counted by the kernel itself, by any of their fields: hist triggers, in one step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, cut_command, how_long, how_many
from probescope.errors import SessionError, UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.formats.tracetext.hist import Histogram

EXAMPLES = """examples:
  probescope hist sched:sched_switch --keys next_comm -- sleep 1
  probescope hist raw_syscalls:sys_enter --keys id.syscall,common_pid.execname --sort hitcount.descending --seconds 2
  probescope hist kmem:kmalloc --keys call_site.sym --values bytes_req,bytes_alloc --sort bytes_alloc.descending
  probescope hist syscalls:sys_enter_read --keys count.log2 --filter 'count > 100'
  probescope hist sched:sched_switch --keys common_stacktrace --seconds 1
  probescope hist sched:sched_switch --keys next_comm -i trace.dat
  probescope hist 'sched:sched_switch:hist:keys=next_pid:vals=next_prio if next_pid > 0' -f json

modifiers of keys: .hex .sym .sym-offset .syscall .execname .log2 .buckets=N .usecs; of values: .hex .percent .graph
without a command or --seconds it counts until Ctrl-C
"""


def parser() -> Parser:
    p = Parser("hist", "Count events in the kernel, by their fields, without BPF.", EXAMPLES, runs=True)
    p.add_argument("event", metavar="EVENT", help="SYSTEM:EVENT, or SYSTEM:EVENT:hist:keys=... in the kernel's words")
    p.add_argument("-k", "--keys", default="", metavar="FIELD,...", help="up to three, with modifiers; or common_pid")
    p.add_argument("-V", "--values", default="", metavar="FIELD,...", help="sums of these besides the hits")
    p.add_argument("-s", "--sort", default="", metavar="FIELD,...", help="keys or values; .descending turns it round")
    p.add_argument("--size", type=how_many, default=2048, metavar="N", help="keys that there is room for (2048)")
    p.add_argument("--filter", default="", metavar="EXPR", help="only these events: 'next_pid > 0 && prev_prio < 100'")
    p.add_argument("-i", "--input", default="", metavar="FILE", help="of a recording: trace.dat or perf.data")
    p.add_argument("--seconds", type=how_long, default=0.0, metavar="S", help="end after so long")
    p.add_argument("--most", type=how_many, default=0, metavar="N", help="print the last N rows, which are the largest")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default), or json")
    return p


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """What stands behind ``--`` is a command."""
    own, command = cut_command(argv)
    args = parser().parse_args(own)
    args.command = command
    return args


def main(argv: list[str]) -> int:
    args = parse_arguments(argv)
    event, trigger = asked(args)
    if args.input:
        show(recorded(args.input, event, trigger), args)
        return 0
    found, code = count(event, trigger, args.command, args.seconds)
    show(found, args)
    return code


def asked(args: argparse.Namespace) -> tuple[str, str]:
    """The event, and its trigger in the kernel's words. Raises UsageError."""
    event, colon, trigger = args.event.partition(":hist:")
    if event.count(":") != 1:
        from probescope.collect.ftrace.triggered import named

        meant = [f"did you mean {full}?" for full in named(event)]
        raise UsageError(f"{event} is no event", hints=meant or ["SYSTEM:EVENT, such as sched:sched_switch"])
    if colon:
        if args.keys or args.values or args.sort or args.filter:
            raise UsageError(
                "the keys are said twice", hints=["either SYSTEM:EVENT:hist:keys=..., or --keys and so on"]
            )
        return event, f"hist:{trigger}"
    if not args.keys:
        raise UsageError("which fields are to be counted by?", hints=["--keys next_comm", "probescope list -v EVENT"])
    parts = ["hist", f"keys={args.keys}"]
    parts += [f"vals={args.values}"] if args.values else []
    parts += [f"sort={args.sort}"] if args.sort else []
    parts += [f"size={args.size}"]
    return event, ":".join(parts) + (f" if {args.filter}" if args.filter else "")


def count(event: str, trigger: str, command: tuple[str, ...], seconds: float) -> tuple[list[Histogram], int]:
    """What was counted meanwhile, and the command's exit code. Raises SessionError where the kernel has no hist
    triggers."""
    from probescope.collect.ftrace.meanwhile import Meanwhile
    from probescope.collect.ftrace.triggered import Triggered, known_event
    from probescope.formats.tracetext.hist import parse_trigger
    from probescope.kernel.features import have

    parsed = parse_trigger(trigger)
    known_event(event)
    if have("ftrace:hist") is False:
        raise lacking(event, [str(key) for key in parsed.keys], parsed.filter)
    head, _, condition = trigger.partition(" if ")
    paused = f"{head}:pause" + (f" if {condition}" if condition else "")
    with Meanwhile(command, seconds) as meanwhile, Triggered("hist", clock="global") as held:
        held.trigger(event, paused)
        held.trigger(event, paused.replace(":pause", ":cont", 1))
        meanwhile.go()
        while meanwhile.wait():
            pass
        held.trigger(event, paused)
        return held.histograms(event), meanwhile.exit_code


def recorded(path: str, event: str, trigger: str) -> list[Histogram]:
    from probescope.collect.recorded.histogram import histogram
    from probescope.formats.sniff import open_recording
    from probescope.formats.tracetext.hist import parse_trigger

    with open_recording(path) as recording:
        return [histogram(recording, event, parse_trigger(trigger))]


def lacking(event: str, keys: list[str], condition: str) -> SessionError:
    """With the program that answers the same by other means."""
    names = {"common_pid": "tid", "common_cpu": "cpu", "cpu": "cpu", "stacktrace": "kstack"}
    names["common_stacktrace"] = "kstack"
    said = [names.get(k.partition(".")[0], f"args.{k.partition('.')[0]}") for k in keys]
    said = ["comm" if k == "common_pid.execname" else s for k, s in zip(keys, said, strict=True)]
    where = " /.../" if condition else ""
    by_size = [s for k, s in zip(keys, said, strict=True) if k.endswith(".log2")]
    value = f"hist({by_size[0]})" if len(by_size) == 1 else "count()"
    rest = ", ".join(s for s in said if [s] != by_size)
    program = f"tracepoint:{event}{where} {{ @{f'[{rest}]' if rest else ''} = {value}; }}"
    hints = [f"probescope run -e '{program}' counts the same, by BPF", "CONFIG_HIST_TRIGGERS has them"]
    return SessionError("this kernel has no hist triggers: it cannot count by itself", hints=hints)


def show(found: list[Histogram], args: argparse.Namespace) -> None:
    import json

    from probescope.views.hist.table import as_json, rows

    for histogram in found:
        if args.format == "json":
            sys.stdout.write(json.dumps(as_json(args.event.partition(":hist:")[0], histogram)) + "\n")
        else:
            sys.stdout.writelines(rows(histogram, args.most))
        if histogram.dropped:
            sys.stderr.write(f"LOST: {histogram.dropped:,} events: there was no room for their keys: a larger --size\n")
