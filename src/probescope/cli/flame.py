"""``probescope flame``: stacks as a flame graph, in one file that opens in any browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from probescope.cli.numbers import whole
from probescope.cli.parsing import Parser, add_filters, add_jobs, cut_command, jobs_of
from probescope.cli.symbols import add_symbols
from probescope.errors import FormatError, SessionError, UsageError
from probescope.views.flame.drawing import kind_of

if TYPE_CHECKING:
    import argparse

    import numpy as np

    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import ToldBatch
    from probescope.views.flame.recorded import Sampled
    from probescope.views.flame.stacks import StackSamples

    Column = np.ndarray[Any, Any]

EXAMPLES = """examples:
  probescope flame work.folded                    writes flame.html: zoom, search, sandwich, table
  probescope flame perf.data                      of a recording: also by thread, CPU and piece of time
  probescope flame -a -F 99 --duration 3          of the whole machine, now
  probescope flame -F 999 -- du -s /usr            of a command
  probescope flame --off-cpu -a --duration 3      what threads waited for
  probescope flame work.folded -o work.svg        a picture
  probescope flame --before a.folded b.folded     what became more (red), and what less (blue)

where folded stacks come from: probescope run -f folded -e 'profile:hz:99 { @[kstack, ustack, comm] = count(); }',
perf script | stackcollapse-perf.pl, and most profilers
"""
_LONGER = "--off-cpu draws what is waited for; --duration 30 looks longer, -F 999 more often"
LONGEST = 1 << 20  # bytes of a line of folded text


def parser() -> Parser:
    p = Parser(
        "flame", "Draw counted stacks as a flame graph: an HTML page that needs no network, or an SVG.", EXAMPLES
    )
    about = "folded stacks, or a recording (default: perf.data, or what is piped in; - is stdin)"
    p.add_argument("file", nargs="?", default="-", metavar="FILE", help=about)
    p.add_argument("--before", metavar="FILE", help="stacks to compare with")
    p.add_argument("-e", "--event", metavar="EVENT", help="of a recording: this kind of event")
    _now(p)
    add_filters(p)
    add_symbols(p)
    add_jobs(p)
    p.add_argument("-o", "--output", metavar="FILE", default="flame.html", help="where to (flame.html; - is stdout)")
    p.add_argument("-f", "--format", choices=("html", "svg", "folded"), help="html, or as the file's name ends")
    p.add_argument("--title", default="", help="heading")
    p.add_argument("--subtitle", default="", help="second heading")
    p.add_argument("--countname", metavar="UNIT", help="what is counted")
    p.add_argument("--width", type=_pixels, default=1200, help="of the SVG, in pixels (1200)")
    p.add_argument("--minwidth", type=float, default=0.1, metavar="PIXELS", help="leave out narrower frames (0.1)")
    p.add_argument("--inverted", "--icicle", action="store_true", help="the root at the top (svg)")
    p.add_argument("--reverse", action="store_true", help="innermost frames first, their callers next to them (svg)")
    return p


def _now(p: Parser) -> None:
    p.add_argument("-i", "--input", metavar="FILE", help="the same as FILE")
    p.add_argument("--off-cpu", action="store_true", help="waits: of record --off-cpu or sched_switch")
    p.add_argument("-a", "--all-cpus", action="store_true", help="record the whole machine first")
    p.add_argument("-p", dest="processes", metavar="PID,...", help="record these processes first")
    p.add_argument("-t", dest="threads", metavar="TID,...", help="record these threads first")
    p.add_argument("--duration", metavar="SECONDS", help="for so long (10)")
    p.add_argument("-F", "--freq", metavar="HZ", help="so many samples a second (99)")
    p.add_argument("--call-graph", metavar="HOW", help="stacks: fp[,DEPTH], dwarf[,BYTES] or lbr")


def _pixels(text: str) -> int:
    import argparse

    pixels = whole(text, 100, 100_000)
    if pixels is None:
        raise argparse.ArgumentTypeError("a width is between 100 and 100000 pixels")
    return pixels


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """What stands behind ``--`` is a command."""
    own, command = cut_command(argv)
    args = parser().parse_args(own)
    args.command = list(command)
    args.file = args.input or args.file
    return args


def main(argv: list[str]) -> int:
    args = parse_arguments(argv)
    kind = args.format or kind_of(args.output)
    if args.output != "-" and args.file != "-" and os.path.realpath(args.output) == os.path.realpath(args.file):
        raise UsageError(f"{args.output} would be written over the stacks that it is made of")
    samples = _samples(args, args.command)
    samples.unit = args.countname or samples.unit
    if args.before is not None:
        _read(args.before, args, into=samples)
    write(args.output, _drawn(samples, kind, args))
    return 0


def _samples(args: argparse.Namespace, command: list[str]) -> StackSamples:
    from probescope.cli import flame_live

    if not flame_live.wanted(args, command):
        return _read(args.file, args)
    with flame_live.recorded_now(args, command) as path:
        if args.off_cpu:
            args.pid, args.tid = args.processes or args.pid, args.threads or args.tid
        args.event = None
        return _recorded(path, args, live=True)


def _read(name: str, args: argparse.Namespace, into: StackSamples | None = None) -> StackSamples:
    from probescope.formats.piped import open_again
    from probescope.views.flame.stacks import folded, read_folded

    if name == "-" and sys.stdin.isatty() and into is None and os.path.exists("perf.data"):
        name = "perf.data"
    if name == "-" and sys.stdin.isatty():
        hints = ["probescope flame FILE, or pipe folded stacks into it", "probescope flame --help"]
        raise UsageError("there are no stacks to draw", hints=hints)
    if _is_recording(name):
        found = _recorded(name, args)
        return found if into is None else read_folded(folded(found), name, into=into)
    if name == "-":
        return read_folded(_lines(sys.stdin.buffer, "stdin"), into=into)
    try:
        with open_again(name) as f:
            return read_folded(_lines(f, name), name, into=into)
    except OSError as e:
        raise UsageError(f"cannot read {name}: {e.strerror}") from e


def _is_recording(name: str) -> bool:
    from probescope.formats.sniff import recording_kind

    kind = recording_kind(name)
    return bool(kind) and not (kind == "perf.data" and name == "-")


def _recorded(name: str, args: argparse.Namespace, *, live: bool = False) -> StackSamples:
    from probescope.cli.progress import Progress
    from probescope.cli.recordings import opened
    from probescope.cli.symbols import search_of

    progress = Progress(f"reading {name}")
    try:
        with opened(name, search_of(args, name, bare=True)) as recording:
            sampled = _sampled(recording, args)
            keep = recording.filter(args)
            # waits reach from batch to batch
            jobs = 1 if args.off_cpu else jobs_of(args)
            samples = sampled.samples
            recording.sums(lambda batch: sampled.add(batch, keep(batch)), samples.part, samples.join, jobs)
            samples.ordered()
            recording.tell_damage(sys.stderr)
            recording.tell_missing(sys.stderr)
    finally:
        progress.close()
    if not sampled.samples.rows:
        what = "nothing waited and came back" if args.off_cpu else "there are no such samples"
        if live:
            raise SessionError(
                "whoever was recorded used no CPU meanwhile" if not args.off_cpu else what, hints=[_LONGER]
            )
        raise FormatError(f"{what} in it", file=name)
    return sampled.samples


def _sampled(recording: Opened, args: argparse.Namespace) -> Sampled:
    from probescope.views.flame.recorded import Sampled

    if not args.off_cpu:
        return Sampled(recording.told, recording.event(args.event), recording.times())
    from probescope.views.flame.waits import Waits, summed_event, switch_event

    summed = summed_event(recording.told)
    if summed >= 0:
        waits = Sampled(recording.told, summed, recording.times())
        waits.samples.unit = "ns"
        return waits
    event = switch_event(recording.told)
    field = recording.recording.events[event].field("next_pid")
    assert field is not None
    recording.told.tasks.forget_ended = False

    def coming(told: ToldBatch, which: Column) -> Column:
        return recording.records(told, which).field(field)

    return Waits(recording.told, event, recording.times(), coming)


def _lines(f: BinaryIO, name: str) -> Iterator[str]:
    number = 0
    while line := f.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise FormatError(f"a line of more than {LONGEST} bytes", file=name, section=f"line {number}")
        if number == 1 and line.startswith((b"PERFILE2", b"2ELIFREP")):
            raise FormatError("a recording is read from a file, not from a pipe", file=name)
        yield line.decode("utf-8", "replace")


def _drawn(samples: StackSamples, kind: str, args: argparse.Namespace) -> str:
    from probescope.views.flame.drawing import drawn
    from probescope.views.flame.svg import Look

    look = Look(args.title, args.subtitle, args.width, args.minwidth, args.inverted, args.reverse)
    return drawn(samples, kind, look)


def write(name: str, text: str) -> None:
    """A flame graph into its file, - is stdout; and says so. Raises UsageError."""
    data = text.encode("utf-8", "replace")
    if name == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        with open(name, "wb") as f:
            f.write(data)
    except OSError as e:
        raise UsageError(f"cannot write {name}: {e.strerror}") from e
    sys.stderr.write(f"wrote {name} ({len(data):,} bytes)\n")
