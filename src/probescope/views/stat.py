"""What was counted, as perf-stat(1) prints it: for people, as CSV (``-x``), as JSON (``-j``).

          0.65 msec task-clock                       #    0.636 CPUs utilized             ( +-  2.12% )
value         unit  name                                metric                             deviation, share of time
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

from probescope.frozen import dataclass
from probescope.model.counting import CLOCKS, Total, metric, plain_name

_NAME, _METRIC = 32, 35


@dataclass(frozen=True, slots=True)
class Named:
    """A counter as printed: ``unit`` and ``scale`` its PMU's; ``cgroup`` if counts are of one."""

    name: str
    unit: str = ""
    scale: float = 1.0
    cgroup: str = ""

    @property
    def is_clock(self) -> bool:
        return plain_name(self.name) in CLOCKS


@dataclass(frozen=True, slots=True)
class Row:
    """A total with its words. ``prefix``: whose it is, as it stands before the value; ``data``: the same for JSON."""

    named: Named
    total: Total
    metric: tuple[float, str, str] | None
    prefix: str = ""
    data: tuple[tuple[str, object], ...] = ()


Label = Callable[[Total], tuple[str, tuple[tuple[str, object], ...]]]


def rows(totals: Sequence[Total], named: Sequence[Named], elapsed_ns: float, label: Label) -> list[Row]:
    """Metrics are of totals with one key and one cgroup."""
    known: dict[tuple[object, ...], dict[str, float]] = {}
    for t in totals:
        if t.counted:
            n = named[t.counter]
            known.setdefault((*t.key, n.cgroup), {}).setdefault(plain_name(n.name), t.value)
    out: list[Row] = []
    for t in totals:
        n = named[t.counter]
        others = known.get((*t.key, n.cgroup), {})
        out.append(Row(n, t, metric(n.name, t.value, others, elapsed_ns) if t.counted else None, *label(t)))
    return out


def number(row: Row) -> float:
    """In the unit that is printed: ms for clocks, else the PMU's."""
    return row.total.value / 1e6 if row.named.is_clock else row.total.value * row.named.scale


def digits(row: Row) -> int:
    """Behind the point: counts have none."""
    return 2 if row.named.is_clock or row.named.scale != 1.0 else 0


def unit(row: Row) -> str:
    return "msec" if row.named.is_clock else row.named.unit


def missing(row: Row) -> str:
    return "<not counted>" if row.total.supported else "<not supported>"


# --- for people


def text(row: Row, *, grouped: bool = False, units: int = 4) -> str:
    """``grouped``: with thousands separators. ``units``: width of the column of units."""
    form = f"{',' if grouped else ''}.{digits(row)}f"
    value = format(number(row), form) if row.total.counted else missing(row)
    line = f"{row.prefix}{value:>18} {unit(row):<{units}} {row.named.name:<{_NAME}}"
    if row.named.cgroup:
        line += f" {row.named.cgroup}"
    line += _metric_text(row)
    if row.total.deviation >= 0 and row.total.counted:
        line += f"  ( +-{100 * row.total.deviation:6.2f}% )"
    if row.total.counted and row.total.running < row.total.enabled:
        line += f"  ({row.total.share:.2f}%)"
    return line.rstrip(" ") + "\n"


def _metric_text(row: Row) -> str:
    if row.metric is None:
        return " " * _METRIC
    value, form, about = row.metric
    said = f" # {form % value}"
    return f"{said} {about:<{_METRIC - len(said) - 1}}"


def thousands() -> bool:
    """Whether the locale groups digits: perf asks it so."""
    chosen = os.environ.get("LC_ALL") or os.environ.get("LC_NUMERIC") or os.environ.get("LANG") or "C"
    return chosen.partition(".")[0] not in {"C", "POSIX"}


def heading(whom: str, runs: int) -> str:
    more = f" ({runs} runs)" if runs > 1 else ""
    return f"\n Performance counter stats for {whom}{more}:\n\n"


def ending(elapsed: Sequence[float], times: tuple[float, float] | None, *, table: bool = False) -> str:
    """Seconds of each run; user and system times of a command that ran once. ``table``: each run apart, too."""
    from probescope.model.counting import deviation_of

    mean = sum(elapsed) / len(elapsed)
    if len(elapsed) == 1:
        out = f"\n {mean:17.9f} seconds time elapsed\n\n"
        if times is not None:
            out += f" {times[0]:17.9f} seconds user\n {times[1]:17.9f} seconds sys\n\n\n"
        return out
    deviation = deviation_of(elapsed)
    digits = 5 if deviation == 0 else max(2, min(9, 2 + len(str(int(1 / deviation)))))
    share = 100 * deviation / mean if mean else 0
    shown = f"{mean:.{digits}f}"
    each = _runs(elapsed, mean, digits) if table else ""
    return f"\n{each} {shown:>17} +- {deviation:.{digits}f} seconds time elapsed  ( +-{share:6.2f}% )\n\n"


def _runs(elapsed: Sequence[float], mean: float, digits: int) -> str:
    """With a bar of one character for each 5 % that it differs from the mean."""
    margin = " " * (18 - len(f"{mean:.{digits}f}"))
    out = f"{margin}# Table of individual measurements:\n"
    for run in elapsed:
        bar = "#" * (1 + abs(int(100 * (run - mean) / run)) // 5) if run else ""
        out += f" {run:17.{digits}f} ({run - mean:+.{digits}f}) {bar}\n"
    return f"{out}\n{margin}# Final result:\n"


_WHOSE = {
    "cpu": f"{'CPU':<11}",
    "core": "core            cpus ",
    "die": "die          cpus ",
    "socket": "socket cpus ",
    "node": "node   cpus ",
    "thread": f"{'comm-pid':>20}      ",
}


def interval_heading(units: int = 4, whose: str = "") -> str:
    """``whose``: what rows are apart by."""
    return f"#           time {_WHOSE.get(whose, '')}            counts {'unit':<{units}} events\n"


# --- for programs


def csv(row: Row, separator: str, *, runs: int = 1, at_s: float = -1.0, summary: bool = False) -> str:
    """Fields as perf-stat(1) lists them under CSV FORMAT. ``summary``: of all intervals."""
    fields: list[str] = [f"{at_s:16.9f}"] if at_s >= 0 else [f"{'summary':>16}"] if summary else []
    fields += [p for p in row.prefix.split() if p]
    if row.total.counted:
        fields.append(f"{number(row):.{digits(row)}f}")
    else:
        fields.append(missing(row))
    fields += [unit(row), row.named.name]
    if row.named.cgroup:
        fields.append(row.named.cgroup)
    if runs > 1:
        fields.append(f"{100 * max(row.total.deviation, 0):.2f}%")
    fields += [str(row.total.running), f"{row.total.share:.2f}"]
    fields += ["", ""] if row.metric is None else [(row.metric[1].rstrip("% ") % row.metric[0]).strip(), row.metric[2]]
    return separator.join(fields) + "\n"


def jsonl(row: Row, *, runs: int = 1, at_s: float = -1.0) -> str:
    """One object a line, with perf's keys."""
    out: dict[str, object] = {"interval": round(at_s, 9)} if at_s >= 0 else {}
    out.update(row.data)
    out["counter-value"] = f"{number(row):.6f}" if row.total.counted else missing(row)
    out["unit"] = unit(row)
    out["event"] = row.named.name
    if row.named.cgroup:
        out["cgroup"] = row.named.cgroup
    if runs > 1:
        out["variance"] = round(100 * max(row.total.deviation, 0), 2)
    out["event-runtime"] = row.total.running
    out["pcnt-running"] = round(row.total.share, 2)
    if row.metric is not None:
        out["metric-value"] = f"{row.metric[0]:.6f}"
        out["metric-unit"] = row.metric[2]
    return json.dumps(out) + "\n"
