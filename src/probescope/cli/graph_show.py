"""A function graph as it was asked for: a tree as it grows, or totals at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from probescope.collect.graph.request import Calls
    from probescope.formats.tracing.call_totals import CallTotals
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.recording import EventBatch
    from probescope.views.graph.tree import Look, Row

Write = Callable[[str], Any]


def show(args: argparse.Namespace, source: Calls, write: Write) -> int:
    """The exit code of what was traced."""
    from probescope.cli.graph import tell
    from probescope.formats.tracing.call_totals import CallTotals

    totals = CallTotals()
    tree = None if args.summed else _Tree(args, source, write)
    seen = 0
    for columns, batch in source.batches():
        seen += len(columns.at)
        if tree is not None:
            tree.add(columns, batch)
        else:
            totals.add(columns)
    if tree is not None:
        tree.end()
    else:
        _summary(args, totals, source, write)
    for line in source.told():
        tell(line)
    if not seen:
        tell(_nothing(args))
    return int(source.exit_code)


def _nothing(args: argparse.Namespace) -> str:
    if args.input and not args.roots:
        return f"{args.input} has no calls of a function graph: record -p function_graph makes some"
    when = f"in {args.input}" if args.input else "meanwhile"
    return f"none of these functions {'took so long' if args.threshold else 'was called'} {when}"


class _Tree:
    def __init__(self, args: argparse.Namespace, source: Calls, write: Write) -> None:
        from probescope.kernel.machine import online_cpus
        from probescope.views.graph.others import OtherRows
        from probescope.views.graph.tree import Tree

        self.args, self.source, self.names, self.write = args, source, source.names, write
        self._others = OtherRows(source.events)
        look = _look(args, source)
        self.tree = Tree(self.names.function, self.names.comm, max(online_cpus()) + 1, look, self.names.arguments)
        self._json = args.format == "json"
        if not self._json:
            write(self.tree.header())

    def add(self, columns: CallColumns, batch: EventBatch | None) -> None:
        from probescope.views.graph.rows import document

        rows = list(self._rows(columns, batch))
        if self._json:
            for row in rows:
                self.write(json.dumps(document(row, self.names)) + "\n")
            return
        self.names.learn({row.tid for row in rows})
        for line in self.tree.feed(rows):
            self.write(line)
        sys.stdout.flush()

    def end(self) -> None:
        if not self._json:
            for line in self.tree.feed((), final=True):
                self.write(line)

    def _rows(self, columns: CallColumns, batch: EventBatch | None) -> Iterator[Row]:
        from probescope.views.graph.rows import rows

        others = self._others.rows(batch) if batch is not None else []
        return rows(columns, others, self.args.threshold)


def _look(args: argparse.Namespace, source: Calls) -> Look:
    from probescope.cli.tables import style
    from probescope.views.graph.tree import Look

    columns = {name: getattr(args, name) for name in ("tail", "abstime", "overhead", "duration", "cpu", "overrun")}
    return Look(
        **columns,
        proc=args.proc or bool(args.binary and args.kernel is not None),
        values=args.retval,
        hex=args.retval_hex,
        ret=source.ret,
        irq=source.names.interrupts(),
        threads=bool(args.binary),
        color=args.output is None and style().color,
    )


def _summary(args: argparse.Namespace, totals: CallTotals, source: Calls, write: Write) -> None:
    from probescope.views.graph import summary

    name = source.names.function
    found = totals.functions()
    if args.flame:
        _flame(args, totals, source)
    if args.format == "json":
        for total in found:
            write(json.dumps(summary.as_json(total, name)) + "\n")
        return
    if args.summary:
        write("".join(summary.table(found, name)))
    called = totals.callers() if args.callers or args.histogram else {}
    if args.callers:
        write("".join(summary.callers(called, name)))
    if args.histogram:
        for total in found:
            if (0, total.func) in called:
                write("".join(summary.histogram(total, name)))


def _flame(args: argparse.Namespace, totals: CallTotals, source: Calls) -> None:
    from probescope.cli.flame import write
    from probescope.views.flame.drawing import drawn, kind_of
    from probescope.views.flame.svg import Look
    from probescope.views.graph.flame import stacks

    where = f"functions of {args.binary}" if args.binary else "functions of the kernel"
    text = drawn(stacks(totals, source.names), kind_of(args.flame), Look(f"Time in {where}"))
    write(args.flame, text)
