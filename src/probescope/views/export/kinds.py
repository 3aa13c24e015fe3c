"""The formats that recordings can be exported to: names, endings of files, and what they are for."""

from __future__ import annotations

from probescope.frozen import dataclass

EVENTS = ("perf.data", "trace.dat")
TEXTS = ("text of ftrace", "text of perf")


@dataclass(frozen=True, slots=True)
class Kind:
    """``endings``: of files' names, the longest first; ``by``: what is kept apart if nothing is said, see
    ``samples.OWNERS``; ``inputs``: recordings that can become it; ``seeks``: its file is written in no single pass."""

    about: str
    endings: tuple[str, ...]
    by: str = "thread"
    inputs: tuple[str, ...] = (*EVENTS, *TEXTS, "folded")
    seeks: bool = False


KINDS: dict[str, Kind] = {
    "folded": Kind("stacks with their weight, a line each", (".folded", ".collapsed"), by="comm"),
    "pprof": Kind("go tool pprof", (".pb.gz", ".pprof", ".prof", ".pb")),
    "chrome": Kind("Trace Event JSON: chrome://tracing, ui.perfetto.dev", (".trace.json", ".chrome.json")),
    "csv": Kind("a row an event", (".csv",)),
    "jsonl": Kind("an object an event, with nested fields and stacks", (".jsonl", ".ndjson")),
    "parquet": Kind("a row an event, for DuckDB, pandas, Spark", (".parquet",)),
    "perf.data": Kind("perf: a part of a perf.data, the events of a trace.dat", (".data",), inputs=EVENTS, seeks=True),
    "trace.dat": Kind("trace-cmd: a part of a trace.dat", (".dat",), inputs=EVENTS[1:], seeks=True),
    "perfetto": Kind(
        "ui.perfetto.dev, with SQL", (".perfetto-trace", ".pftrace", ".perfetto"), inputs=(*EVENTS, *TEXTS)
    ),
    "firefox": Kind("profiler.firefox.com", (".firefox.json", ".profile.json")),
    "speedscope": Kind("speedscope.app", (".speedscope.json", ".speedscope")),
}


_NO_TIMES = "folded text counts stacks, and tells neither when nor on which CPU they were"
_NO_BYTES = "text has no ring buffer or records of a kernel, of which such a file consists"


def why_not(source: str) -> str:
    """Why recordings of a kind cannot become what ``KINDS`` does not list them for."""
    return {"folded": _NO_TIMES, "perf.data": "perf's samples are no events of ftrace's ring buffer"}.get(
        source, _NO_BYTES
    )


def kind_of(name: str) -> str:
    """What a file's name says, empty if nothing."""
    low = name.lower().removesuffix(".gz") if not name.lower().endswith(".pb.gz") else name.lower()
    endings = sorted(((e, k) for k, kind in KINDS.items() for e in kind.endings), key=lambda pair: -len(pair[0]))
    return next((k for e, k in endings if low.endswith(e)), "")
