"""``probescope graph``: which functions the kernel calls, in which order, and how long each takes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser, process_id
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.formats.tracing.call_totals import CallTotals
    from probescope.formats.tracing.calls import CallColumns
    from probescope.views.graph.tree import Look, Row

EXAMPLES = """examples:
  probescope graph do_sys_openat2 -- ls             everything that it calls, as a tree, while ls runs
  probescope graph vfs_read vfs_write -p 1234 --depth 3
  probescope graph 'ext4_*' --summary --seconds 5   per function: calls, time, time of its own
  probescope graph schedule --histogram -- sleep 1  how long each call took
  probescope graph do_sys_openat2 --flame open.html -- find /etc
  probescope graph '*' --yes-really --seconds 1     every function of the kernel; pauses before the machine freezes

the tree is the kernel's own: + more than 10 us, ! 100 us, # 1 ms, * 10 ms, @ 100 ms, $ 1 s
"""
OPTIONS = {
    "funcgraph-retval": "what functions return",
    "funcgraph-args": "their arguments",
    "funcgraph-retaddr": "where they return to",
    "sleep-time": "time asleep counts (default)",
    "graph-time": "time in called functions counts in the kernel's own profile",
    "funcgraph-irqs": "interrupts, marked by arrows (default)",
}


def parser() -> Parser:
    p = Parser("graph", "Trace functions of the kernel and all that they call.", EXAMPLES)
    p.add_argument("functions", nargs="*", metavar="FUNCTION", help="roots of the graph; globs")
    p.add_argument("-x", "--exec", dest="binary", metavar="FILE", help="functions of this file, by uprobes")
    p.add_argument("-g", dest="roots", action="append", default=[], metavar="FUNCTION", help="another root")
    p.add_argument(
        "-n", dest="notrace", action="append", default=[], metavar="FUNCTION", help="leave it out, with all it calls"
    )
    p.add_argument(
        "-l", dest="only", action="append", default=[], metavar="FUNCTION", help="trace these functions only"
    )
    p.add_argument(
        "-p", "-P", "--pid", type=process_id, default=0, metavar="PID", help="this process, and its children"
    )
    p.add_argument("-a", "--all", action="store_true", help="every process, also with a command")
    p.add_argument("--depth", "--max-graph-depth", "-D", type=_depth, default=0, metavar="N", help="levels of calls")
    p.add_argument(
        "-O",
        dest="options",
        action="append",
        default=[],
        metavar="OPTION",
        help="of the kernel's tracer: " + ", ".join(OPTIONS),
    )
    p.add_argument(
        "-e",
        "--event",
        dest="events",
        action="append",
        default=[],
        metavar="SYSTEM:EVENT",
        help="print these events among the calls",
    )
    p.add_argument("-b", "--buffer-size", type=_size, default=8192, metavar="KB", help="of each CPU (8192)")
    p.add_argument("--seconds", type=_seconds, default=0.0, metavar="S", help="end after so long")
    p.add_argument("--summary", action="store_true", help="a line for each function instead of the tree")
    p.add_argument("--histogram", action="store_true", help="how the times of each root are spread")
    p.add_argument("--callers", action="store_true", help="who called what")
    p.add_argument("--flame", metavar="FILE", help="a flame graph of the time spent (.html, .svg, .folded)")
    p.add_argument(
        "--threshold", type=_microseconds, default=0, metavar="US", help="in the tree, only calls that took longer"
    )
    for name, about in (
        ("tail", "names after closing braces"),
        ("proc", "the task in each line"),
        ("abstime", "times"),
    ):
        p.add_argument(f"--{name}", action="store_true", help=about)
    p.add_argument("--retval", action="store_true", help="what functions return")
    p.add_argument("--args", action="store_true", help="their arguments, where the kernel records them")
    p.add_argument("--yes-really", action="store_true", help="trace every function of the kernel")
    p.add_argument(
        "-f", "--format", choices=("text", "json"), default="text", help="text (default), or json: a document a line"
    )
    p.add_argument("-o", "--output", metavar="FILE", help="write to a file")
    return p


def _bounded(text: str, what: str, most: float) -> float:
    import argparse

    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 < number <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of {what} between 0 and {most:g}")
    return number


def _depth(text: str) -> int:
    return int(_bounded(text, "levels", 255))


def _size(text: str) -> int:
    return int(_bounded(text, "kilobytes", 1 << 24))


def _seconds(text: str) -> float:
    return _bounded(text, "seconds", 1e7)


def _microseconds(text: str) -> int:
    return int(_bounded(text, "microseconds", 1e12) * 1000)


def parse(argv: list[str]) -> argparse.Namespace:
    """What follows ``--`` is the command."""
    cut = argv.index("--") if "--" in argv else len(argv)
    args = parser().parse_args(argv[:cut])
    args.command = tuple(argv[cut + 1 :])
    args.roots = [*args.functions, *args.roots]
    return args


def main(argv: list[str]) -> int:
    args = parse(argv)
    if not args.roots and not args.only:
        raise UsageError("which function?", hints=["probescope graph do_sys_openat2 -- ls", "probescope graph --help"])
    source = _source(args)
    out = _opened(args.output)
    try:
        source.begin()
        return _shown(args, source, out.write)
    finally:
        source.close()
        out.flush()
        if out is not sys.stdout:
            out.close()


def _source(args: argparse.Namespace) -> Any:
    """function_graph, or probes at each function where that does not exist."""
    from probescope.cli import graph_probes

    if args.binary:
        if args.retval or args.args or args.options:
            tell("--retval, --args and -O are of the kernel's tracer; of programs: probescope run -e 'uretprobe:...'")
        pairs = graph_probes.user_pairs(args.binary, args.roots)
        return graph_probes.ProbedCalls(pairs, args.command, args.pid, args.seconds)
    from probescope.kernel import tracefs

    if "function_graph" in tracefs.tracers():
        from probescope.cli.graph_ftrace import FtraceCalls

        return FtraceCalls(args)
    way = graph_probes.kernel_way(args.roots)
    tell(f"this kernel has no function_graph: {way} probes at the named functions, not at what they call")
    pairs = graph_probes.kernel_pairs(way, args.roots)
    return graph_probes.ProbedCalls(pairs, args.command, args.pid, args.seconds)


def _opened(name: str | None) -> Any:
    if name is None or name == "-":
        return sys.stdout
    try:
        return open(name, "w", encoding="utf-8", errors="surrogateescape")
    except OSError as e:
        raise UsageError(f"cannot write {name}: {e.strerror}") from None


def tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


# --- showing


def _shown(args: argparse.Namespace, source: Any, write: Callable[[str], Any]) -> int:
    from probescope.formats.tracing.call_totals import CallTotals

    totals = CallTotals()
    summed = args.summary or args.histogram or args.callers or args.flame
    seen = 0
    tree = None if summed else _Tree(args, source, write)
    for columns in source.columns():
        seen += len(columns.at)
        if tree is not None:
            tree.add(columns)
        else:
            totals.add(columns)
    if tree is not None:
        tree.end()
    else:
        _summary(args, totals, source.names, write)
    for line in source.told():
        tell(line)
    if not seen:
        tell("none of these functions was called meanwhile")
    return int(source.exit_code)


class _Tree:
    def __init__(self, args: argparse.Namespace, source: Any, write: Callable[[str], Any]) -> None:
        from probescope.kernel.machine import online_cpus
        from probescope.views.graph.tree import Tree

        self.args, self.source, self.names, self.write = args, source, source.names, write
        look = _look(args, self.names.interrupts())
        self.tree = Tree(self.names.function, self.names.comm, max(online_cpus()) + 1, look)
        if args.format == "text":
            write(self.tree.header())

    def add(self, columns: CallColumns) -> None:
        rows = list(self._rows(columns))
        if self.args.format == "json":
            for row in rows:
                self.write(json.dumps(self._document(row)) + "\n")
            return
        self.names.learn({row.tid for row in rows})
        for line in self.tree.feed(rows):
            self.write(line)
        sys.stdout.flush()

    def end(self) -> None:
        if self.args.format == "text":
            for line in self.tree.feed((), final=True):
                self.write(line)

    def _rows(self, c: CallColumns) -> Iterator[Row]:
        from probescope.views.graph.tree import Row

        values = c.value.tolist() if c.value is not None else [None] * len(c.at)
        columns = [column.tolist() for column in (c.cpu, c.tid, c.func, c.depth, c.kind, c.duration)]
        calls = zip(*columns, values, c.time.tolist(), c.from_.tolist(), strict=True)
        others = self.source.others()
        for at, call in zip(c.at.tolist(), calls, strict=True):
            while others and others[0][0] < at:
                yield others.pop(0)[1]
            row = Row(call[0], call[1], call[2], call[3], bool(call[4]), *call[5:])
            if not self.args.threshold or (row.returns and row.duration >= self.args.threshold):
                yield row
        yield from (row for _, row in others)

    def _document(self, row: Row) -> dict[str, Any]:
        kind = "event" if row.text else "return" if row.returns else "call"
        out: dict[str, Any] = {"type": kind, "time": row.time, "cpu": row.cpu, "tid": row.tid, "depth": row.depth}
        if row.text:
            return {**out, "text": row.text}
        out["function"] = self.names.function(row.func)
        if row.returns:
            out["duration_ns"] = row.duration
            if row.value is not None:
                out["value"] = row.value
        return out


def _look(args: argparse.Namespace, interrupts: tuple[int, int]) -> Look:
    from probescope.views.graph.tree import Look

    color = args.output is None and sys.stdout.isatty()
    retval = args.retval or "funcgraph-retval" in args.options
    return Look(args.tail, args.proc, args.abstime, values=retval, irq=interrupts, color=color)


# --- totals


def _summary(args: argparse.Namespace, totals: CallTotals, names: Any, write: Callable[[str], Any]) -> None:
    from probescope.views.graph import summary

    found = totals.functions()
    if args.flame:
        _flame(args.flame, totals, names.function)
    if args.format == "json":
        for total in found:
            write(json.dumps(summary.as_json(total, names.function)) + "\n")
        return
    if args.summary:
        write("".join(summary.table(found, names.function)))
    if args.callers:
        write("".join(summary.callers(totals.callers(), names.function)))
    if args.histogram:
        called = totals.callers()
        for total in found:
            if (0, total.func) in called:
                write("".join(summary.histogram(total, names.function)))


def _flame(path: str, totals: CallTotals, name: Callable[[int], str]) -> None:
    from probescope.views.flame import page, stacks, svg

    samples = stacks.StackSamples(unit="ns")
    for functions, _, own in totals.paths():
        if own:
            samples.add(samples.node(name(f) for f in functions), own)
    title = "Time in functions of the kernel"
    if path.endswith((".folded", ".txt")):
        text = "".join(f"{line}\n" for line in stacks.folded(samples))
    else:
        text = svg.render(samples, svg.Look(title)) if path.endswith(".svg") else page.render(samples, title)
    with _opened(path) as file:
        file.write(text)
    tell(f"wrote {path}")
