"""``probescope script``: the events of a recording, a line each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser, add_filters, add_jobs, how_many, jobs_of
from probescope.cli.perf_options import add_perf_options
from probescope.cli.script_more import Dumps, add_more, alone, check, narrowed, rounds
from probescope.cli.symbols import add_symbols
from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import ToldBatch
    from probescope.views.script import ScriptView
    from probescope.views.script_fields import Asked

EXAMPLES = """examples:
  probescope script                                   the events of perf.data, as perf script prints them
  probescope script -i other.data -F comm,tid,time,event
  probescope script -F +pid --ns --pid 1234
  probescope script --comms bash,make --time 10.5,12
  probescope script -f json                           an object a line
  probescope script -i trace.dat                      of trace-cmd: its report
"""


def parser() -> Parser:
    p = Parser("script", "Print the events of a recording: as perf script, or as trace-cmd report.", EXAMPLES)
    p.add_argument("-i", "--input", default="perf.data", metavar="FILE", help="perf.data by default; - is stdin")
    about = "columns; +name adds, -name leaves out; hw:, sw:, trace:, raw: or break: before them: of these events"
    p.add_argument("-F", "--fields", action="append", metavar="LIST", help=about)
    p.signed = ("-F", "--fields")
    add_filters(p)
    add_symbols(p)
    p.add_argument("--ns", action="store_true", help="times with nine digits")
    p.add_argument("--reltime", action="store_true", help="times since the first event")
    p.add_argument("--max-stack", type=how_many, default=127, metavar="N", help="frames of a stack (127)")
    p.add_argument(
        "-G", "--hide-call-graph", action="store_true", help="stacks are not printed, but where each event was"
    )
    for kind in ("mmap", "task", "switch", "lost", "namespace", "bpf", "cgroup"):
        p.add_argument(f"--show-{kind}-events", action="store_true", help=f"{kind} records too")
    p.add_argument("--header", action="store_true", help="what the file tells of itself, too")
    p.add_argument("--header-only", action="store_true", help="that alone")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default) or json")
    p.add_argument("-I", "--show-info", action="store_true", help="with --header: what is known of the machine")
    add_more(p)
    add_jobs(p)
    add_perf_options(p, "script")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    check(args)
    from probescope.cli.recordings import opened
    from probescope.cli.symbols import search_of
    from probescope.formats.sniff import OF_FTRACE, recording_kind

    if recording_kind(args.input) in OF_FTRACE:
        from probescope.cli import script_trace

        return script_trace.main(args)
    lines = "srcline" in ",".join(args.fields or ())
    with opened(
        args.input, search_of(args, args.input, lines=lines, bare=not lines and args.format == "text")
    ) as recording:
        if args.header or args.header_only:
            from probescope.views.reporting import told

            told.write(sys.stdout.write, recording.recording, argparse.Namespace(**vars(args), **_NOTHING_ELSE))
            if args.header_only:
                return 0
        if args.dump_raw_trace or args.dump_unsorted_raw_trace:
            _dumped(recording, args)
        else:
            (_json if args.format == "json" else _text)(recording, args)
        sys.stdout.flush()
        recording.tell_damage(sys.stderr)
    return 0


_NOTHING_ELSE = {"stats": False, "tasks": False, "mmaps": False}


def _text(recording: Opened, args: argparse.Namespace) -> None:
    from probescope.cli.terminal import recorded_out

    lines = _Lines(recording, args)
    if args.show_round_events:
        sys.stdout.write("PERF_RECORD_FINISHED_ROUND\n" * rounds(recording))
    out = recorded_out()
    # texts of memory accesses are as long as those before them
    sources = any("data_src" in e.sampled for e in recording.recording.events)
    with closing(recording.parts(lines.of, 1 if alone(args) or sources else jobs_of(args))) as parts:
        for part in parts:
            out(part)
    lines.close()
    if args.debug_mode:
        sys.stdout.flush()
        sys.stderr.write("Misordered timestamps: 0\n")  # they are put in order


def _dumped(recording: Opened, args: argparse.Namespace) -> None:
    from probescope.cli.script_dump import dump
    from probescope.cli.terminal import recorded_out

    lines = _Lines(recording, args)
    dump(recording, recorded_out(), lines.one, unsorted=args.dump_unsorted_raw_trace)


class _Lines:
    """The view is made when the first events are there: of a pipe nothing is known before."""

    def __init__(self, recording: Opened, args: argparse.Namespace) -> None:
        self._recording, self._args = recording, args
        self._fields = chosen(args.fields or ())
        self._keep = narrowed(recording, args, recording.filter(args))
        self._dumps = None
        if args.per_event_dump:
            self._dumps = Dumps(args.input, [e.name for e in recording.recording.events])
        self._view: ScriptView | None = None

    def of(self, batch: ToldBatch) -> bytes:
        view = self._view = self._view or self._made()
        keep = self._keep(batch)
        if self._args.debug_mode:
            return b""
        if self._dumps is None:
            return view.text(batch, keep)
        for kind in range(len(self._recording.recording.events)):
            which = batch.of(kind, keep)
            self._dumps.write(kind, view.text(batch, which) if len(which) else b"", len(which))
        return b""

    def one(self, batch: ToldBatch, i: int) -> bytes:
        """Of a single event."""
        import numpy as np

        view = self._view = self._view or self._made()
        return view.text(batch, np.array([i]))

    def close(self) -> None:
        if self._dumps is not None:
            self._dumps.close()

    def _made(self) -> ScriptView:
        from probescope.views.script import Choice, ScriptView
        from probescope.views.script_fields import check
        from probescope.views.sides import KINDS

        args, recording = self._args, self._recording.recording
        check(zip(recording.events, (a.type for a in getattr(recording, "attrs", ())), strict=False), self._fields)
        sides = tuple(k for k in KINDS if getattr(args, f"show_{k}_events"))
        choice = Choice(
            self._fields,
            nanoseconds=args.ns,
            relative=args.reltime,
            max_stack=args.max_stack,
            sides=sides,
            stacks=not args.hide_call_graph,
            deltas=args.deltatime,
            stop=frozenset((args.stop_bt or "").split(",")) - {""},
            latency=args.latency,
        )
        return ScriptView(self._recording.told, self._recording.trace_cells, choice)


def chosen(texts: Sequence[str]) -> tuple[Asked, ...]:
    """Each of perf's ``-F``: the columns, or, with + or - before each, what to change of those that are printed anyway;
    behind ``hw:`` and the like those of one kind of event. Raises UsageError."""
    from probescope.views.script_fields import TYPES, Asked

    found: list[Asked] = []
    for text in texts:
        kind, colon, rest = text.rpartition(":")
        if colon and kind not in TYPES:
            hints = ["kinds of events: " + ", ".join(TYPES)]
            raise UsageError(f"there is no kind of event '{kind}'", hints=hints)
        words = [w for w in rest.split(",") if w]
        for w in words:
            _known(w)
        changes = tuple(w for w in words if w[0] in "+-")
        if changes and len(changes) < len(words):
            raise UsageError("fields are either listed or changed by + and -, not both")
        if words or colon:
            found.append(Asked(kind, None if changes else frozenset(words), changes))
    return tuple(found)


def _known(field: str) -> None:
    from probescope.diagnostics import nearest
    from probescope.views.script_fields import FIELDS

    word = field.lstrip("+-")
    if word not in FIELDS:
        instead = _ELSEWHERE.get(word)
        hints = [instead] if instead else [f"did you mean {n}?" for n in nearest(word, FIELDS)]
        raise UsageError(f"there is no field '{field}'", hints=[*hints, "fields: " + ", ".join(FIELDS)])


_ELSEWHERE = {
    "insn": "probescope annotate shows instructions", "insnlen": "probescope annotate shows instructions",
    "brstackinsn": "brstack shows where branches came from and went to",
    "brstackinsnlen": "brstack shows where branches came from and went to",
    "srccode": "srcline says where it is; probescope annotate shows the source",
    "tod": "-f json, with the clock that --header tells of", "flags": "these are of trace data (intel_pt)",
    "brstackoff": "brstack has the addresses of branches, brstacksym their functions",
}  # fmt: skip
"""Fields that perf has, and what there is instead."""


def _json(recording: Opened, args: argparse.Namespace) -> None:
    from probescope.formats.jsontext import line

    keep = narrowed(recording, args, recording.filter(args))
    told = recording.told
    for batch in told.batches():
        found = keep(batch)
        which: Sequence[int] = range(batch.batch.count) if found is None else found.tolist()
        fields = _fields(recording, batch)
        for i in which:
            sys.stdout.write(line(_object(recording, batch, i, fields)))


def _fields(recording: Opened, batch: Any) -> dict[int, dict[str, Any]]:
    """For each event of a tracepoint, by index, its fields."""
    import numpy as np

    from probescope.formats.tracing.fields import own_fields

    out: dict[int, dict[str, Any]] = {}
    for kind in np.unique(batch.batch.event).tolist():
        event = recording.recording.events[kind]
        if event.fields and batch.batch.raw is not None:
            which = np.flatnonzero(batch.batch.event == kind)
            out.update(zip(which.tolist(), own_fields(recording.records(batch, which), event), strict=True))
    return out


def _object(recording: Opened, told: Any, i: int, fields: dict[int, dict[str, Any]]) -> dict[str, Any]:
    b = told.batch
    event = recording.recording.events[int(b.event[i])]
    has = event.sampled
    out: dict[str, Any] = {"event": event.name, "comm": recording.told.tasks.names[int(told.names[i])]}
    out |= {"pid": int(b.pid[i]), "tid": int(b.tid[i])}
    if "cpu" in has:
        out["cpu"] = int(b.cpu[i])
    if "time" in has:
        out["time"] = int(b.time[i]) / 1e9
    if "period" in has:
        out["period"] = int(b.period[i])
    if i in fields:
        out["fields"] = fields[i]
    if told.stacks is not None and told.stacks[i] >= 0:
        out["stack"] = [_frame(f) for f in recording.told.frames(int(told.stacks[i]))]
    elif "ip" in has:
        mode = int(b.numbers["misc"][i]) & 7 if "misc" in b.numbers else 2
        out["frame"] = _frame(recording.told.frame(int(told.spaces[i]), int(b.numbers["ip"][i]), mode == 1))
    return out


def _frame(f: Any) -> dict[str, Any]:
    out = {"address": f.address, "symbol": f.name, "offset": f.offset, "module": f.module}
    out |= {"inlined": True} if f.inlined else {}
    return out | ({"file": f.file, "line": f.line} if f.file else {})
