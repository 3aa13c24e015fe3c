"""Times of ``probescope ftrace report``: what its options make of those that were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.formats.tracedat import options as o
from probescope.frozen import replace

if TYPE_CHECKING:
    import argparse

    from probescope.formats.tracedat.reader import TraceDat


def given_for(given: list[tuple[int, Any]], file: int, files: int) -> list[Any]:
    """What was given for one file."""
    return [value for before, value in given if not before or before == file + 1 or files == 1]


def offset_of(args: argparse.Namespace, file: int) -> int:
    """What is added to a file's times: what was said last; nothing to those that are shown as they were recorded."""
    given = [0, *given_for(args.ts_offset, file, len(args.inputs))]
    return 0 if args.raw_ts else int(given[-1])


def timed(recording: TraceDat, args: argparse.Namespace, file: int) -> bool:
    """Has the recording's times made as they are to be shown. Whether these are counts instead of seconds: of clocks
    that count, and by ``--raw-ts`` where the file says its clock, as trace-cmd does."""
    hz = 0 if args.raw_ts else [0, *given_for(args.ts2secs, file, len(args.inputs))][-1]
    recording.times = times_of(recording, args, hz)
    counts = not o.in_nanoseconds(recording.clock) and not hz
    return counts or bool(args.raw_ts and recording.option(o.TRACECLOCK))


def told_in_micro(recording: TraceDat, args: argparse.Namespace) -> bool:
    """Whether ``--ts-diff`` is in microseconds, as the times are: where the file says its clock, as trace-cmd does."""
    said = recording.option(o.TRACECLOCK) and o.in_nanoseconds(recording.clock)
    return bool(said and not args.nanoseconds and not args.ts2secs)


def times_of(recording: TraceDat, args: argparse.Namespace, hz: int) -> Any:
    """How recorded times become those that are shown."""
    if args.raw_ts:
        return o.Times()
    times = recording.times
    if args.nodate:
        order = ">" if recording.contents.big else "<"
        times = o.times_of([(n, d) for n, d in recording.contents.options if n != o.DATE], order)
    return replace(times, hz=hz) if hz > 0 else times
