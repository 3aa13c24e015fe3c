"""What is worked out of counts, without these, as perf stat --metric-only prints it: a column for each metric, a line
for all of them, or for each CPU, core...

     Performance counter stats for 'ls':

                      GHz      insn per cycle  branch-misses of all branches
                      3.1                1.52                          0.93%

Rates, and how many CPUs were in use, are no metrics to perf here: they have no column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from probescope.views.stat import Row

_COLUMN = 20


def lines(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of one CPU, core..., in their order."""
    out: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        out.setdefault(row.total.key, []).append(row)
    return list(out.values())


def metrics(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """(what, value)"""
    out = []
    for row in rows:
        if row.metric is not None and "/sec" not in row.metric[2] and row.metric[2] != "CPUs utilized":
            value, form, about = row.metric
            about = f"{row.named.name} {about}" if about.startswith("of all") else about
            out.append((about, form % value))
    return out


def text(rows: Sequence[Row], at_s: float = -1.0, *, headed: bool) -> str:
    """``headed``: with the names of columns."""
    found = lines(rows)
    columns = [what for what, _ in metrics(found[0])] if found else []
    time = f"{at_s:16.9f} " if at_s >= 0 else ""
    out = ""
    if headed:
        margin = " " * len(found[0][0].prefix.rstrip()) if found else ""
        begin = f"#{'time':>15} " if at_s >= 0 else ""
        out += begin + margin + "".join(f"{what:>{_COLUMN}} " for what in columns) + "\n"
    for line in found:
        cells = "".join(f"{value:>{max(_COLUMN, len(what) + 1)}} " for what, value in metrics(line))
        out += f"{time}{line[0].prefix}{cells}\n"
    return out


def csv(rows: Sequence[Row], separator: str, at_s: float = -1.0, *, headed: bool) -> str:
    found = lines(rows)
    out = ""
    if headed and found:
        keys = ["time"] * (at_s >= 0) + [name for name, _ in found[0][0].data]
        out += "".join(f"{w}{separator}" for w in (*keys, *(what for what, _ in metrics(found[0])))) + "\n"
    for line in found:
        begin = [f"{at_s:16.9f}"] * (at_s >= 0) + [str(v) for _, v in line[0].data]
        out += "".join(f"{w}{separator}" for w in (*begin, *(value.strip(" %") for _, value in metrics(line)))) + "\n"
    return out


def jsonl(rows: Sequence[Row], at_s: float = -1.0) -> str:
    """An object for each line of the text."""
    out = ""
    for line in lines(rows):
        data: dict[str, object] = {"interval": round(at_s, 9)} if at_s >= 0 else {}
        data.update(line[0].data)
        data.update({what: value.strip(" %") for what, value in metrics(line)})
        out += json.dumps(data) + "\n"
    return out
