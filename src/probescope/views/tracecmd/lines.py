"""Lines of `trace-cmd report` as its options have them::

    bash-1234  [002] d..2.  2084.021659: (+15)    sched_switch:   ...     --ts-diff
    bash-1234  [002]-0x1    2084.021659: sched_switch:  prev_pid=1234     -R
bash-1234    2d..2.         2084.021659: sched_switch:  ...               -l
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.formats.tracing.text import Lines, latency, told_by, usual_head
from probescope.frozen import dataclass
from probescope.views.tracecmd.filtering import names
from probescope.views.tracecmd.raw import raw_printer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import Column, EventBatch, EventType


_HERE = "\0"  # where a difference goes: no name and no text has it


@dataclass(frozen=True, slots=True)
class Look:
    """``raw`` and ``plain``: events (``SYSTEM:EVENT``, either alone, regular expressions as those of filters) that are
    shown field by field, and by their own format even if they have a form of their own; ``.*`` is all. ``micro``:
    differences are in microseconds."""

    raw: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    latency: bool = False
    differences: bool = False
    nanoseconds: bool = False
    plugins: bool = True
    micro: bool = False

    @property
    def usual(self) -> bool:
        return not (self.raw or self.plain or self.latency or self.differences)


def _head(short: bool, raw: bool, context: Context, shown: bool, key: int, comm: str = "") -> str:
    name, tid, cpu, flags, depth = told_by(key, context, comm)
    place = f"{name[:8]:>8}-{tid:<5d} {cpu:3d}" if short else f"{name:>16}-{tid:<5d} [{cpu:03d}]"
    if raw:
        return place + (f"-0x{flags:x}" if shown or short else "")
    return place + latency(flags, depth)


class ReportLines(Lines):
    def __init__(self, events: tuple[EventType, ...], context: Context, look: Look, **options: Any) -> None:
        self.look = look
        self._every_raw = ".*" in look.raw
        head = partial(_head, look.latency, self._every_raw) if look.latency or self._every_raw else usual_head
        super().__init__(events, context, nanoseconds=look.nanoseconds, plugins=look.plugins, head=head, **options)
        self._last: int | None = None
        self._gaps: list[str] = []
        self._gone: set[int] = set()

    def data(self, batch: EventBatch) -> bytes:
        if self.look.usual:
            return super().data(batch)
        lines = self.lines(batch)
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")

    def lines(self, batch: EventBatch) -> list[str]:
        if self.look.differences:
            self._note(batch)
        return super().lines(batch)

    def timed(self, batch: EventBatch) -> Iterator[tuple[int, str]]:
        """(time, line); losses that are a batch's last come with its last event."""
        self._gone = set()
        lines = self.lines(batch)
        times = [t for i, t in enumerate(batch.time.tolist()) if i not in self._gone]
        times += [times[-1] if times else 0] * (len(lines) - len(times))
        return zip(times, lines, strict=True)

    def _note(self, batch: EventBatch) -> None:
        """How long after the event before each came; the very first has none before it."""
        times = [(t + 500) // 1000 if self.look.micro else t for t in batch.time.tolist()]
        before = [self._last, *times][: len(times)]
        gaps = [None if b is None else t - b for t, b in zip(times, before, strict=True)]
        self._gaps = [" " * 9 if gap is None else f" {f'(+{gap})':<8}" for gap in gaps]
        self._last = times[-1] if times else self._last

    def _placed(self, batch: EventBatch, lines: list[str], gone: set[int]) -> list[str]:
        self._gone = gone
        if self.look.differences:
            lines = [line.replace(_HERE, gap, 1) for line, gap in zip(lines, self._gaps, strict=True)]
        return super()._placed(batch, lines, gone)

    def printer(self, index: int) -> Printer:
        found = self.printers.get(index)
        if found is None:
            event = self.events[index]
            if _named(event.name, self.look.raw):
                found = raw_printer(event, self.context)
            else:
                plugins = self.plugins and not _named(event.name, self.look.plain)
                found = compile_event(event, self.context, plugins)
            self.printers[index] = found
        return found

    def _naming(self, index: int) -> tuple[tuple[str, str], ...]:
        """Only events that are shown in a form of their own name threads."""
        name = self.events[index].name
        usual = not (_named(name, self.look.raw) or _named(name, self.look.plain))
        return super()._naming(index) if usual else ()

    def _migration(self, records: Any) -> list[str] | None:
        return None if self._every_raw else super()._migration(records)

    def _times(self, time: Column) -> tuple[str, list[list[Any]]]:
        shown, columns = super()._times(time)
        if not self.look.differences:
            return shown, columns
        return f"{shown}{_HERE}", columns


def _named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(names(p.replace("/", ":", 1), word) for p in patterns for word in (name, *name.split(":", 1)))
