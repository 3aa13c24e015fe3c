"""``probescope ftrace stream``: trace and print at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.ftrace_options import add_tracing, split, trace_plan
from probescope.cli.parsing import Parser, command_words
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

EXAMPLES = """examples:
  probescope ftrace stream -e sched:sched_switch
  probescope ftrace stream -e syscalls -F -- cat /etc/hostname
"""


def parser(command: str = "stream") -> Parser:
    p = Parser(f"ftrace {command}", "Trace, and print events as they come.", EXAMPLES)
    add_tracing(p)
    p.add_argument("--user", default="", metavar="USER", help="run the command as this user")
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    return split(parser(command), argv)


def main(command: str, argv: list[str]) -> int:
    from probescope.cli.ftrace_record import lost
    from probescope.cli.terminal import recorded_out
    from probescope.collect.ftrace.streaming import Stream

    args = parse(command, argv)
    plan = trace_plan(args)
    if not any(b.events or b.tracer != "nop" for b in plan.buffers):
        raise UsageError("what is to be traced?", hints=["-e EVENT, -p TRACER, or -a for all events"])
    if args.only_command and not args.command:
        raise UsageError("-F traces the command: there is none", hints=["-P PID traces a process that runs already"])

    def say(text: str) -> None:
        sys.stderr.write(f"[ probescope ftrace stream: {text} ]\n")

    stream = Stream(plan, command_words(args.command), args.only_command, args.user, say)
    try:
        out = recorded_out()
        for piece in stream.pieces():
            out(piece)
            sys.stdout.buffer.flush()
        for text in lost(stream.losses):
            say(text)
        return stream.exit_code
    finally:
        stream.close()
