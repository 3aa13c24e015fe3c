"""``probescope probe``: probes at functions, lines and labels, with variables, by perf probe's definitions."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from probescope.cli.parsing import Named, Parser, a_name, add_format, how_long, how_many, process_id
from probescope.errors import UsageError

EXAMPLES = """examples:
  probescope probe 'vfs_read count' -- cat /etc/passwd              events of a command, then nothing is left
  probescope probe 'vfs_read file->f_path.dentry->d_name.name:string' --seconds 5
  probescope probe 'vfs_read name=+0(+40(+24(%di))):string'         registers: no debug information is needed
  probescope probe -x /bin/bash 'readline%return +0($retval):string'
  probescope probe -x ./prog 'main.c:120 $vars' --filter 'count > 3' -- ./prog
  probescope probe -V tcp_sendmsg                                   variables there; -L: lines; -F 'tcp_*': functions
  probescope probe --add 'tcp_sendmsg size' ; probescope probe -l ; probescope probe -d 'probe:*'
  probescope probe -D 'tcp_sendmsg size'                            the line for kprobe_events
definitions: [[GROUP:]EVENT=]FUNCTION[@FILE][+OFFSET|:LINE|:LABEL|%return|;PATTERN] [[NAME=]ARGUMENT[:TYPE] ...]
"""


class _Ordered(argparse.Action):
    """What is to be done with each word: several ``-a`` and ``-D`` may stand beside each other."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.todo = [*namespace.todo, (self.dest, values)]


def parser() -> Parser:
    usage = "probescope probe [OPTIONS] DEFINITION ... [-- COMMAND]"
    p = Parser("probe", "Probe functions and lines, and print their variables.", EXAMPLES, usage=usage, runs=True)
    p.set_defaults(todo=[])
    p.add_argument("words", nargs="*", metavar="DEFINITION", help="a probe and its arguments")
    _actions(p)
    _targets(p)
    _running(p)
    _details(p)
    return p


def _actions(p: Parser) -> None:
    p.add_argument("-a", "--add", action=_Ordered, metavar="DEF", help="keep it in tracefs, for record -e and others")
    p.add_argument("--keep", type=a_name, metavar="NAME", help="keep the DEFINITION in tracefs as GROUP:NAME, or NAME")
    p.add_argument(
        "-d", "--del", type=a_name, dest="delete", action=_Ordered, metavar="EVENT", help="remove kept ones (globs)"
    )
    p.add_argument(
        "-l", "--list", dest="listed", action=_Ordered, nargs="?", const="", metavar="EVENT", help="show kept ones"
    )
    p.add_argument("-D", "--definition", action=_Ordered, metavar="DEF", help="what tracefs would be told")
    p.add_argument("-V", "--vars", action=_Ordered, metavar="PLACE", help="variables there")
    p.add_argument("-L", "--line", action=_Ordered, metavar="LINES", help="source lines, those with code numbered")
    p.add_argument("-F", "--funcs", action=_Ordered, nargs="?", const="", metavar="FILTER", help="functions")


def _targets(p: Parser) -> None:
    p.add_argument("-x", "--exec", type=a_name, dest="binary", metavar="FILE", help="a program or library")
    p.add_argument(
        "-m", "--module", action=Named, default="", metavar="NAME", help="a module of the kernel, or its file"
    )
    p.add_argument(
        "-k", "--vmlinux", action=Named, default="", metavar="FILE", help="the kernel's file with debug information"
    )
    p.add_argument("-s", "--source", default="", metavar="DIR", help="where the source code is")
    p.add_argument("--target-ns", type=process_id, default=0, metavar="PID", help="FILE as this process sees it")
    about = "fetch debug information from servers (default: DEBUGINFOD_URLS)"
    p.add_argument("--debuginfod", metavar="URL", nargs="?", const="", help=about)
    p.add_argument(
        "--debuginfo", action="append", default=[], metavar="DIR", help="where debug files are looked for too"
    )


def _running(p: Parser) -> None:
    p.add_argument("-p", "--pid", type=process_id, default=0, help="events of this process alone")
    p.add_argument("-A", "--all", action="store_true", help="events of every process, also with a COMMAND")
    p.add_argument("--seconds", type=how_long, default=0.0, metavar="S", help="end after so long")
    p.add_argument("--count", type=how_many, default=0, metavar="N", help="end after so many events")
    p.add_argument("--filter", metavar="EXPR", help="of events: 'size > 100 && dest == 10.0.0.1'; of -V, -F: globs")
    p.add_argument("-o", "--output", metavar="FILE", help="write events to a file")
    about = "what reads them: bpf, or, without any program in the kernel, events of tracefs by ftrace or perf"
    p.add_argument("--via", choices=("auto", "bpf", "ftrace", "perf"), default="auto", help=about)
    about = "Python code with printers for types (probescope.printer); runs it"
    p.add_argument("--printers", action="append", default=[], metavar="FILE", help=about)
    add_format(p)


def _details(p: Parser) -> None:
    p.add_argument("-n", "--dry-run", action="store_true", help="with --add and --del: only say what would be done")
    p.add_argument("--force", action="store_true", help="with --add: a number behind names that are taken")
    p.add_argument("--range", action="store_true", help="with -V: where in the function each one is known")
    p.add_argument("--externs", action="store_true", help="with -V: variables outside of functions too")
    p.add_argument("--no-inlines", action="store_true", help="leave out inlined copies")
    p.add_argument("--max-probes", type=how_many, default=128, metavar="N", help="places of one definition (128)")
    p.add_argument("--cache", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--demangle", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--no-demangle", action="store_true", help="with -F: names as symbol tables have them")
    p.add_argument("-v", "--verbose", action="count", default=0, help="say what is looked up")
    p.add_argument("-q", "--quiet", action="store_true", help="no messages but errors")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    words = list(argv)
    command: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    args = parser().parse_intermixed_args(words)
    args.command = command
    if args.binary and "/" not in args.binary and os.path.isfile(args.binary):
        args.binary = f"./{args.binary}"
    return args


def main(argv: Sequence[str]) -> int:
    args = parse(argv)
    from probescope.cli import probe_define, probe_show

    _implied_target(args)
    _implied_actions(args)
    if not args.todo and not args.words:
        parser().error("a definition is missing: probescope probe 'FUNCTION VARIABLE ...'")
    code = 0
    for kind, text in args.todo:
        if kind in ("add", "definition", "delete", "listed"):
            code = getattr(probe_define, kind)(args, text) or code
        else:
            code = getattr(probe_show, kind)(args, text) or code
    if not args.words:
        return code
    stray = next((w for w in args.words[1:] if w.startswith("$")), "")
    if stray:
        whole = f"probescope probe '{args.words[0]} {stray}'"
        raise UsageError(f"{stray} is no place", hints=[f"a definition is one word: {whole}"])
    if args.printers:
        from probescope.cli.printers import load

        load(args.printers)
    if args.keep:
        return probe_define.keep(args, args.words, args.keep)
    from probescope.cli.probe_run import run

    return run(args)


def _implied_target(args: argparse.Namespace) -> None:
    """``probescope probe /bin/bash readline``: a path first is a target."""
    if not args.binary and not args.module and len(args.words) > 1 and args.words[0].startswith("/"):
        args.binary = args.words.pop(0)


def _implied_actions(args: argparse.Namespace) -> None:
    """Words beside ``-a`` or ``-D`` are more of the same: they are not probed. Raises UsageError beside others."""
    kinds = {kind for kind, _ in args.todo}
    if not kinds or not args.words:
        return
    if len(kinds) > 1 or not kinds <= {"add", "definition"}:
        raise UsageError(
            f"{args.words[0]!r} would be probed beside what options ask for",
            hints=["one at a time: definitions alone are probed, -V -L -F -l -d tell of probes"],
        )
    args.todo += [(kind, word) for kind in kinds for word in args.words]
    args.words = []


def say(args: argparse.Namespace, text: str) -> None:
    """A message for people."""
    if not args.quiet:
        sys.stderr.write(text)
