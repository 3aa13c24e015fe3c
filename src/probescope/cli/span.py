"""``probescope span``: how long a piece of code takes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, a_name, add_format, cut_command, how_long, of_nobody, process_id
from probescope.errors import ScriptError, UsageError

if TYPE_CHECKING:
    from probescope.live import LiveSession
    from probescope.views.span.points import Point

EXAMPLES = """examples:
  probescope span parse_config -x ./server -- ./server -t            a function, from end to end
  probescope span main.c:120 to main.c:140 -x ./prog -- ./prog       between two lines
  probescope span main.c:120,main.c:131,main.c:140 -x ./prog -p 312  the time of each leg
  probescope span readline --by comm -x bash --seconds 10
  probescope span --mark parse --by arg0 -p 312                      what a program marks in its own code
  probescope span vfs_read --by comm --seconds 1                     of the kernel
  probescope span tracepoint:syscalls:sys_enter_fsync to tracepoint:syscalls:sys_exit_fsync --seconds 5
"""


def parser() -> Parser:
    p = Parser("span", "Measure how long a function takes, or the code between points.", EXAMPLES, runs=True)
    p.add_argument("points", nargs="*", metavar="POINT", help="FUNC; A to B; A,B,C: FUNC+0x1f, FUNC%%return, FILE:LINE")
    p.add_argument(
        "-x", "--exec", type=a_name, metavar="FILE", help="points of this program or library; of the kernel without"
    )
    p.add_argument("-p", "--pid", type=process_id, metavar="PID", help="only in this process")
    p.add_argument("--mark", metavar="NAME", help="a span that the program marks itself, by probescope.h or point()")
    p.add_argument("--by", default="", metavar="EXPR", help="totals apart by an expression at the start: comm, arg0")
    p.add_argument("--filter", default="", metavar="EXPR", help="only spans that begin with this: 'arg1 > 100'")
    p.add_argument("--nested", action="store_true", help="of A to B: they come inside of each other, as calls do")
    p.add_argument(
        "--seconds", type=how_long, metavar="N", help="for so long; without, until Ctrl-C or the command ends"
    )
    p.add_argument("--show-program", action="store_true", help="print the program that measures, for run, and no more")
    add_format(p, "text (default) or json, one document for each leg")
    return p


def main(argv: list[str]) -> int:
    words, command = cut_command(argv)
    args = parser().parse_intermixed_args(words)
    points = _marked(args, command) if args.mark else _points(args)
    text = _program(points, args)
    if args.show_program:
        sys.stdout.write(text + "\n")
        return 0
    import shlex

    from probescope.api import Request, build
    from probescope.cli.parsing import command_words
    from probescope.live import LiveSession

    line = shlex.join(command_words(command)) if command else ""
    try:
        built = build(Request(text, name="span", pid=args.pid or 0, command=line, signals=True))
    except ScriptError as e:
        raise of_nobody(e) from None
    with LiveSession(built) as session:
        _wait(session, args.seconds)
        session.stop()
        maps = session.maps
        code = session.exit_code
    _show(maps, points, args)
    if any(session.lost.values()):
        from probescope.collect.losses import in_words

        told = (in_words(kind, count) for kind, count in session.lost.items() if count)
        sys.stderr.write("".join(f"WARNING: {t}\n" for t in told))
    return code


def _points(args: Namespace) -> list[Point]:
    from probescope.views.span.points import between
    from probescope.views.whois.subjects import program

    return between(args.points, program(args.exec) if args.exec else None)


def _marked(args: Namespace, command: Sequence[str]) -> list[Point]:
    """In what -x names, in all that the process of -p has mapped, in the program of the command; or, if that has no
    such mark, in what a program in Python that it runs will have."""
    from probescope.views.span.points import has_mark, marked

    if args.points:
        raise UsageError("--mark is a span of its own", hints=["without points beside it"])
    if args.exec:
        return marked(args.mark, os.path.abspath(args.exec) if "/" in args.exec else args.exec)
    if args.pid:
        return marked(args.mark, "*")
    if not command:
        raise UsageError(f"where is '{args.mark}' marked?", hints=["-x FILE, -p PID, or -- COMMAND"])
    path = os.path.abspath(shutil.which(command[0]) or command[0])
    points = marked(args.mark, path)
    return points if has_mark(path, args.mark) else _to_be(args.mark, points)


def _to_be(name: str, points: list[Point]) -> list[Point]:
    from probescope.kernel.point import offer
    from probescope.views.span.points import marked

    provider, _, mark = name.rpartition(":")
    if provider not in ("", "probescope"):
        return points
    try:
        return marked(mark, offer(mark))
    except (OSError, KeyError):  # no files in memory, or another machine
        return points


def _program(points: list[Point], args: Namespace) -> str:
    from probescope.views.span import program

    whole = bool(args.mark) or (len(points) == 2 and points[1].text == f"{points[0].text}%return")
    if args.nested and len(points) != 2:
        raise UsageError("--nested is of two points", hints=["A to B"])
    if whole or args.nested:
        return program.nested(points[0], points[1], args.by, args.filter)
    return program.legs(points, args.by, args.filter)


def _wait(session: LiveSession, seconds: float | None) -> None:
    if seconds is not None:
        session.wait(seconds)
        return
    while session.running:
        session.wait(60)


def _show(maps: dict[str, object], points: list[Point], args: Namespace) -> None:
    from probescope.views.span import legs

    found = legs.totals(maps)
    if args.format == "json":
        for document in legs.documents(found, points, args.by):
            sys.stdout.write(json.dumps(document) + "\n")
        return
    for piece in legs.told(found, points, args.by):
        sys.stdout.write(piece)
    if not found:
        sys.stdout.flush()
        sys.stderr.write("WARNING: no span began and ended meanwhile\n")
