"""``probescope export``: recordings for other programs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, cpu_list, offers
from probescope.errors import FormatError, UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.cli.export_input import Input
    from probescope.views.export.selection import Selection

EXAMPLES = """formats:
{formats}

examples:
  probescope export perf.data -o cpu.speedscope.json      for https://www.speedscope.app
  probescope export perf.data -o cpu.pb.gz                go tool pprof -http : cpu.pb.gz
  probescope export trace.dat -o trace.pftrace            for https://ui.perfetto.dev
  probescope export perf.data --to folded | flamegraph.pl > cpu.svg
  probescope export -e sched_switch -o switches.parquet   a row an event, fields as columns
  probescope export --time 10.5,12 --pid 42 -o part.data  a part of perf.data, for perf
  probescope export work.folded -o work.pb.gz             folded text from anywhere
  probescope export --html perf.data -o report.html       the timeline as one file, to be sent to somebody
"""


def parser() -> Parser:
    from probescope.views.export.kinds import KINDS
    from probescope.views.export.owners import OWNERS

    formats = "\n".join(f"  {name:<12}{k.about} ({', '.join(k.endings)})" for name, k in KINDS.items())
    p = Parser("export", "Turn a recording into a file for another program.", EXAMPLES.format(formats=formats))
    about = "perf.data, trace.dat or folded stacks (perf.data; - is stdin)"
    p.add_argument("file", nargs="?", default="perf.data", metavar="FILE", help=about)
    to = p.add_argument("--to", metavar="FORMAT", help="one of these formats, or as the ending of OUT says")
    offers(to, tuple(KINDS))
    p.add_argument("-o", "--output", metavar="OUT", default="-", help="where to (stdout); .gz at the end compresses")
    p.add_argument("-e", "--event", action="append", default=[], metavar="LIST", help="only these kinds (globs)")
    p.add_argument("-c", "--comms", "--comm", metavar="LIST", help="only of threads with these names (globs)")
    p.add_argument("--pid", metavar="LIST", help="only of these processes")
    p.add_argument("--tid", metavar="LIST", help="only of these threads")
    p.add_argument("-C", "--cpu", metavar="LIST", help="only on these CPUs: 0,2-3")
    p.add_argument("--time", metavar="SPAN", help="only then: 10.5,12 in seconds, 10%%/2, 0%%-25%%")
    p.add_argument(
        "--weight", default="period", metavar="W", help="period (default), samples, or a field of the events"
    )
    p.add_argument("--by", choices=OWNERS, help="whose stacks are kept apart (depends on the format)")
    p.add_argument("--html", action="store_true", help="a page that shows it all, in one file without network")
    p.add_argument("--size", metavar="SIZE", default="20MB", help="of that page, at most (20MB)")
    p.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
    return p


def main(argv: list[str]) -> int:
    from probescope.cli.export_input import input_kind

    args = parser().parse_args(argv)
    if args.html:
        from probescope.cli.export_html import main as html

        return html(args)
    kind = _kind(args)
    selection = _selection(args, one=kind == "folded" and input_kind(args.file) == "perf.data")
    if args.output != "-" and args.file != "-" and os.path.realpath(args.output) == os.path.realpath(args.file):
        raise UsageError(f"{args.output} would be written over the recording that it is made of")
    if args.output == "-" and sys.stdout.isatty() and kind not in {"folded", "csv", "jsonl"}:
        raise UsageError(f"{kind} is nothing for a terminal", hints=["-o FILE, or | COMMAND"])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts in half the time
    from probescope.cli.export_input import Input

    with Input(args.file, selection, quiet=args.quiet) as found:
        _write(kind, found, args)
        if not args.quiet:
            found.tell()
    return 0


def _write(kind: str, found: Input, args: argparse.Namespace) -> None:
    from probescope.cli.outfile import OutFile
    from probescope.views.export.kinds import KINDS, why_not
    from probescope.views.export.writers import Options, export

    if found.kind not in KINDS[kind].inputs:
        able = [k for k, v in KINDS.items() if found.kind in v.inputs]
        what = f"{found.kind} cannot become {kind}: {why_not(found.kind)}"
        raise UsageError(what, hints=["--to " + ", ".join(able)])
    options = Options(args.by or KINDS[kind].by, args.weight)
    packed = args.output.endswith(".gz") and not args.output.endswith(".pb.gz")
    with OutFile(args.output, packed=packed, seeks=KINDS[kind].seeks) as out:
        count = export(kind, found.source, out.file, options, os.path.basename(args.file))
        found.close_progress()
        if not count:
            found.tell()
            raise FormatError("there are no such events in it", file=args.file)
    if args.output != "-" and not args.quiet:
        size = f"{out.size:,} bytes, " if out.size else ""
        sys.stderr.write(f"wrote {args.output} ({size}{count:,} {'stacks' if found.kind == 'folded' else 'events'})\n")


def _kind(args: argparse.Namespace) -> str:
    from probescope.diagnostics import nearest
    from probescope.views.export.kinds import KINDS, kind_of

    if args.to is None:
        found = kind_of(args.output)
        if not found:
            what = "nothing says" if args.output == "-" else f"the name {args.output} does not say"
            raise UsageError(f"{what} which format is wanted", hints=["--to " + ", ".join(KINDS)])
        return found
    if args.to not in KINDS:
        near = [f"did you mean {n}?" for n in nearest(args.to, tuple(KINDS))]
        raise UsageError(f"there is no format '{args.to}'", hints=[*near, "--to " + ", ".join(KINDS)])
    name: str = args.to
    return name


def _selection(args: argparse.Namespace, *, one: bool) -> Selection:
    from probescope.cli.recordings import _numbers
    from probescope.views.export.selection import Selection
    from probescope.views.spans import Spans, spans

    return Selection(
        spans(args.time) if args.time else Spans(),
        tuple(_numbers(args.pid, "pid") or ()),
        tuple(_numbers(args.tid, "tid") or ()),
        tuple(cpu_list(args.cpu)) if args.cpu is not None else (),
        tuple(args.comms.split(",")) if args.comms else (),
        tuple(word for words in args.event for word in words.split(",") if word),
        one,
    )
