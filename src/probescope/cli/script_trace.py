"""``probescope script`` of a trace.dat: the lines of trace-cmd report, or an object a line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from probescope.cli.terminal import recorded_out
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.reader import TraceText
    from probescope.model.recording import EventBatch

_PERFS = (("fields", "-F"), ("comms", "-c"), ("pid", "--pid"), ("tid", "--tid"), ("cpu", "-C"), ("time", "--time"))


def main(args: argparse.Namespace) -> int:
    from probescope.cli.recordings import tell_damage
    from probescope.recorded import opened

    for name, option in _PERFS:
        if getattr(args, name):
            hint = "probescope script -i FILE -f json gives every field, to be chosen from"
            raise UsageError(f"{option} is for perf.data; a trace.dat is printed whole", hints=[hint])
    with opened(args.input) as found:
        recording = cast("TraceDat | TraceText", found)
        (_json if args.format == "json" else _text)(recording, args)
        sys.stdout.flush()
        tell_damage(args.input, recording.damage, sys.stderr)
    return 0


def _text(recording: TraceDat | TraceText, args: argparse.Namespace) -> None:
    from probescope.formats.tracedat.options import in_nanoseconds
    from probescope.formats.tracing.text import Lines, report

    names = tuple(b.name for b in recording.buffers)
    lines = Lines(
        recording.events,
        recording.context(),
        flags=getattr(recording, "flags", True),
        nanoseconds=args.ns or getattr(recording, "nanoseconds", False),
        ticks=not in_nanoseconds(recording.clock),
        buffers=names if len(names) > 1 else (),
        plugins=not hasattr(recording, "survey"),  # texts are printed as they were
    )
    out = recorded_out()
    for piece in recording.latency():
        out(piece.encode("utf-8", "surrogateescape"))
    for data in report(lines, recording.batches(), recording.machine.cpus):
        out(data)


def _json(recording: TraceDat | TraceText, args: argparse.Namespace) -> None:
    from probescope.formats.jsontext import line

    names = [b.name for b in recording.buffers]
    for batch in recording.batches():
        found = _fields(recording, batch)
        buffers = batch.numbers.get("buffer")
        for i in range(batch.count):
            tid = int(batch.tid[i])
            out: dict[str, Any] = {
                "event": recording.events[int(batch.event[i])].name,
                "comm": recording.comms.get(tid, "<idle>" if tid == 0 else "<...>"),
                "tid": tid,
                "cpu": int(batch.cpu[i]),
                "time": int(batch.time[i]) / 1e9,
                "fields": found.get(i, {}),
            }
            if buffers is not None:
                out["buffer"] = names[int(buffers[i])]
            sys.stdout.write(line(out))


def _fields(recording: TraceDat | TraceText, batch: EventBatch) -> dict[int, dict[str, Any]]:
    """Of each event by its index: its own fields."""
    import numpy as np

    from probescope.formats.tracing.fields import Records, own_fields
    from probescope.model.recording import Ragged

    out: dict[int, dict[str, Any]] = {}
    if batch.raw is None:
        return out
    for kind in np.unique(batch.event).tolist():
        which = np.flatnonzero(batch.event == kind)
        raw = Ragged(batch.raw.values, batch.raw.start[which], batch.raw.size[which])
        records = Records(raw, recording.machine.big_endian, recording.long_size)
        out.update(zip(which.tolist(), own_fields(records, recording.events[kind]), strict=True))
    return out
