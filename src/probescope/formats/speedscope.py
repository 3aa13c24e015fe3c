"""speedscope's JSON: profiles of samples over shared frames.

    {"$schema", "name", "exporter", "notes",
     "profiles": [{"type": "sampled", "name", "unit", "startValue", "endValue", "samples": [[frame, ...]], "weights"}],
     "activeProfileIndex", "shared": {"frames": [{"name", "file", "line"}]}}

One profile for each measure and owner, samples in order of time; neighbours with the same stack are one. ``notes`` is
our own addition, which speedscope passes over. Source: https://www.speedscope.app/file-format-schema.json
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from probescope.formats.folded import plain
from probescope.formats.jsontext import dumps
from probescope.formats.spool import Group, Spool, runs
from probescope.formats.stacktable import CodeFrame, Measure, StackTable

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNITS = {"ns": "nanoseconds", "bytes": "bytes"}
LUMP = 1 << 12


def write_speedscope(
    out: TextIO,
    table: StackTable,
    spool: Spool,
    measures: Sequence[Measure],
    *,
    name: str,
    exporter: str,
    notes: Iterable[str] = (),
) -> None:
    head = {"$schema": SCHEMA, "name": name, "exporter": exporter, "notes": list(notes)}
    out.write(dumps(head)[:-1] + ',"profiles":[')
    paths: dict[int, str] = {}
    busiest, most = 0, -1.0
    for i, group in enumerate(spool.groups()):
        out.write(",\n" if i else "\n")
        weight = float(group.rows["weight"].sum())
        if weight > most and table.owners[group.owner].pid:  # time of idle CPUs is nobody's
            busiest, most = i, weight
        out.writelines(_profile(table, group, measures[group.event], len(measures) > 1, paths))
    out.write('],\n"shared":{"frames":[')
    for i, frame in enumerate(table.frames):
        out.write((",\n" if i else "") + dumps(_frame(frame)))
    out.write(f']}},\n"activeProfileIndex":{busiest}}}\n')


def _profile(table: StackTable, group: Group, measure: Measure, several: bool, paths: dict[int, str]) -> Iterator[str]:
    first, weights = runs(group.rows)
    title = table.owners[group.owner].title()
    name = " ".join(p for p in (title, f"({measure.name})" if several and title else "") if p) or measure.name
    head = {"type": "sampled", "name": name, "unit": UNITS.get(measure.unit, "none"), "startValue": 0}
    yield f'{dumps(head)[:-1]},"endValue":{plain(weights.sum().item())},"samples":['
    nodes = group.rows["node"][first]
    for start in range(0, len(nodes), LUMP):
        texts = [_path(table, node, paths) for node in nodes[start : start + LUMP].tolist()]
        yield ("," if start else "") + ",".join(texts)
    yield '],"weights":['
    for start in range(0, len(nodes), LUMP):
        texts = [plain(w) for w in weights[start : start + LUMP].tolist()]
        yield ("," if start else "") + ",".join(texts)
    yield "]}"


def _path(table: StackTable, node: int, paths: dict[int, str]) -> str:
    found = paths.get(node)
    if found is None:
        found = paths[node] = f"[{','.join(map(str, table.path(node)))}]"
    return found


def _frame(frame: CodeFrame) -> dict[str, object]:
    out: dict[str, object] = {"name": frame.name or "?"}
    place = frame.file or frame.module
    if place:
        out["file"] = place
    if frame.line:
        out["line"] = frame.line
    return out
