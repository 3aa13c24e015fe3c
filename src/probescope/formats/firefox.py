"""The Firefox Profiler's processed format, version 60: later ones are made of it by the page itself.

    {"meta", "libs", "shared": {stackTable, frameTable, funcTable, resourceTable, nativeSymbols, stringArray, sources},
     "threads": [{"name", "pid", "tid", "samples": {stack, time, weight}, "markers": {name, data, startTime...}}]}

Tables are columns of one length. Times are in milliseconds since the first event. Samples of each measure and owner are
a thread of their own; tracepoints are markers of the thread that they happened in, with a schema for each kind.
Source: docs-developer and src/types/profile.ts of https://github.com/firefox-devtools/profiler
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from probescope.formats.folded import plain
from probescope.formats.jsontext import dumps
from probescope.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np

    from probescope.formats.marks import Owned
    from probescope.formats.spool import Spool
    from probescope.formats.stacktable import CodeFrame, Measure, StackTable

    Column = np.ndarray[Any, Any]

VERSION, GECKO_VERSION = 60, 29
CATEGORIES = (("Other", "grey"), ("User", "yellow"), ("Kernel", "orange"))
LUMP = 1 << 12
INSTANT = 0
LIBRARY = 1


@dataclass(frozen=True, slots=True)
class About:
    """``start``, ``end``: ns, of the first and the last event. ``interval``: ms between samples, as was wanted.
    ``notes``: shown with the profile's information."""

    name: str
    exporter: str
    start: int
    end: int
    interval: float = 1.0
    arch: str = ""
    release: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkerKind:
    """``fields``: names, and whether they are numbers."""

    name: str
    fields: tuple[tuple[str, bool], ...] = ()


class FirefoxWriter:
    def __init__(self, out: TextIO, about: About, table: StackTable, build_ids: Mapping[str, str]) -> None:
        self._out, self._about, self._table, self._build_ids = out, about, table, build_ids
        self._strings: dict[str, int] = {}

    def write(self, measures: Sequence[Measure], spool: Spool, kinds: Sequence[MarkerKind], marks: Owned) -> None:
        """``kinds``: of ``marks``, by their numbers."""
        self._out.write('{"meta":' + dumps(self._meta(kinds)) + ',\n"threads":[')
        for i, pieces in enumerate(self._threads(measures, spool, kinds, marks)):
            self._out.write(",\n" if i else "\n")
            self._out.writelines(pieces)
        self._out.write('],\n"shared":{')
        modules = self._shared()
        self._out.write(f'"stringArray":{dumps(list(self._strings))}}},\n"libs":{dumps(modules)}}}\n')

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _meta(self, kinds: Sequence[MarkerKind]) -> dict[str, Any]:
        a = self._about
        entries = [{"label": "Recording", "format": "string", "value": n} for n in a.notes]
        return {
            "preprocessedProfileVersion": VERSION,
            "version": GECKO_VERSION,
            "product": a.name,
            "importedFrom": a.exporter,
            "interval": a.interval,
            "startTime": 0,
            "profilingStartTime": 0,
            "profilingEndTime": (a.end - a.start) / 1e6,
            "processType": 0,
            "stackwalk": 1,
            "symbolicated": True,
            "symbolicationNotSupported": True,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "abi": a.arch,
            "oscpu": f"Linux {a.release} {a.arch}".strip(),
            "platform": "Linux",
            "categories": [{"name": n, "color": c, "subcategories": ["Other"]} for n, c in CATEGORIES],
            "markerSchema": [_schema(k) for k in kinds],
            "extra": [{"label": "Notes", "entries": entries}] if entries else [],
        }

    # --- threads

    def _threads(
        self, measures: Sequence[Measure], spool: Spool, kinds: Sequence[MarkerKind], marks: Owned
    ) -> Iterator[Iterator[str]]:
        told: set[int] = set()
        for group in spool.groups():
            measure = measures[group.event]
            several = f" ({measure.name})" if len(measures) > 1 else ""
            own = group.owner if group.owner not in told else -1
            told.add(group.owner)
            yield self._thread(group.owner, several, measure, group.rows, self._markers(kinds, marks, marks.of(own)))
        for owner in marks.owners():
            if owner not in told:
                yield self._thread(owner, "", None, None, self._markers(kinds, marks, marks.of(owner)))

    def _thread(
        self, number: int, suffix: str, measure: Measure | None, rows: Column | None, markers: Iterator[str]
    ) -> Iterator[str]:
        owner = self._table.owners[number]
        pid = owner.pid if owner.pid >= 0 else max(owner.tid, 0)
        head = {
            "name": (owner.comm or "all") + suffix,
            "processName": owner.comm or "all",
            "processType": "default",
            "isMainThread": owner.tid in {pid, -1},
            "pid": str(pid),
            "tid": owner.tid if owner.tid >= 0 else pid,
            "registerTime": 0,
            "unregisterTime": None,
            "processStartupTime": 0,
            "processShutdownTime": None,
            "pausedRanges": [],
            "showMarkersInTimeline": True,
        }
        yield dumps(head)[:-1] + ',"samples":{'
        yield from self._samples(measure, rows)
        yield '},"markers":'
        yield from markers
        yield "}"

    def _samples(self, measure: Measure | None, rows: Column | None) -> Iterator[str]:
        count = 0 if rows is None else len(rows)
        timed = measure is not None and measure.unit == "ns"
        kind = "tracing-ms" if timed else "samples"
        yield f'"length":{count},"weightType":"{kind}","stack":['
        if rows is not None:
            yield from _listed(rows["node"], lambda n: str(n - 1) if n else "null")
        yield '],"time":['
        if rows is not None:
            yield from _listed(rows["time"], self._ms)
        yield '],"weight":['
        if rows is not None:
            yield from _listed(rows["weight"], (lambda w: plain(w / 1e6)) if timed else plain)
        yield "]"

    def _ms(self, time: int) -> str:
        return f"{(time - self._about.start) / 1e6:.6f}".rstrip("0").rstrip(".")

    def _markers(self, kinds: Sequence[MarkerKind], marks: Owned, rows: Column) -> Iterator[str]:
        types = [dumps(k.name) for k in kinds]
        numbers = [str(self._string(k.name)) for k in kinds]
        yield '{"data":['
        for start in range(0, len(rows), LUMP):
            some = rows[start : start + LUMP]
            columns = zip(some["kind"].tolist(), some["time"].tolist(), some["node"].tolist(), strict=True)
            data = (self._mark(types[k], t, n, d) for (k, t, n), d in zip(columns, marks.data(some), strict=True))
            yield ("," if start else "") + ",".join(data)
        yield '],"name":['
        yield from _listed(rows["kind"], numbers.__getitem__)
        yield '],"startTime":['
        yield from _listed(rows["time"], self._ms)
        for name, value in (("endTime", "null"), ("phase", str(INSTANT)), ("category", "0")):
            yield f'],"{name}":['
            yield from _listed(rows["kind"], lambda _, value=value: value)
        yield f'],"length":{len(rows)}}}'

    def _mark(self, kind: str, time: int, node: int, data: str) -> str:
        cause = f',"cause":{{"time":{self._ms(time)},"stack":{node - 1}}}' if node else ""
        return f'{{"type":{kind}{cause}{"," if len(data) > 2 else ""}{data[1:-1]}}}'

    # --- what threads share

    def _shared(self) -> list[dict[str, Any]]:
        """Writes the tables; the libraries."""
        table, out = self._table, self._out
        funcs: dict[tuple[str, str, str], int] = {}
        modules: dict[str, int] = {}
        sources: dict[str, int] = {}
        of_frame = []
        for f in table.frames:
            if f.module:
                modules.setdefault(f.module, len(modules))
            if f.file:
                sources.setdefault(f.file, len(sources))
            of_frame.append(funcs.setdefault((f.name, f.module, f.file), len(funcs)))
        count = len(table.parent) - 1
        stacks = {"frame": table.frame[1:], "prefix": [p - 1 if p else None for p in table.parent[1:]], "length": count}
        out.write(f'"stackTable":{dumps(stacks)},\n"frameTable":{dumps(_frames(table.frames, of_frame))},\n')
        out.write(f'"funcTable":{dumps(self._funcs(list(funcs), modules, sources))},\n')
        resources = {
            "lib": list(range(len(modules))),
            "name": [self._string(_base(m)) for m in modules],
            "host": [None] * len(modules),
            "type": [LIBRARY] * len(modules),
            "length": len(modules),
        }
        symbols = {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0}
        files = {"id": [None] * len(sources), "filename": [self._string(s) for s in sources], "length": len(sources)}
        out.write(f'"resourceTable":{dumps(resources)},"nativeSymbols":{dumps(symbols)},"sources":{dumps(files)},\n')
        return [_library(m, self._build_ids.get(m, ""), self._about.arch) for m in modules]

    def _funcs(
        self, funcs: Sequence[tuple[str, str, str]], modules: Mapping[str, int], sources: Mapping[str, int]
    ) -> dict[str, Any]:
        count = len(funcs)
        return {
            "name": [self._string(name) for name, _, _ in funcs],
            "isJS": [False] * count,
            "relevantForJS": [False] * count,
            "resource": [modules.get(module, -1) for _, module, _ in funcs],
            "source": [sources.get(file) for _, _, file in funcs],
            "lineNumber": [None] * count,
            "columnNumber": [None] * count,
            "length": count,
        }


def _listed(column: Column, show: Any) -> Iterator[str]:
    for start in range(0, len(column), LUMP):
        yield ("," if start else "") + ",".join(map(show, column[start : start + LUMP].tolist()))


def _frames(frames: Sequence[CodeFrame], funcs: Sequence[int]) -> dict[str, Any]:
    count = len(frames)
    none = [None] * count
    return {
        "address": [-1] * count,
        "inlineDepth": [0] * count,
        "category": [2 if f.kernel else 1 for f in frames],
        "subcategory": [0] * count,
        "func": list(funcs),
        "nativeSymbol": none,
        "innerWindowID": [0] * count,
        "line": [f.line or None for f in frames],
        "column": none,
        "length": count,
    }


def _library(path: str, build_id: str, arch: str) -> dict[str, Any]:
    """Breakpad's id: the first 16 bytes of a build id as a GUID, whose first three numbers are little-endian."""
    b = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    guid = (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0" if build_id else ""
    name = _base(path)
    return {
        "arch": arch,
        "name": name,
        "path": path,
        "debugName": name,
        "debugPath": path,
        "breakpadId": guid,
        "codeId": build_id or None,
    }


def _base(path: str) -> str:
    return path.rpartition("/")[2] or path


def _schema(kind: MarkerKind) -> dict[str, Any]:
    fields = [{"key": key_of(n), "label": n, "format": "integer" if number else "string"} for n, number in kind.fields]
    return {
        "name": kind.name,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "tableLabel": " ".join(f"{n}={{marker.data.{key_of(n)}}}" for n, _ in kind.fields),
        "fields": fields,
    }


def key_of(field: str) -> str:
    """Of a marker's data, some of whose keys are taken."""
    return f"{field}_" if field in {"type", "cause", "stack"} else field
