"""``probescope diff``: what has changed between recordings."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from probescope.cli.parsing import Parser
from probescope.cli.symbols import add_symbols
from probescope.errors import FormatError, UsageError

if TYPE_CHECKING:
    from probescope.cli.recordings import Opened
    from probescope.views.diff import Look
    from probescope.views.reporting.keys import Key, Value

    Rows = dict[tuple[Value, ...], int]

EXAMPLES = """examples:
  probescope diff                              perf.data.old against perf.data
  probescope diff before.data after.data -s comm,dso
  probescope diff -c ratio -p before.data after.data later.data
"""


class Table(NamedTuple):
    """Weights of rows, and of all; ``kind``: the event's type and number in perf_event_attr, where it has these."""

    rows: Rows
    whole: int
    kind: tuple[int, int] | None


TRACEPOINT = 2
_WEIGHT = re.compile(r"-?\d{1,9}", re.ASCII)


def parser() -> Parser:
    p = Parser("diff", "Compare the samples of recordings: shares of the first, and what became of them.", EXAMPLES)
    p.add_argument("files", nargs="*", metavar="FILE", help="the old one, and new ones (perf.data.old, perf.data)")
    p.add_argument("-s", "--sort", default="dso,symbol", metavar="KEYS", help="rows: dso,symbol; as in report")
    p.add_argument("-c", "--compute", default="delta-abs", metavar="HOW", help=_HOW)
    p.add_argument("-o", "--order", type=int, default=1, metavar="N", help="sort by file N's column; 0: the first's")
    p.add_argument("-p", "--period", action="store_true", help="weights too")
    p.add_argument("-F", "--formula", action="store_true", help="how each difference is worked out")
    p.add_argument("-b", "--baseline-only", action="store_true", help="only rows that the first file has")
    p.add_argument("-t", "--field-separator", default="", metavar="TEXT", help="between columns, instead of blanks")
    p.add_argument("-e", "--event", metavar="EVENT", help="only this kind of event")
    p.add_argument("-C", "--comms", "--comm", metavar="LIST", help="only of threads with these names")
    p.add_argument("-d", "--dsos", "--dso", metavar="LIST", help="only in these files")
    p.add_argument("-S", "--symbols", metavar="LIST", help="only in these functions")
    p.add_argument("--pid", metavar="LIST", help="only of these processes")
    p.add_argument("--tid", metavar="LIST", help="only of these threads")
    p.add_argument("--cpu", metavar="LIST", help="only on these CPUs: 0,2-3")
    p.add_argument("--time", metavar="A,B", help="only between these times: seconds, 10%%-20%%, 10%%/2")
    add_symbols(p)
    p.add_argument("-q", "--quiet", action="store_true", help="no headings")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default) or json")
    return p


_HOW = "delta-abs, delta, ratio or wdiff:W1,W2"


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    files = _files(args.files)
    look = _look(args, len(files))
    tables = [_summed(name, args, look.keys) for name in files]
    names = [n for n in next(filter(None, tables), {}) if not args.event or n == args.event]
    if not names:
        raise FormatError("there are no such samples in it", file=files[0])
    for i, name in enumerate(names):
        each = [_of(name, next(t for t in tables if t)[name].kind, t) for t in tables]
        if args.format == "json":
            _json(name, each, look)
            continue
        if not args.quiet:
            _heading(name, files, first=i == 0)
        _text(each, look)
    return 0


def _of(name: str, kind: tuple[int, int] | None, tables: dict[str, Table]) -> Table:
    """The event of this name, or the one that is the same but for its modifiers: ``cycles`` and ``cycles:u``. Numbers
    of tracepoints are each machine's own."""
    same = (t for t in tables.values() if kind is not None and t.kind == kind and kind[0] != TRACEPOINT)
    return tables.get(name) or next(same, Table({}, 0, kind))


def _files(named: list[str]) -> list[str]:
    """As perf has it: one file is compared with the usual old one."""
    if len(named) > 1:
        return named
    return ["perf.data.old", named[0] if named else "perf.data"]


def _look(args: Namespace, files: int) -> Look:
    from probescope.views.diff import HEADS, Look
    from probescope.views.reporting.keys import Key, parse_keys

    how, _, rest = args.compute.partition(":")
    weights = (1, 1)
    if how == "wdiff" and rest:
        words = rest.split(",")
        if len(words) != 2 or not all(_WEIGHT.fullmatch(w) for w in words):
            raise UsageError(f"'{rest}' are no two weights", hints=["-c wdiff:1,2"])
        weights = int(words[0]), int(words[1])
    if how not in HEADS or (rest and how != "wdiff"):
        raise UsageError(f"there is no way '{args.compute}' to compare", hints=[_HOW])
    if not 0 <= args.order < files:
        raise UsageError(f"there is no file {args.order}", hints=[f"-o 0 to {files - 1}"])
    keys = tuple(k for k in parse_keys(args.sort) if isinstance(k, Key))
    if any(k.name in {"trace", "time", "pid", "tid", "tgid"} for k in keys):
        raise UsageError(f"rows of '{args.sort}' are not the same in two recordings", hints=["--sort comm,dso,symbol"])
    return Look(
        keys, how, args.order, weights, args.period, args.formula, args.baseline_only, args.field_separator, args.quiet
    )


def _summed(name: str, args: Namespace, keys: tuple[Key, ...]) -> dict[str, Table]:
    """Of a file, by the event's name."""
    from probescope.cli.recordings import opened
    from probescope.cli.reports import Report
    from probescope.cli.symbols import search_of

    with opened(name, search_of(args, name)) as recording:
        report = Report(recording, _as_report(args))
        report.read()
        out = {}
        attrs = getattr(recording.recording, "attrs", ())
        for block in report.blocks:
            if block.sums.samples[0]:
                rows = report.rows(block)
                attr = attrs[block.kinds[0]] if block.kinds[0] < len(attrs) else None
                kind = None if attr is None else (attr.type, attr.config)
                weights = {r.values: r.stats[0].own for r in rows.rows}
                out[block.names[0]] = Table(weights, block.sums.weight[0], kind)
        recording.tell_damage(sys.stderr)
        _checked(recording, args)
    return out


def _checked(recording: Opened, args: Namespace) -> None:
    if args.event and args.event not in {e.name for e in recording.recording.events}:
        recording.event(args.event)


def _as_report(args: Namespace) -> Namespace:
    from probescope.cli.report import parser as report_parser

    same = {n: getattr(args, n) for n in ("sort", "comms", "dsos", "symbols", "pid", "tid", "cpu", "time", "event")}
    out = report_parser().parse_args(["--no-children", "--no-group", "-g", "none"])
    for option, value in same.items():
        setattr(out, option, value)
    return out


def _heading(name: str, files: list[str], *, first: bool) -> None:
    from probescope.model.visible import printable

    out = sys.stdout
    out.write(f"{'' if first else chr(10)}# Event '{printable(name)}'\n#\n")
    if len(files) > 2:
        out.write("# Data files:\n")
        for i, file in enumerate(files):
            out.write(f"#  [{i}] {printable(file)} {'(Baseline)' if not i else ''}\n")
        out.write("#\n")


def _text(each: list[Table], look: Look) -> None:
    from probescope.views.diff import Diff, joined

    for piece in Diff(joined([t.rows for t in each]), [t.whole for t in each], look).text():
        sys.stdout.write(piece)


def _json(name: str, each: list[Table], look: Look) -> None:
    import json

    from probescope.views.diff import Diff, joined

    totals = [t.whole for t in each]
    lines = joined([t.rows for t in each])
    diff = Diff(lines, totals, look)
    for line in diff.lines():
        data: dict[str, object] = {"event": name}
        data |= {k.name: v.text for k, v in zip(look.keys, line.values, strict=True)}
        data |= {
            "weights": line.weights,
            "percents": [_percent(w, t) for w, t in zip(line.weights, totals, strict=True)],
        }
        data[look.compute] = [diff.value(line, i) for i in range(1, len(totals))]
        sys.stdout.write(json.dumps(data) + "\n")


def _percent(weight: int | None, whole: int) -> float | None:
    return None if weight is None else round(100 * weight / (whole or 1), 4)
