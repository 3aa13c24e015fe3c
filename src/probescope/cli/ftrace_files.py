"""``probescope ftrace dump``, ``split``, ``convert``, ``restore``, ``check-events``: trace.dat files as files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.ftrace_report import opened
from probescope.cli.parsing import Parser
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.formats.tracedat.split import Rule

ABOUT = {
    "split": "Cut a trace.dat into smaller ones.",
    "convert": "Write a trace.dat in another version, or otherwise compressed.",
    "restore": "Make a trace.dat of the pages that a killed recorder left.",
    "check-events": "Say which events of this kernel cannot be printed as they should.",
}
EXAMPLES = {
    "split": """examples:
  probescope ftrace split -o part 75678.9 75679.5       from one time to another: part.1
  probescope ftrace split -s 10 -r                      ten seconds each: trace.dat.0001, ...
  probescope ftrace split -e 1000000 -r -i big.dat
""",
    "convert": """examples:
  probescope ftrace convert -i new.dat -o old.dat --file-version 6
  probescope ftrace convert --compression none plain.dat
""",
    "restore": """examples:
  probescope ftrace restore -o trace.dat trace.dat.cpu*
  probescope ftrace restore -i other.dat -o trace.dat trace.dat.cpu*     formats of other.dat, not of this kernel
""",
    "check-events": "examples:\n  probescope ftrace check-events\n",
}
_SECOND = 1_000_000_000


def parser(command: str) -> Parser:
    p = Parser(f"ftrace {command}", ABOUT[command], EXAMPLES[command])
    if command == "check-events":
        p.add_argument("-N", dest="plugins", action="store_true", help="(there are no plugins)")
        return p
    about = "formats, symbols and names of this trace.dat" if command == "restore" else "trace.dat by default"
    p.add_argument("-i", dest="input", metavar="FILE", help=about)
    if command == "split":
        p.add_argument("-o", dest="output", metavar="NAME", help="NAME.1, or with -r NAME.0001 and so on")
        for letter, word in (("s", "seconds"), ("m", "milliseconds"), ("u", "microseconds"), ("e", "events")):
            p.add_argument(f"-{letter}", dest=word, type=int, default=0, metavar="N", help=f"so many {word} each")
        p.add_argument("-p", dest="pages", type=int, default=0, metavar="N", help="so many pages each")
        p.add_argument("-c", dest="per_cpu", action="store_true", help="with -p: of each CPU")
        p.add_argument("-r", dest="repeat", action="store_true", help="further files, up to the end")
        p.add_argument("times", nargs="*", metavar="SECONDS", help="from here, to there")
        return p
    p.add_argument("-o", dest="output", metavar="FILE", help="where to")
    p.add_argument("--file-version", choices=("6", "7"), help="of the file (7)")
    p.add_argument("--compression", choices=("any", "none", "zlib", "zstd"), help="of version 7 (any)")
    if command == "convert":
        p.add_argument("file", nargs="?", metavar="FILE", help="where to")
    else:
        p.add_argument("-c", dest="partial", action="store_true", help="(not needed: this kernel's formats are taken)")
        p.add_argument("-C", dest="clock", default="local", metavar="CLOCK", help="that was recorded with (local)")
        p.add_argument("files", nargs="+", metavar="PAGES", help="trace.dat.cpu0, trace.dat.cpu1, ...")
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    return parser(command).parse_intermixed_args(list(argv))


def main(command: str, argv: list[str]) -> int:
    args = parse(command, argv)
    if command == "check-events":
        return _check()
    return {"split": _split, "convert": _convert, "restore": _restore}[command](args)


def _say(command: str, text: str) -> None:
    sys.stderr.write(f"[ probescope ftrace {command}: {text} ]\n")


# --- split


def _split(args: argparse.Namespace) -> int:
    from probescope.cli.recordings import tell_damage
    from probescope.formats.tracedat.split import split

    name = args.input or "trace.dat"
    rule = _rule(args)
    stem = args.output or name
    with opened(name) as recording:
        try:
            pieces = split(recording, rule, lambda n: f"{stem}.{n + 1:04d}" if rule.repeat else f"{stem}.{n + 1}")
        except OSError as e:
            raise UsageError(f"cannot write {e.filename or stem}: {e.strerror}", hints=["-o NAME"]) from e
        tell_damage(name, recording.damage, sys.stderr)
    for piece in pieces:
        _say("split", f"wrote {piece.path}: {piece.events:,} events, {piece.size / (1 << 20):.3f} MB")
    return 0


def _rule(args: argparse.Namespace) -> Rule:
    from probescope.formats.tracedat.split import MOST_TIME, Rule

    sizes = [args.seconds, args.milliseconds, args.microseconds, args.events, args.pages]
    if sum(map(bool, sizes)) > 1 or min(sizes) < 0:
        raise UsageError("-s, -m, -u, -e and -p: one of them, with a number above 0")
    if len(args.times) > 2:
        raise UsageError("at most two times", hints=["the second is the end"])
    start, end = [_time(t) for t in args.times] + [0, MOST_TIME][len(args.times) :]
    if start > end:
        raise UsageError(f"{args.times[1]} is before {args.times[0]}: nothing is between them", hints=["FROM TO"])
    ns = args.seconds * _SECOND + args.milliseconds * 1_000_000 + args.microseconds * 1000
    return Rule(start, end, ns, args.events, args.pages, args.per_cpu, args.repeat)


def _time(text: str) -> int:
    whole, _, part = text.partition(".")
    if not (whole + part).isdigit() or not text.isascii() or len(text) > 40:
        raise UsageError(f"'{text}' is no time in seconds", hints=["75678.923853"])
    return int(whole or 0) * _SECOND + int(part[:9].ljust(9, "0"))


# --- convert, restore


def _convert(args: argparse.Namespace) -> int:
    from probescope.cli.ftrace_record import compression
    from probescope.cli.recordings import tell_damage
    from probescope.formats.tracedat.convert import convert

    name, to = args.input or "trace.dat", args.output or args.file
    if not to:
        raise UsageError("where to?", hints=["-o FILE"])
    if os.path.realpath(to) == os.path.realpath(name):
        raise UsageError(f"{to} would be written over itself")
    version = int(args.file_version or 7)
    packed = compression(args.compression, version)
    from probescope.cli.outfile import OutFile

    with opened(name) as recording, OutFile(to, seeks=True, own=True) as out:
        convert(recording, out.file, version, packed)
        tell_damage(name, recording.damage, sys.stderr)
    _say("convert", f"wrote {to}: version {version}, compression {packed}")
    return 0


def _restore(args: argparse.Namespace) -> int:
    from probescope.cli.ftrace_record import compression
    from probescope.cli.outfile import OutFile
    from probescope.collect.ftrace.restoring import restore

    to = args.output or "trace.dat"
    version = int(args.file_version or 7)
    head = opened(args.input) if args.input else None
    try:
        with OutFile(to, seeks=True, own=True) as out:
            count = restore(out.file, args.files, head, args.clock, version, compression(args.compression, version))
    finally:
        if head:
            head.close()
    _say("restore", f"wrote {to}: {count / (1 << 20):.3f} MB of pages")
    return 0


def _check() -> int:
    from probescope.cli.ftrace_facts import unprintable
    from probescope.formats.tracing.event_format import parse_event_format
    from probescope.kernel import tracefs

    events = [parse_event_format(tracefs.event_format(s, n), s) for s, n in tracefs.available_events()]
    return unprintable(events)
