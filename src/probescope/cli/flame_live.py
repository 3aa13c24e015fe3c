"""``flame`` of what happens now: recorded into a file that is gone afterwards, then drawn.

A file, not a live view: a graph is of a whole, and what is recorded in full can be told in full (names, lost samples,
time). Waits off the CPU are recorded as switches of the scheduler with their stacks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager

from probescope.errors import UsageError

FREQUENCY = "99"
SWITCHES = "sched:sched_switch"


def wanted(args: Namespace, command: list[str]) -> bool:
    """Whether something is to be recorded."""
    return bool(args.all_cpus or args.processes or args.threads or command or args.duration)


@contextmanager
def recorded_now(args: Namespace, command: list[str]) -> Generator[str, None, None]:
    """The path of a recording. Raises UsageError, KernelError."""
    words = _words(args, command)
    with tempfile.TemporaryDirectory(prefix="probescope-flame-") as folder:
        path = os.path.join(folder, "perf.data")
        _record([*words[0], "-o", path, "--no-symbols", "--", *words[1]])
        yield path


def _words(args: Namespace, command: list[str]) -> tuple[list[str], list[str]]:
    """Arguments of ``record``, and its command."""
    if args.file != "-":
        raise UsageError("either a file is drawn, or what happens now", hints=["probescope flame --help"])
    if args.duration and command:
        raise UsageError("a command ends by itself", hints=["probescope flame -a --duration 10"])
    out = ["-q"] + (["--call-graph", args.call_graph] if args.call_graph else ["-g"])
    if args.off_cpu:
        # whoever comes back is told by a switch of somebody else: all of them are needed, and one thread's are kept
        out += ["-e", SWITCHES, "-a"]
    else:
        out += ["-e", args.event or "cycles"] + ([] if ":" in (args.event or "") else ["-F", args.freq or FREQUENCY])
        out += ["-a"] if args.all_cpus else []
        out += ["-p", args.processes] if args.processes else []
        out += ["-t", args.threads] if args.threads else []
    if not command:
        command = ["sleep", str(_seconds(args.duration))]
    return out, command


def _seconds(text: str | None) -> float:
    try:
        found = float(text or 10)
    except ValueError:
        found = -1.0
    if not 0 < found <= 86400:
        raise UsageError(f"'{text}' is no length of time", hints=["--duration 10: seconds"])
    return found


def _record(words: list[str]) -> None:
    from probescope.cli.record import parse_arguments
    from probescope.cli.record_request import request
    from probescope.collect.recorder.session import record

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    done = record(request(parse_arguments(words), words, say), say)
    if done.lost:
        sys.stderr.write(f"WARNING: {done.lost} samples were lost: a ring was full\n")
    if done.signal == 2 and not done.files:
        raise KeyboardInterrupt
