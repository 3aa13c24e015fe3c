"""``probescope latency``: from one event to another, or what the kernel's latency tracers find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, cut_command, how_long, how_many
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

TRACERS = (
    "irqsoff",
    "preemptoff",
    "preemptirqsoff",
    "wakeup",
    "wakeup_rt",
    "wakeup_dl",
    "hwlat",
    "osnoise",
    "timerlat",
)
EXAMPLES = """examples:
  probescope latency sched:sched_waking to sched:sched_switch --match pid=next_pid --by comm -- sleep 5
  probescope latency 'sched:sched_switch /args.prev_pid > 0/ to sched:sched_switch' --match prev_pid=next_pid
  probescope latency syscalls:sys_enter_read to syscalls:sys_exit_read --by comm --over 10ms --stack
  probescope latency irq:irq_handler_entry to irq:irq_handler_exit --match irq,cpu --by start.name --seconds 5
  probescope latency kprobe:vfs_fsync to kretprobe:vfs_fsync -- dd if=/dev/zero of=/tmp/x count=1 conv=fsync
  probescope latency sched:sched_waking to sched:sched_switch --match pid=next_pid -i trace.dat
  probescope latency wakeup_rt --seconds 10          the longest time until a real-time thread ran, with its trace
  probescope latency osnoise --seconds 10            what takes CPUs away from programs, by kind
  probescope latency timerlat --stop 500us           until a timer is later than that, and what happened then

pairs of one key (--match; the thread by default) are measured by the kernel itself, by synthetic events, where it can,
otherwise by a program: BPF, perf's samples, ftrace's records, or a recording (-i)
"""


def parser() -> Parser:
    p = Parser(
        "latency", "Measure the time from one event to another, or find latencies of the kernel.", EXAMPLES, runs=True
    )
    p.add_argument("words", nargs="+", metavar="A to B | TRACER", help=f"events; or one of {', '.join(TRACERS)}")
    pairs = p.add_argument_group("from A to B")
    pairs.add_argument("-m", "--match", default="", metavar="FIELD[=FIELD],...", help="of A and of B; default: tid")
    pairs.add_argument(
        "--by", default="", metavar="FIELD,...", help="a line each: of B, or start.FIELD; comm, tid, cpu"
    )
    pairs.add_argument("--stack", action="store_true", help="the kernel's stack at B, of the longest ones")
    pairs.add_argument("-i", "--input", default="", metavar="FILE", help="of a recording: perf.data or trace.dat")
    via = ("auto", "synthetic", "bpf", "perf", "ftrace")
    pairs.add_argument("--via", choices=via, default="auto", help="how it is measured (auto)")
    pairs.add_argument("--synth", metavar="NAME", nargs="?", const="latency", help="only print the kernel's own words")
    pairs.add_argument("--worst", type=how_many, default=10, metavar="N", help="how many of the longest are shown (10)")
    pairs.add_argument("--most", type=how_many, default=20, metavar="N", help="lines of the table (20)")
    kernel = p.add_argument_group("the kernel's tracers")
    kernel.add_argument("--stop", type=_span, default=0, metavar="TIME", help="end at the first that is longer")
    kernel.add_argument("--cpus", default="", metavar="LIST", help="of osnoise, timerlat, hwlat: 0-3,6")
    kernel.add_argument("--period", type=_span, default=0, metavar="TIME", help="of a timer, or of a sample")
    kernel.add_argument("--runtime", type=_span, default=0, metavar="TIME", help="of each period that is sampled")
    kernel.add_argument("--functions", action="store_true", help="trace the functions on the way, which costs time")
    p.add_argument("--over", type=_span, default=0, metavar="TIME", help="tell each that took longer: 1ms, 50us")
    p.add_argument("--seconds", type=how_long, default=0.0, metavar="S", help="end after so long")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text, or json: a document a line")
    return p


_FACTORS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def _span(text: str) -> int:
    """In ns."""
    import argparse
    import re

    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(ns|us|ms|s)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no time: 50us, 1.5ms, 2s")
    return int(float(found[1]) * _FACTORS[found[2]])


_OF_PAIRS = ("match", "by", "stack", "input", "synth")
_OF_TRACERS = ("stop", "cpus", "period", "runtime", "functions")
_OF_SAMPLERS = ("cpus", "period", "runtime")


def _foreign(args: argparse.Namespace, names: tuple[str, ...], what: str) -> None:
    """Raises UsageError for options that mean nothing here."""
    given = next((n for n in names if getattr(args, n)), "")
    if given:
        raise UsageError(f"--{given} is of {what}", hints=["probescope latency --help"])


def main(argv: list[str]) -> int:
    args = parse(argv)
    if args.words[0] in TRACERS and len(args.words) == 1:
        _foreign(args, _OF_PAIRS, "latencies from A to B")
        if args.words[0] not in ("hwlat", "osnoise", "timerlat"):
            _foreign(args, _OF_SAMPLERS, "hwlat, osnoise and timerlat")
        from probescope.cli.latency_tracers import measure as trace

        return trace(args.words[0], args)
    from probescope.cli.latency_pairs import measure

    _foreign(args, _OF_TRACERS, "the kernel's tracers")
    return measure(" ".join(args.words), args)


def parse(argv: list[str]) -> argparse.Namespace:
    """What follows ``--`` is the command."""
    own, command = cut_command(argv)
    args = parser().parse_intermixed_args(own)
    args.command = command
    one = len(args.words) == 1 and not any(c in args.words[0] for c in ": ")
    if one and args.words[0] not in TRACERS:
        from probescope.diagnostics import nearest

        near = nearest(args.words[0], TRACERS)
        hints = [f"did you mean {' or '.join(near)}?"] if near else []
        raise UsageError(f"{args.words[0]} is no latency tracer", hints=[*hints, "or A to B: --help shows examples"])
    return args
