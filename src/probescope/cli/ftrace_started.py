"""``probescope ftrace start``, ``set``, ``stop``, ``restart``, ``clear``, ``reset``, ``extract``: traces that stay when
the command has ended, until ``reset``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.ftrace_options import add_tracing, split, trace_plan
from probescope.cli.parsing import Parser, command_words
from probescope.errors import UsageError
from probescope.frozen import replace

if TYPE_CHECKING:
    import argparse

    from probescope.collect.ftrace.record_plan import TracePlan
    from probescope.kernel.child import Child
    from probescope.kernel.started import Started

ABOUT = {
    "start": "Start tracing and leave it on. It goes on until probescope ftrace reset.",
    "set": "Change a trace that was started: more events, other filters, options, sizes.",
    "stop": "Stop recording; what was recorded stays.",
    "restart": "Record again, after stop.",
    "clear": "Forget what was recorded; go on recording.",
    "reset": "End what was started, and put everything back.",
    "extract": "Write what was recorded into a trace.dat, and take it out of the buffers.",
}
EXAMPLES = {
    "start": """examples:
  probescope ftrace start -e sched:sched_switch -e irq
  probescope ftrace start -B boot -p function -l 'ext4_*' -b 10000
  probescope ftrace start -e sched -F -c -- make           the command only; what it did stays to be looked at
then: ftrace show, stat, snapshot, stop, restart, extract; ftrace reset ends it
""",
    "set": """examples:
  probescope ftrace set -e timer
  probescope ftrace set -v -e sched:sched_stat_runtime
""",
    "stop": "examples:\n  probescope ftrace stop\n  probescope ftrace stop -B boot\n",
    "restart": "examples:\n  probescope ftrace restart\n",
    "clear": "examples:\n  probescope ftrace clear -a\n",
    "reset": "examples:\n  probescope ftrace reset\n  probescope ftrace reset -a\n",
    "extract": """examples:
  probescope ftrace extract
  probescope ftrace extract -B boot -o boot.dat
  probescope ftrace extract -s -o snapshot.dat            what the last snapshot holds
""",
}
_TOP = "the top buffer is everybody's: trace-cmd, or whoever uses it, does that"


def parser(command: str) -> Parser:
    p = Parser(f"ftrace {command}", ABOUT[command], EXAMPLES[command])
    if command in {"start", "set"}:
        add_tracing(p)
        if command == "start":
            p.add_argument("--user", default="", metavar="USER", help="run the command as this user")
        return p
    p.add_argument("-B", dest="buffers", action="append", default=[], metavar="NAME", help="the one of this name")
    p.add_argument("-a", dest="every", action="store_true", help="all that were started")
    if command == "reset":
        p.add_argument("-d", dest="delete", action="store_true", help="remove their instances (always done)")
    if command == "extract":
        p.add_argument("-o", dest="output", default="trace.dat", metavar="FILE", help="to this file (trace.dat)")
        p.add_argument("-s", dest="snapshot", action="store_true", help="the snapshot, not the buffer")
        p.add_argument("--file-version", choices=("6", "7"), help="of the file (7)")
        p.add_argument("--compression", choices=("any", "none", "zlib", "zstd"), help="of version 7 (any)")
    if command != "restart":
        p.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and losses")
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    if command in {"start", "set"}:
        return split(parser(command), argv)
    if "-t" in argv:
        raise UsageError(f"probescope ftrace {command} has no -t", hints=[_TOP])
    return parser(command).parse_args(list(argv))


def main(command: str, argv: list[str]) -> int:
    args = parse(command, argv)
    return {"start": _start, "set": _set}.get(command, lambda a: _others(command, a))(args)


def _say(command: str, text: str) -> None:
    sys.stderr.write(f"[ probescope ftrace {command}: {text} ]\n")


def _start(args: argparse.Namespace) -> int:
    from probescope.collect.ftrace.standing import start
    from probescope.kernel.child import Child

    plan = replace(trace_plan(args), without=())  # we are gone long before the trace is
    if not any(b.events or b.tracer != "nop" for b in plan.buffers):
        raise UsageError("what is to be traced?", hints=["-e EVENT, -p TRACER, or -a for all events"])
    if args.only_command and not args.command:
        raise UsageError("-F traces the command: there is none", hints=["-P PID traces a process that runs already"])
    child = Child(command_words(args.command), user=args.user) if args.command else None
    try:
        if child and args.only_command:
            plan = replace(plan, pids=(*plan.pids, child.pid))
        made = start(plan)
        if not args.quiet:
            names = ", ".join(one.instance for one in made)
            _say("start", f"{names}: on until probescope ftrace reset; ftrace show prints it")
        return _waited(child) if child else 0
    finally:
        if child:
            child.close()


def _waited(child: Child) -> int:
    """Its exit code; 128 + n for a signal of ours."""
    from probescope.kernel.host import host
    from probescope.kernel.signals import Signals

    signals = Signals()
    try:
        child.start()
        while not child.ended() and not signals.stop_asked:
            host().poll([signals.fileno(), *([child.fileno()] if child.fileno() >= 0 else [])], 100)
        return 128 + signals.stop_asked if signals.stop_asked else child.exit_code()
    finally:
        signals.close()


def _set(args: argparse.Namespace) -> int:
    from probescope.collect.ftrace.standing import change

    if args.command:
        raise UsageError("set changes a trace and runs nothing", hints=["start -- COMMAND, or record"])
    plan: TracePlan = trace_plan(args)
    sized = {value for kind, value in args.ordered if kind == "kb"}
    if not sized:
        plan = replace(plan, buffers=tuple(replace(b, size_kb=0) for b in plan.buffers))
    change(replace(plan, without=()))
    return 0


def _others(command: str, args: argparse.Namespace) -> int:
    from probescope.collect.ftrace import standing

    some: list[Started] = standing.chosen(args.buffers, every=args.every)
    if command in {"stop", "restart"}:
        standing.switch(some, on=command == "restart")
    elif command == "clear":
        standing.clear(some)
    elif command == "reset":
        standing.reset(some)
    else:
        return _extract(some, args)
    if command == "reset" and not args.quiet:
        _say(command, f"{', '.join(one.instance for one in some)}: gone")
    return 0


def _extract(some: list[Started], args: argparse.Namespace) -> int:
    from probescope.cli.ftrace_record import compression, told
    from probescope.collect.ftrace.standing import extract

    version = int(args.file_version or 7)
    done = extract(some, args.output, version, compression(args.compression, version), snapshot=args.snapshot)
    for text in told(done, quiet=args.quiet):
        _say("extract", text)
    return 0
