"""``probescope report``: where the samples of a recording fall, or what its events come to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, add_jobs, how_many, offers
from probescope.cli.perf_options import add_perf_options
from probescope.cli.report_summaries import add_summaries
from probescope.cli.script_more import add_switches
from probescope.cli.symbols import add_symbols
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.cli.reports import Report

EXAMPLES = """examples:
  probescope report                            functions of perf.data by their own weight, or with callees
  probescope report -i other.data --sort comm,dso
  probescope report --no-children -g callee    under each function who called it
  probescope report -s prev_comm,prev_state    by fields of tracepoints
  probescope report --hierarchy -s comm,dso,sym
  probescope report -n --percent-limit 1 --time 10%-20%
  probescope report -f json
  probescope report --sched                    scheduling, as perf sched latency; also --timehist, --latency
  probescope report --syscalls --time 10%-20%  system calls, as perf trace -s; also --irq
"""
SORTS = "of comm, dso, sym, pid, tgid, cpu, srcline, srcfile, parent, time, weight, trace, fields of tracepoints"


def parser() -> Parser:
    p = Parser("report", "Sum up the samples of a recording, with perf report --stdio's tables.", EXAMPLES)
    p.add_argument("-i", "--input", default="perf.data", metavar="FILE", help="perf.data by default; - is stdin")
    p.add_argument("-s", "--sort", metavar="KEYS", help=SORTS)
    p.add_argument("-F", "--fields", metavar="COLUMNS", help="columns from the left: overhead, sample, period, keys...")
    p.add_argument("-e", "--event", metavar="EVENT", help="only this kind of event")
    p.add_argument("--group", action="store_true", help="events of a recorded group beside each other (done anyway)")
    p.add_argument("--no-group", action="store_true", help="a table for each event of a group")
    p.add_argument(
        "--children", action="store_true", default=None, help="weights with callees (where there are stacks)"
    )
    p.add_argument("--no-children", dest="children", action="store_false", help="own weights alone")
    about = "sum up branches, of recordings that have them (done anyway)"
    p.add_argument("-b", "--branch-stack", action="store_true", default=None, help=about)
    p.add_argument("--no-branch-stack", dest="branch_stack", action="store_false", help="sum up samples all the same")
    graph = p.add_argument("-g", "--call-graph", metavar="STYLE", nargs="?", const="", help=_GRAPH)
    offers(graph, ("caller", "callee", "graph", "fractal", "flat", "folded", "none"))
    p.add_argument("-G", "--inverted", action="store_true", help="callers first, as -g caller")
    _looks(p)
    _told(p)
    _filters(p)
    add_summaries(p)
    add_symbols(p)
    add_jobs(p, "one, which costs least")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default) or json")
    p.add_argument("--stdio", action="store_true", help="as it is")
    add_perf_options(p, "report")
    return p


_GRAPH = (
    "stacks below rows: caller or callee; graph, fractal, flat, folded or none; percent, period or count; least percent"
)


def _looks(p: argparse.ArgumentParser) -> None:
    p.add_argument("-n", "--show-nr-samples", action="store_true", help="numbers of samples too")
    p.add_argument("--show-total-period", action="store_true", help="weights too")
    p.add_argument("--showcpuutilization", action="store_true", help="shares of user and kernel too")
    p.add_argument("-t", "--field-separator", default="", metavar="TEXT", help="between columns, instead of blanks")
    p.add_argument("-w", "--column-widths", metavar="N,...", help="of the first columns; 0: as what is in them")
    p.add_argument("--raw-trace", action="store_true", help="with -s trace: the values of all fields")
    p.add_argument("--group-sort-idx", type=int, default=0, metavar="N", help="rows by the N-th event of a group")
    p.add_argument("--percent-limit", type=float, metavar="PERCENT", help="leave out lesser rows and branches")
    p.add_argument("--percentage", choices=("relative", "absolute"), default="absolute", help="of what filters leave?")
    p.add_argument("--hierarchy", action="store_true", help="a tree of the keys")
    p.add_argument("--time-quantum", default="100ms", metavar="TIME", help="of --sort time: 100ms")
    p.add_argument("-p", "--parent", metavar="REGEX", help="callers that --sort parent tells apart")
    p.add_argument("-x", "--exclude-other", action="store_true", help="only samples with such a caller")
    p.add_argument("--max-stack", type=how_many, metavar="N", help="only the innermost N functions of stacks")
    p.add_argument("--ns", action="store_true", help="nine digits of --sort time")
    p.add_argument("-U", "--hide-unresolved", action="store_true", help="only functions with a name")
    p.add_argument("-q", "--quiet", action="store_true", help="no headings, no warnings")


def _told(p: argparse.ArgumentParser) -> None:
    from argparse import SUPPRESS

    p.add_argument("--header", action="store_true", help="what the file tells of itself, too")
    p.add_argument("-I", "--show-info", action="store_true", help="with --header: what is known of the machine")
    p.add_argument("--header-only", action="store_true", help="that alone")
    p.add_argument("--stats", action="store_true", help="numbers of records by type")
    p.add_argument("--tasks", action="store_true", help="the processes and threads that are told of")
    p.add_argument("--mmaps", action="store_true", help="these, with the files in their memory")
    p.add_argument("--mem-mode", action="store_true", help=SUPPRESS)
    p.add_argument("-D", "--dump-raw-trace", action="store_true", help="each record as it lies, and what it says")
    p.add_argument("-T", "--threads", action="store_true", help=SUPPRESS)


def _filters(p: argparse.ArgumentParser) -> None:
    p.add_argument("-c", "--comms", "--comm", metavar="LIST", help="only of threads with these names")
    p.add_argument("-d", "--dsos", "--dso", metavar="LIST", help="only in these files")
    p.add_argument("-S", "--symbols", metavar="LIST", help="only in these functions")
    p.add_argument("--symbol-filter", metavar="TEXT", help="only in functions whose names hold this")
    p.add_argument("--pid", metavar="LIST", help="only of these processes")
    p.add_argument("--tid", metavar="LIST", help="only of these threads")
    p.add_argument("-C", "--cpu", metavar="LIST", help="only on these CPUs: 0,2-3")
    p.add_argument("--socket-filter", type=int, metavar="N", help="only on CPUs of this socket")
    add_switches(p)
    p.add_argument("--time", metavar="A,B", help="only between these times: seconds, 10%%-20%%, 10%%/2")


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    _refuse(args)
    if args.summary:
        from probescope.cli.report_summaries import summary

        return summary(args)
    from probescope.cli.recordings import opened
    from probescope.cli.reports import Report
    from probescope.cli.symbols import search_of

    with opened(args.input, search_of(args, args.input, bare=True)) as recording:
        report = Report(recording, args)
        if args.dump_raw_trace:
            return _dumped(report)
        if args.header or args.header_only or args.stats or args.tasks or args.mmaps:
            from probescope.views.reporting import told

            if not hasattr(recording.recording, "container") and not args.tasks:
                raise UsageError("--header, --stats and --mmaps are of a perf.data's own, which this is not")
            done = told.write(sys.stdout.write, recording.recording, args)
            if done:
                return _end(report, 0)
        report.read()
        found = report.write(sys.stdout.write)
        if not found:
            sys.stdout.flush()
            sys.stderr.write(f"ERROR: there are no such samples in {args.input}\n")
        return _end(report, 0 if found else 1)


def _dumped(report: Report) -> int:
    """All records, then how many there were of each type."""
    from probescope.cli.script_dump import dump
    from probescope.cli.terminal import recorded_out
    from probescope.views.reporting import told

    dump(report.opened, recorded_out(), None)
    for line in told.stats(report.opened.recording):
        sys.stdout.write(line + "\n")
    return _end(report, 0)


def _end(report: Report, code: int) -> int:
    sys.stdout.flush()
    if not report.args.quiet:
        report.opened.tell_damage(sys.stderr)
        report.opened.tell_missing(sys.stderr)
    return code


def _refuse(args: argparse.Namespace) -> None:
    if args.mem_mode:
        raise UsageError(
            "memory accesses are not summed up by this command", hints=["--sort comm,dso,sym sums samples"]
        )
    if args.threads:
        raise UsageError("counts of threads are not shown", hints=["--sort pid tells threads apart"])
    if args.max_stack is not None and args.max_stack < 1:
        raise UsageError("a stack has at least one function", hints=["--max-stack 8"])
    if args.percent_limit is not None and not 0 <= args.percent_limit <= 100:
        raise UsageError("a limit is between 0 and 100 percent", hints=["--percent-limit 0.5"])
