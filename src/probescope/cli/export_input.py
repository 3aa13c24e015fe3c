"""What ``probescope export`` reads: recordings, texts of them, or folded text, told apart by how they begin."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Self

from probescope.cli.progress import Progress
from probescope.errors import UsageError
from probescope.formats.sniff import OF_FTRACE

if TYPE_CHECKING:
    from probescope.views.export.selection import Selection
    from probescope.views.export.source import Source
    from probescope.views.flame.stacks import StackSamples


def input_kind(name: str) -> str:
    """What ``sniff.kind_of`` says, else ``folded``. Raises UsageError where it cannot be read."""
    from probescope.formats.sniff import recording_kind

    if name == "-":
        if sys.stdin.isatty():
            hints = ["probescope export FILE, or pipe one into it", "probescope export --help"]
            raise UsageError("there is nothing to export", hints=hints)
        return recording_kind(name) or "folded"
    try:
        with open(os.path.join(name, "data") if os.path.isdir(name) else name, "rb"):
            return recording_kind(name) or "folded"
    except OSError as e:
        hints = ["probescope record writes one; probescope export FILE names another"] if name == "perf.data" else []
        what = "Is a directory, and no recording" if os.path.isdir(name) else e.strerror
        raise UsageError(f"cannot read {name}: {what}", hints=hints) from e


class Input:
    """``source`` goes through the recording once."""

    source: Source | StackSamples

    def __init__(self, name: str, selection: Selection, *, quiet: bool = False) -> None:
        self.kind = input_kind(name)
        self._name, self._selection = name, selection
        self._progress = Progress(f"reading {name}") if not quiet else None
        self._opened: Any = None

    def __enter__(self) -> Self:
        (self._folded if self.kind == "folded" else self._trace if self.kind in OF_FTRACE else self._perf)()
        return self

    def _perf(self) -> None:
        from probescope.cli.recordings import opened
        from probescope.views.export.source import PerfSource

        self._opened = found = opened(self._name)
        self.source = PerfSource(found.told, found.recording, self._selection, self._step, found.times())

    def _trace(self) -> None:
        from probescope.recorded import opened
        from probescope.views.export.source import TraceSource

        self._opened = found = opened(self._name)
        self.source = TraceSource(found, self._selection, self._step)  # type: ignore[arg-type]

    def _folded(self) -> None:
        from probescope.cli.flame import _lines
        from probescope.views.export.selection import Selection
        from probescope.views.flame.stacks import read_folded

        if self._selection not in {Selection(), Selection(one=True)}:
            hints = ["grep chooses from folded text"]
            raise UsageError("folded text has no events to choose from: --time, --pid, --event...", hints=hints)
        if self._name == "-":
            self.source = read_folded(_lines(sys.stdin.buffer, "stdin"))
            return
        with open(self._name, "rb") as f:
            self.source = read_folded(_lines(f, self._name), self._name)

    def _step(self, done: int, total: int, what: str) -> None:
        if self._progress is not None:
            self._progress(done, total, what)

    def close_progress(self) -> None:
        if self._progress is not None:
            self._progress.close()

    def __exit__(self, *_: object) -> None:
        self.close_progress()
        if self._opened is not None:
            self._opened.__exit__(None, None, None)

    def tell(self) -> None:
        """What was lost, what could not be read and what has no name, on stderr."""
        from probescope.cli.recordings import tell_damage

        if self.kind == "folded":
            return
        self._tell_left_out()
        from probescope.views.export.source import Source
        from probescope.views.export.writers import lost

        if isinstance(self.source, Source):
            sys.stderr.writelines(f"WARNING: {self._name}: {one}\n" for one in lost(self.source))
        if self.kind in OF_FTRACE:
            tell_damage(self._name, self._opened.damage, sys.stderr)
        else:
            self._opened.tell_damage(sys.stderr)
            self._opened.tell_missing(sys.stderr)

    def _tell_left_out(self) -> None:
        from probescope.views.export.source import Source

        if not isinstance(self.source, Source):
            return
        kinds, events = self.source.kinds, self.source.events
        others = [e.name for i, e in enumerate(events) if i not in kinds and not e.name.startswith("dummy")]
        if self._selection.one and not self._selection.events and others and self.kind == "perf.data":
            listed = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
            sys.stderr.write(f"NOTE: only {events[kinds[0]].name}; -e chooses others: {listed}\n")
