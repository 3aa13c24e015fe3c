"""``probescope demo``: three questions, answered on this machine as it is now; every line of the programs explained."""

from __future__ import annotations

import sys

from probescope.cli.numbers import whole
from probescope.cli.parsing import Parser, of_nobody
from probescope.errors import ScriptError, UsageError
from probescope.frozen import dataclass

EXAMPLES = """examples:
  probescope demo
  probescope demo --seconds 10
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A question, and a program with a remark for each of its lines."""

    question: str
    lines: tuple[tuple[str, str], ...]

    def program(self, seconds: int) -> str:
        return "\n".join(code for code, _ in self.lines) + f"\ninterval:s:{seconds} {{ exit(); }}\n"


SCENES = (
    Scene(
        "Who makes which system calls?",
        (
            ("tracepoint:raw_syscalls:sys_enter {", "at the entry of every system call, of any process"),
            ("  @calls[comm, syscall_name(args.id)] = count();", "count by program and call, inside the kernel"),
            ("}", ""),
            ("end { print(@calls, 12); clear(@calls); }", "at the end, the twelve most frequent"),
        ),
    ),
    Scene(
        "How long do they take?",
        (
            ("tracepoint:raw_syscalls:sys_enter {", "when a call begins,"),
            ("  @start[tid] = nsecs;", "  remember the time, by thread"),
            ("}", ""),
            ("tracepoint:raw_syscalls:sys_exit /@start[tid]/ {", "when it ends, if its begin was seen,"),
            ("  @nsecs = hist(nsecs - @start[tid]);", "  one more in the bucket of its latency: powers of two"),
            ("  delete(@start, tid);", "  and forget the begin"),
            ("}", ""),
            ("end { clear(@start); }", "print the histogram only"),
        ),
    ),
    Scene(
        "Where does the CPU time go?",
        (
            ("profile:hz:99 /pid/ {", "99 times a second on every CPU that is not idle,"),
            ("  @stacks[comm, kstack(6), ustack(1)] = count();", "  count program, kernel stack, function"),
            ("}", ""),
            ("end { print(@stacks, 4); clear(@stacks); }", "at the end, the four hottest"),
        ),
    ),
)


ABOUT = "Three questions, answered on this very machine: system calls, their latencies, CPU time."
LONGEST = 3600


def parser() -> Parser:
    p = Parser("demo", ABOUT, EXAMPLES)
    p.add_argument("--seconds", type=_seconds, default=5, help="how long each part looks (default 5)")
    p.add_argument("--no-load", action="store_true", help="do not start a small load beside")
    return p


def _seconds(text: str) -> int:
    seconds = whole(text, 1, LONGEST)
    if seconds is None:
        raise UsageError(f"--seconds wants a number up to {LONGEST}, not '{text}'")
    return seconds


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    from probescope.kernel.load import background_load

    with background_load(active=not args.no_load) as about:
        if about:
            sys.stdout.write(f"So that an idle machine has something to show, this runs beside: {about}\n")
        for number, scene in enumerate(SCENES, 1):
            _play(number, scene, args.seconds)
    sys.stdout.write("\nNow your own: probescope run -e 'PROGRAM', probescope list, probescope explain PROBE\n")
    return 0


def _play(number: int, scene: Scene, seconds: int) -> None:
    from probescope.api import Request, build
    from probescope.cli.writer import Writer
    from probescope.views.text import TextView

    sys.stdout.write(f"\n{number}. {scene.question}\n\n")
    width = max(len(code) for code, _ in scene.lines)
    for code, remark in scene.lines:
        sys.stdout.write(f"    {code:<{width}}  {'# ' + remark if remark else ''}".rstrip() + "\n")
    sys.stdout.write(f"\n(looking for {seconds} seconds)\n")
    sys.stdout.flush()
    try:
        built = build(Request(scene.program(seconds), texts=True))
    except ScriptError as e:
        raise of_nobody(e) from None
    writer = Writer(TextView(quiet=True))
    session = built.session(writer)
    session.run()
    writer.flush(hard=True)
