"""What ``stat`` prints of snapshots: each interval, or all at the end."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from probescope.collect.stat import Snapshot, StatRequest
    from probescope.model.counting import Reading, Total
    from probescope.views.stat import Named, Row


class Shown:
    """Prints snapshots, or keeps them for the end."""

    def __init__(self, args: argparse.Namespace, request: StatRequest, out: TextIO) -> None:
        from probescope.views.stat import Named, thousands

        self._args, self._request, self._out = args, request, out
        groups = request.cgroups or ("",)
        self._named: list[Named] = [
            Named(c.name, c.unit, c.scale, cgroup) for cgroup in groups for c in request.counters
        ]
        self._units = max([4, *(len(n.unit) for n in self._named)])
        self._runs: list[Snapshot] = []
        self._headed = False
        self._aggregation = _aggregation(args, request)
        self._json = args.json_output or args.format == "json"
        self._grouped = thousands() and not args.no_big_num
        self._all: list[Snapshot] = []

    def keep(self, snapshot: Snapshot) -> None:
        self._runs.append(snapshot)

    def interval(self, snapshot: Snapshot) -> None:
        from probescope.views import stat as view

        if self._args.interval_clear and self._out.isatty():
            self._out.write("\x1b[H\x1b[2J")
            self._headed = False
        if not self._headed and not self._json and self._args.field_separator is None and not self._args.metric_only:
            self._out.write(view.interval_heading(self._units, _apart_by(self._args, self._request)))
        self._runs = [snapshot]
        self._all.append(snapshot) if self._args.summary else None
        at = snapshot.at_ns / 1e9
        if self._args.metric_only:
            self._metrics(self._rows(self._args.interval_print * 1e6), at)
            return
        self._headed = True
        for row in self._rows(self._args.interval_print * 1e6):
            if self._json:
                self._out.write(view.jsonl(row, at_s=at))
            elif self._args.field_separator is not None:
                self._out.write(view.csv(row, self._args.field_separator, at_s=at))
            else:
                self._out.write(f"{at:16.9f} {view.text(row, grouped=self._grouped, units=self._units)}")
        self._out.flush()

    def end(self) -> None:
        from probescope.cli.stat_metrics import summed
        from probescope.views import stat as view

        if self._all:
            self._runs = [summed(self._all)]
        elif self._request.interval_ms or not self._runs:
            return
        runs = len(self._runs)
        elapsed = [s.at_ns / 1e9 for s in self._runs]
        found = self._rows(sum(elapsed) / runs * 1e9)
        if self._args.metric_only:
            self._metrics_at_end(found, elapsed)
            return
        if self._json:
            self._out.write("".join(view.jsonl(r, runs=runs) for r in found))
            return
        if self._args.field_separator is not None:
            summary = bool(self._all) and not self._args.no_csv_summary
            self._out.writelines(view.csv(r, self._args.field_separator, runs=runs, summary=summary) for r in found)
            return
        self._out.write(view.heading(self._whom(), runs))
        self._out.write("".join(view.text(r, grouped=self._grouped, units=self._units) for r in found))
        self._ending(elapsed)
        self._refusals()

    def _ending(self, elapsed: list[float]) -> None:
        from probescope.views import stat as view

        last = self._runs[-1]
        alone = not (self._request.cpus or self._request.pids or self._request.tids)
        times = (last.user_s, last.system_s) if alone else None
        self._out.write(view.ending(elapsed, times, table=self._args.table))

    def _metrics(self, found: list[Row], at_s: float = -1.0) -> None:
        from probescope.views import stat_only as only

        separator = self._args.field_separator
        if self._json:
            self._out.write(only.jsonl(found, at_s))
        elif separator is not None:
            self._out.write(only.csv(found, separator, at_s, headed=not self._headed))
        else:
            self._out.write(only.text(found, at_s, headed=not self._headed))
        self._headed = True
        self._out.flush()

    def _metrics_at_end(self, found: list[Row], elapsed: list[float]) -> None:
        from probescope.views import stat as view

        plain = not self._json and self._args.field_separator is None
        if plain:
            self._out.write(view.heading(self._whom(), 1))
        self._metrics(found)
        if plain:
            self._ending(elapsed)

    def _rows(self, elapsed_ns: float) -> list[Row]:
        from probescope.cli.stat_groups import for_each_cpu
        from probescope.model.counting import averaged, together
        from probescope.views.stat import rows

        key, label, order = self._aggregation
        totals = [together(s.readings, key) for s in self._runs]
        found = averaged(totals) if len(totals) > 1 else totals[0]
        if self._args.percore_show_thread:
            found = for_each_cpu(found, self._request.cpus)
        return rows(sorted(found, key=order), self._named, elapsed_ns, label)

    def _whom(self) -> str:
        r = self._request
        if r.cpus:
            return f"'CPU(s) {self._args.cpu}'" if self._args.cpu else "'system wide'"
        if r.pids:
            return f"process id '{self._args.pid}'"
        if r.tids:
            return f"thread id '{self._args.tid}'"
        return f"'{' '.join(r.command)}'"

    def _refusals(self) -> None:
        if not self._args.verbose:
            return
        for i, error in dict(self._runs[-1].refused).items():
            self._out.write(f"{self._request.counters[i].name}: {error}\n")
            self._out.write("".join(f"HINT: {h}\n" for h in error.hints))


Aggregation = tuple[
    "Callable[[Reading], tuple[int, ...]]",
    "Callable[[Total], tuple[str, tuple[tuple[str, object], ...]]]",
    "Callable[[Total], Any]",
]


def _aggregation(args: argparse.Namespace, request: StatRequest) -> Aggregation:
    """How readings are put together, what the rows are called, and their order."""
    from probescope.cli import stat_groups as groups

    match _apart_by(args, request):
        case "cpu":
            return groups.by_cpu(
                frozenset(
                    i
                    for i, c in enumerate(request.counters)
                    if any(t.name == "percore" and t.value != "0" for t in c.terms)
                )
            )
        case "thread":
            return groups.by_thread()
        case "":
            return groups.all_together()
        case place:
            return groups.by_place(place, request.cpus)


def _apart_by(args: argparse.Namespace, request: StatRequest) -> str:
    if args.no_aggr and request.cpus:
        return "cpu"
    if args.per == "thread" or (args.per and request.cpus):
        return str(args.per)
    return ""
