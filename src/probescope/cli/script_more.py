"""What ``script`` has besides: functions and files that are looked for, events that switch others on and off, a file
for each kind of event. Some of it wants events one after the other: ``alone``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from probescope.cli.parsing import how_many
from probescope.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import ToldBatch

    Column = np.ndarray[Any, Any]
    Keep = Callable[[ToldBatch], Column | None]


def add_more(p: argparse.ArgumentParser) -> None:
    p.add_argument("-S", "--symbols", metavar="LIST", help="only events in these functions, or at these addresses")
    p.add_argument("--addr-range", type=how_many, default=0, metavar="N", help="N bytes from the addresses of -S on")
    p.add_argument("--dsos", "--dso", metavar="LIST", help="only events in these files")
    p.add_argument("--deltatime", action="store_true", help="times since the line before")
    p.add_argument("--stop-bt", metavar="LIST", help="stacks end behind these functions")
    p.add_argument("-L", "--Latency", dest="latency", action="store_true", help="short columns, as trace-cmd -l")
    p.add_argument("-d", "--debug-mode", action="store_true", help="whether times are in order, at the end")
    p.add_argument("--per-event-dump", action="store_true", help="a file FILE.EVENT.dump for each kind of event")
    p.add_argument("-D", "--dump-raw-trace", action="store_true", help="each record as it lies, and what it says")
    p.add_argument("--dump-unsorted-raw-trace", action="store_true", help="in the order of the file")
    p.add_argument("--show-round-events", action="store_true", help="how often rings were visited, a line each")
    add_switches(p)


def rounds(recording: Opened) -> int:
    """How often the recorder had visited all rings. Of a file, which is read for that."""
    from probescope.formats.perfdata import open_perfdata

    if not hasattr(recording.recording, "container") or recording.recording.name == "-":
        return 0
    with open_perfdata(recording.recording.name) as found:
        for _ in found.batches():
            pass
        return found.stats.get("FINISHED_ROUND", 0)


def add_switches(p: argparse.ArgumentParser) -> None:
    p.add_argument("--switch-on", metavar="EVENT", help="events count from this one on")
    p.add_argument("--switch-off", metavar="EVENT", help="and until this one")
    p.add_argument("--show-on-off-events", action="store_true", help="these two as well")


def alone(args: argparse.Namespace) -> bool:
    """Whether events must be looked at in order, by one process."""
    return bool(args.reltime or args.deltatime or args.switch_on or args.switch_off or args.per_event_dump)


def check(args: argparse.Namespace) -> None:
    if args.reltime and args.deltatime:
        raise UsageError("times are told since the start (--reltime) or since the line before (--deltatime)")
    if args.deltatime and any(getattr(args, f"show_{k}_events", False) for k in _BETWEEN):
        raise UsageError("--deltatime is of events, without what is shown between them")
    if args.addr_range and not args.symbols:
        raise UsageError("--addr-range is of addresses", hints=["-S 0xffffffff81000000 --addr-range 4096"])


_BETWEEN = ("mmap", "task", "switch", "lost", "namespace", "bpf", "cgroup")


def narrowed(recording: Opened, args: argparse.Namespace, keep: Keep) -> Keep:
    """``keep``, and what the options here leave of it. Raises UsageError."""
    tests: list[Keep] = [keep]
    if args.symbols:
        tests.append(_by_frame(recording, _symbol_test(args.symbols, args.addr_range)))
    if getattr(args, "dsos", None):
        files = frozenset(args.dsos.split(","))
        tests.append(_by_frame(recording, lambda f: bool(files & {f.module, f.module.rpartition("/")[2]})))
    switch = switching(recording, args)

    def left(told: ToldBatch) -> Column | None:
        found: Column | None = None
        for test in tests:
            found = both(found, test(told))
        return found if switch is None else switch(told, found)

    return left


def both(one: Column | None, other: Column | None) -> Column | None:
    """Indices that are in both; ``None`` stands for all."""
    import numpy as np

    if one is None or other is None:
        return other if one is None else one
    return np.intersect1d(one, other, assume_unique=True)


def _symbol_test(text: str, extent: int) -> Callable[[Frame], bool]:
    names = frozenset(text.split(","))
    starts = [int(n, 16) for n in names if n.lower().startswith("0x") and _is_hex(n)]

    def test(f: Frame) -> bool:
        if f.name and (f.name in names or f.address - f.offset in starts):
            return True
        return any(start <= f.address < start + max(extent, 1) for start in starts)

    return test


def _is_hex(text: str) -> bool:
    try:
        return int(text, 16) >= 0
    except ValueError:
        return False


def _by_frame(recording: Opened, test: Callable[[Frame], bool]) -> Keep:
    """By where each event was, worked out once for each place."""

    def keep(told: ToldBatch) -> Column | None:
        import numpy as np

        from probescope.collect.recorded.told import CPUMODE, KERNEL
        from probescope.model.alike import alike

        b = told.batch
        if "ip" not in b.numbers or not b.count:
            return np.zeros(0, np.int64)
        kernel = (b.numbers["misc"] & CPUMODE) == KERNEL if "misc" in b.numbers else np.zeros(b.count, "?")
        columns = [told.spaces, b.numbers["ip"].view(np.int64), kernel]
        first, kinds = alike(columns)
        rows = zip(*(c[first].tolist() for c in columns), strict=True)
        frame = recording.told.frame
        wanted = np.array([test(frame(space, ip & (1 << 64) - 1, bool(k))) for space, ip, k in rows], np.bool_)
        return np.flatnonzero(wanted[kinds])

    return keep


# --- events that switch


def switching(
    recording: Opened, args: argparse.Namespace
) -> Callable[[ToldBatch, Column | None], Column | None] | None:
    """Of events, those between ``--switch-on`` and ``--switch-off``. Raises UsageError."""
    if not (args.switch_on or args.switch_off):
        return None
    on = recording.event(args.switch_on) if args.switch_on else -1
    off = recording.event(args.switch_off) if args.switch_off else -1
    shown: bool = args.show_on_off_events
    running = [on < 0]

    def keep(told: ToldBatch, found: Column | None) -> Column:
        import numpy as np

        which = np.arange(told.batch.count) if found is None else found
        kinds = told.batch.event[which]
        left = np.zeros(len(which), np.bool_)
        at = 0
        while at < len(which):
            wanted = off if running[0] else on
            ahead = np.flatnonzero(kinds[at:] == wanted) if wanted >= 0 else np.zeros(0, np.int64)
            end = at + int(ahead[0]) if len(ahead) else len(which)
            left[at:end] = running[0]
            if end < len(which):
                left[end] = shown
                running[0] = not running[0]
            at = end + 1
        return which[left]

    return keep


# --- a file for each kind


def _plain(event: str) -> str:
    """As part of a file's name, and of what is told of it: events are called as the recording says."""
    return "".join(c if c.isprintable() and c != "/" else "_" for c in event)


class Dumps:
    """``write`` what is printed of one kind of event; ``close`` says what came of it."""

    def __init__(self, name: str, events: Sequence[str]) -> None:
        self._paths = [f"{name}.{_plain(e)}.dump" for e in events]
        self._files: list[BinaryIO] = []
        self._samples = [0] * len(events)
        try:
            for path in self._paths:
                self._files.append(open(path, "wb"))  # noqa: SIM115 - all of them until the end
        except OSError as e:
            for f in self._files:
                f.close()
            raise UsageError(f"cannot write {e.filename}: {e.strerror}") from e

    def write(self, kind: int, data: bytes, samples: int) -> None:
        self._files[kind].write(data)
        self._samples[kind] += samples

    def close(self) -> None:
        for path, f, samples in zip(self._paths, self._files, self._samples, strict=True):
            size = f.tell() / (1 << 20)
            f.close()
            sys.stdout.write(f"[ probescope script: Wrote {size:.3f} MB {path} ({samples} samples) ]\n")
