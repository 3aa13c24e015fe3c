"""``probescope report``: where the samples of a recording fall."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, add_filters
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import ToldBatch
    from probescope.collect.recorded.totals import Totals
    from probescope.views.report import Look

EXAMPLES = """examples:
  probescope report                            functions of perf.data by their own weight, or with callees
  probescope report -i other.data --sort comm,dso
  probescope report --no-children -g callee    under each function who called it
  probescope report -n --percent-limit 1
  probescope report -f json
"""


def parser() -> Parser:
    p = Parser("report", "Sum up the samples of a recording, with perf report --stdio's tables.", EXAMPLES)
    p.add_argument("-i", "--input", default="perf.data", metavar="FILE", help="perf.data by default; - is stdin")
    p.add_argument("-s", "--sort", default="comm,dso,sym", metavar="KEYS", help="of comm, dso, sym, pid, tid, cpu")
    p.add_argument("-e", "--event", metavar="EVENT", help="only this kind of event")
    p.add_argument(
        "--children", action="store_true", default=None, help="weights with callees (where there are stacks)"
    )
    p.add_argument("--no-children", dest="children", action="store_false", help="own weights alone")
    graphs = ("caller", "callee", "none")
    p.add_argument("-g", "--call-graph", choices=graphs, nargs="?", const="", help="stacks below each row")
    p.add_argument("-n", "--show-nr-samples", action="store_true", help="numbers of samples too")
    p.add_argument("--percent-limit", type=float, default=0.0, metavar="PERCENT", help="leave out lesser rows")
    p.add_argument("--stdio", action="store_true", help="as it is")
    add_filters(p)
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default) or json")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    keys = _keys(args.sort)
    from probescope.cli.recordings import opened
    from probescope.collect.recorded.totals import Totals

    with opened(args.input) as recording:
        wanted = recording.event(args.event) if args.event else -1
        keep = recording.filter(args)
        totals: dict[int, Totals] = {}
        for batch in recording.told.batches():
            kept = keep(batch)
            for kind in _kinds(batch) if wanted < 0 else [wanted]:
                totals.setdefault(kind, Totals(recording.told, kind)).add(batch, kept)
        for kind, found in sorted(totals.items()):
            if found.samples:
                (_json if args.format == "json" else _text)(recording, kind, found, args, keys)
        sys.stdout.flush()
        recording.tell_damage(sys.stderr)
        recording.tell_missing(sys.stderr)
        if not any(t.samples for t in totals.values()):
            sys.stderr.write("ERROR: there are no such samples in it\n")
            return 1
    return 0


def _kinds(told: ToldBatch) -> list[int]:
    import numpy as np

    kinds: list[int] = np.unique(told.batch.event).tolist()
    return kinds


def _keys(text: str) -> tuple[str, ...]:
    from probescope.collect.recorded.totals import KEYS
    from probescope.diagnostics import nearest

    words = tuple("sym" if w == "symbol" else w for w in text.split(",") if w)
    for w in words:
        if w not in KEYS:
            hints = [f"did you mean {n}?" for n in nearest(w, KEYS)]
            raise UsageError(f"there is no key '{w}' to sort by", hints=[*hints, "keys: " + ", ".join(KEYS)])
    if not words:
        raise UsageError("there is nothing to sort by", hints=["--sort comm,dso,sym"])
    return words


def _look(recording: Opened, kind: int, args: argparse.Namespace, keys: tuple[str, ...]) -> Look:
    """As perf: weights with callees and call graphs where there are stacks, unless told otherwise."""
    from probescope.views.report import Look

    stacked = "callchain" in recording.recording.events[kind].sampled
    children = stacked if args.children is None else args.children
    graph = args.call_graph or ""
    if not graph and stacked:
        graph = "caller" if children else "callee"
    return Look(
        keys, children, "" if graph == "none" or not stacked else graph, args.percent_limit, counts=args.show_nr_samples
    )


def _text(recording: Opened, kind: int, totals: Totals, args: argparse.Namespace, keys: tuple[str, ...]) -> None:
    from probescope.views import report

    look = _look(recording, kind, args, keys)
    out = sys.stdout
    out.write(report.heading(recording.recording.events[kind].name, totals.samples, totals.weight))
    for piece in report.table(totals.rows(keys, children=look.children), totals.weight, look):
        out.write(piece)
    out.write("\n\n")


def _json(recording: Opened, kind: int, totals: Totals, args: argparse.Namespace, keys: tuple[str, ...]) -> None:
    import json

    look = _look(recording, kind, args, keys)
    for row in totals.rows(keys, children=look.children):
        data: dict[str, object] = {"event": recording.recording.events[kind].name}
        data |= dict(zip(keys, (k.strip() for k in row.key), strict=True))
        data |= {"weight": row.own, "samples": row.samples, "percent": round(100 * row.own / (totals.weight or 1), 4)}
        if look.children:
            data["with_callees"] = row.total
        sys.stdout.write(json.dumps(data) + "\n")
