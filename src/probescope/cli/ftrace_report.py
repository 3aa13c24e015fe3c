"""``probescope ftrace report``: what a trace.dat holds, with the options of trace-cmd report."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from probescope.cli.ftrace_times import given_for, offset_of, timed, told_in_micro
from probescope.cli.parsing import Parser, cpu_list
from probescope.errors import FormatError, UsageError

if TYPE_CHECKING:
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracing.symbols import Forms
    from probescope.views.tracecmd.choosing import Chooser
    from probescope.views.tracecmd.lines import ReportLines

EXAMPLES = """examples:
  probescope ftrace report
  probescope ftrace report -i other.dat --cpu 0,2-3 -t
  probescope ftrace report -F 'sched_switch: prev_prio < 100 && next_comm =~ "kworker.*"'
  probescope ftrace report -v -F 'sched/.*stat.*'           without these
  probescope ftrace report -i host.dat -i guest.dat         both, by time
  probescope ftrace report -w                               how long woken tasks waited
  probescope ftrace report --stat                           what each CPU's buffer told at the end
"""
_SUMS = "probescope report and probescope run -i trace.dat sum up; probescope latency measures between two events"
REFUSED = {
    "-G": _SUMS,
    "-H": _SUMS,
    "--profile": _SUMS,
    "--by-comm": _SUMS,
    "--events": "probescope ftrace dump --events prints formats of events",
    "--event": "probescope ftrace dump --events prints formats of events",
    "-L": "there are no plugins to load: forms of events are built in; -N shows them without",
}

_LEVEL = re.compile(r"-V[0-6]|--verbose=\w+")
FORMS = {
    "ftrace:parent": "parent",
    "ftrace:indent": "indent",
    "ftrace:offset": "offset",
    "fgraph:tailprint": "tail",
    "fgraph:depth": "depth",
}
"""Options of plugins, and what they are of a ``Forms``."""


class _OfFile(argparse.Action):
    """Of the ``-i`` before it, of all files if there is none: kept with how many there were. ``-v`` turns filters that
    come after it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if self.nargs == 0:
            namespace.negate = True
            return
        which = self.dest if self.dest != "filter" else "unwanted" if namespace.negate else "wanted"
        setattr(namespace, which, [*getattr(namespace, which), (len(namespace.inputs), values)])


def parser(command: str = "report") -> Parser:
    p = Parser(f"ftrace {command}", "Print the events of a trace.dat, as trace-cmd report does.", EXAMPLES)
    p.set_defaults(wanted=[], unwanted=[], negate=False)
    p.add_argument("files", nargs="*", metavar="FILE", help="trace.dat by default")
    about = "the same; several: their events by time, each line with its file; -F and --ts-offset after it are of it"
    p.add_argument("-i", dest="inputs", action="append", default=[], metavar="FILE", help=about)
    p.add_argument("-F", dest="filter", action=_OfFile, metavar="FILTER", help="only these: 'EVENT: FIELD == VALUE'")
    p.add_argument("-v", dest="negative", action=_OfFile, nargs=0, help="not those of the -F after it")
    p.add_argument("-T", dest="filters", action="store_true", help="only say what the filters are")
    p.add_argument("--cpu", metavar="LIST", help="only on these CPUs: 0,2-3")
    p.add_argument("-I", dest="no_hardirq", action="store_true", help="not what happened in interrupts")
    p.add_argument("-S", dest="no_softirq", action="store_true", help="not what happened in softirqs")
    p.add_argument("-R", dest="all_raw", action="store_true", help="field by field")
    p.add_argument("-r", dest="raw", action="append", default=[], metavar="EVENT", help="this event field by field")
    p.add_argument("-N", dest="no_plugins", action="store_true", help="events in their own form only")
    p.add_argument("-n", dest="plain", action="append", default=[], metavar="EVENT", help="this event in its own form")
    about = "of the forms of functions: " + ", ".join(FORMS)
    p.add_argument("-O", dest="options", action="append", default=[], metavar="[PLUGIN:]NAME[=0]", help=about)
    p.add_argument("-l", dest="latency", action="store_true", help="as latency tracers print")
    p.add_argument("-t", dest="nanoseconds", action="store_true", help="times with nine digits")
    p.add_argument("-w", dest="wakeups", action="store_true", help="how long woken tasks waited")
    p.add_argument("-q", dest="quiet", action="store_true", help="no warnings")
    p.add_argument("-V", "--verbose", dest="verbose", action="store_true", help="(there is nothing more to say)")
    _times(p)
    for name, flag, about in _INSTEAD:
        p.add_argument(flag, dest=name, action="store_true", help=about)
    return p


def _times(p: Parser) -> None:
    p.add_argument("--ts-diff", action="store_true", help="how long after the event before")
    p.add_argument("--ts-offset", type=int, action=_OfFile, default=[], metavar="NS", help="added to all times")
    p.add_argument("--ts2secs", type=int, action=_OfFile, default=[], metavar="HZ", help="times count so many a second")
    p.add_argument("--ts-check", action="store_true", help="say where a CPU's time goes backwards")
    p.add_argument("--nodate", action="store_true", help="the clock's times, not those of day")
    p.add_argument("--raw-ts", action="store_true", help="times as they were recorded")
    p.add_argument("--align-ts", action="store_true", help="times since the first event")


_INSTEAD = (
    ("page_size", "-p", "only say how large pages are"),
    ("endian", "-e", "only say the byte order"),
    ("functions", "-f", "only list functions and their addresses"),
    ("printk", "-P", "only list formats of trace_printk"),
    ("events", "-E", "only list events"),
    ("cpus", "--cpus", "only list CPUs that have events"),
    ("first_event", "--first-event", "only the time of each CPU's first event"),
    ("last_event", "--last-event", "only the time of each CPU's last event"),
    ("stat", "--stat", "only what each CPU's buffer told at the end"),
    ("uname", "--uname", "only which machine recorded"),
    ("version", "--version", "only which program recorded"),
    ("check_events", "--check-events", "only which events cannot be printed as they should"),
)


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    for word in argv:
        name = word.partition("=")[0]
        if name in REFUSED:
            raise UsageError(f"probescope ftrace report has no {name}", hints=[REFUSED[name]])
    args = parser(command).parse_intermixed_args([w for w in argv if not _LEVEL.fullmatch(w)])
    args.inputs = [*args.inputs, *args.files] or ["trace.dat"]
    args.input = args.inputs[0]
    if args.wakeups and len(args.inputs) > 1:
        raise UsageError("-w is of one file", hints=["probescope latency sched:sched_waking to sched:sched_switch"])
    return args


def opened(name: str) -> TraceDat:
    """Raises UsageError where it cannot be opened, FormatError where it is no trace.dat."""
    from probescope.formats.tracedat import open_tracedat

    try:
        return open_tracedat(name)
    except FormatError as e:
        from probescope.formats.sniff import recording_kind

        other = recording_kind(name)
        if not other or other == "trace.dat":
            raise
        raise FormatError(e.what, file=e.file or name, offset=0, hints=[f"probescope script -i {name} reads it"]) from e
    except OSError as e:
        hints = ["-i FILE names another; probescope ftrace record writes one"] if name == "trace.dat" else []
        hints += ["text of a trace: probescope script -i -"] if name == "-" else []
        raise UsageError(f"cannot read {name}: {e.strerror}", hints=hints) from None


def main(command: str, argv: list[str]) -> int:
    from probescope.cli.recordings import tell_damage

    args = parse(command, argv)
    with ExitStack() as stack:
        recordings = [stack.enter_context(opened(name)) for name in args.inputs]
        if any(getattr(args, name) for name, _, _ in _INSTEAD):
            from probescope.cli import ftrace_facts

            return max([ftrace_facts.told(recording, args, i) for i, recording in enumerate(recordings)])
        made = [_made(recording, args, i) for i, recording in enumerate(recordings)]
        if args.filters and (args.wanted or args.unwanted):
            return _filters_told(args)
        if len(recordings) == 1:
            _lines(recordings[0], args, *made[0])
        else:
            from probescope.cli.ftrace_several import Shown, merged

            names = [os.path.basename(name) for name in args.inputs]
            offsets = [offset_of(args, i) for i in range(len(names))]
            columns = (names, recordings, *zip(*made, strict=True), offsets)
            merged([Shown(*one) for one in zip(*columns, strict=True)], args)
        sys.stdout.flush()
        for name, recording in zip(args.inputs, recordings, strict=True) if not args.quiet else ():
            tell_damage(name, recording.damage, sys.stderr)
    return 0


def _made(recording: TraceDat, args: argparse.Namespace, file: int) -> tuple[ReportLines, Chooser]:
    """What makes lines of its batches, and what chooses events of them."""
    from probescope.views.tracecmd.choosing import HARDIRQ, SOFTIRQ, Choice, Chooser
    from probescope.views.tracecmd.filtering import Filters
    from probescope.views.tracecmd.lines import Look, ReportLines

    files = len(args.inputs)
    ticks = timed(recording, args, file)
    context = recording.context()
    context.forms = forms(args.options)
    wanted, unwanted = (given_for(given, file, files) for given in (args.wanted, args.unwanted))
    filters = Filters(wanted, unwanted, recording.events, context)
    without = (HARDIRQ if args.no_hardirq else 0) | (SOFTIRQ if args.no_softirq else 0)
    choice = Choice(tuple(cpu_list(args.cpu.replace(":", ","), "--cpu")) if args.cpu is not None else (), without)
    raw, plain = (".*",) if args.all_raw else _words(args.raw), _words(args.plain)
    micro = told_in_micro(recording, args)
    look = Look(raw, plain, args.latency, args.ts_diff, args.nanoseconds, not args.no_plugins, micro)
    names = tuple(b.name for b in recording.buffers)
    lines = ReportLines(recording.events, context, look, ticks=ticks, buffers=names if len(names) > 1 else ())
    flags = next((f for e in recording.events for f in e.fields if f.name == "common_flags"), None)
    return lines, Chooser(choice, filters or None, flags, context, lines.learn)


def _lines(recording: TraceDat, args: argparse.Namespace, lines: ReportLines, choose: Chooser) -> None:
    from probescope.cli.terminal import recorded_out
    from probescope.views.tracecmd.choosing import moved
    from probescope.views.tracecmd.wakeups import Wakeups, shown

    out = recorded_out()
    for piece in recording.latency():
        out(piece.encode("utf-8", "surrogateescape"))
    out(b"cpus=%d\n" % recording.machine.cpus)
    wakeups = Wakeups(recording.events, lines.context) if args.wakeups else None
    check = Backwards() if args.ts_check else None
    offset, first = offset_of(args, 0), True
    for batch in recording.batches():
        if check:
            check(batch)
        if first and batch.count and args.align_ts and not args.raw_ts:
            offset -= int(batch.time[0])
        first = first and not batch.count
        chosen = choose(moved(batch, offset))
        if wakeups is None:
            out(lines.data(chosen))
            continue
        found = wakeups.of(chosen)
        texts = lines.lines(chosen)
        out("".join(f"{t}{shown(found[i]) if i in found else ''}\n" for i, t in enumerate(texts)).encode())
    if wakeups:
        out(wakeups.summary().encode())


class Backwards:
    """Tells where a CPU's time falls."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}

    def __call__(self, batch: Any) -> None:
        for cpu, time in zip(batch.cpu.tolist(), batch.time.tolist(), strict=True):
            last = self._last.get(cpu, 0)
            if time < last:
                sys.stderr.write(f"WARNING: CPU {cpu}: time goes backwards from {last} to {time}\n")
            self._last[cpu] = time


def forms(options: Sequence[str]) -> Forms:
    """``indent=0``, ``ftrace:parent``. Raises UsageError."""
    from probescope.formats.tracing.symbols import Forms

    out: dict[str, bool] = {}
    for option in options:
        name, equals, value = option.partition("=")
        known = next((known for known in FORMS if name in (known, known.partition(":")[2])), "")
        if not known or (equals and value not in ("0", "1")):
            what = f"{name} is 0 or 1" if known else f"there is no option {name} of how functions are printed"
            raise UsageError(what, hints=[f"-O {', '.join(FORMS)}; with =0 they are off"])
        out[FORMS[known]] = value != "0"
    return Forms(**out)


def _words(given: list[str]) -> tuple[str, ...]:
    return tuple(word for text in given for word in text.split(",") if word)


def _filters_told(args: argparse.Namespace) -> int:
    from probescope.cli.terminal import write_text

    write_text("".join(f"{text}\n" for _, text in args.wanted))
    write_text("".join(f"not {text}\n" for _, text in args.unwanted))
    return 0
