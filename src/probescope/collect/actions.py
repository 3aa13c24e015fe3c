"""What user space does on a record: print, clear, exit... One place for records out of the kernel and for clauses
that probescope evaluates itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from probescope.collect.finish import Finisher
from probescope.collect.tables import map_out
from probescope.frozen import dataclass
from probescope.ir.program import Action, Program
from probescope.model.aggregate import monoid
from probescope.model.codec import zero
from probescope.model.output import MapOut, Output, Text, ValueOut
from probescope.model.text import format_text
from probescope.model.types import Agg, Type

Sink = Callable[[Output], None]


class MapReader(Protocol):
    """The session's maps: what printing and clearing need."""

    def snapshot(self, name: str) -> list[tuple[Any, Any]]:
        """Pairs of key and value; aggregations as states."""
        ...

    def clear(self, name: str) -> None: ...
    def zero(self, name: str) -> None: ...


@dataclass(slots=True)
class Exit:
    """Whether the program asked to end, and with which code. ``muted``: what it says after that is not heard, until
    its ``end`` clauses begin."""

    asked: bool = False
    code: int = 0
    muted: bool = False


class Actions:
    """``perform`` carries out one record. ``exit`` tells the session when to stop."""

    def __init__(
        self, program: Program, maps: MapReader, finisher: Finisher, sink: Sink, *, unsafe: bool = False
    ) -> None:
        self.program = program
        self.maps = maps
        self.finisher = finisher
        self._sink = sink
        self._later: list[Callable[[], Output]] = []
        self.exit = Exit()
        self.held: Callable[[], None] = lambda: None  # hands over what somebody gathers before it is said
        self.hurry: Callable[[], bool] = lambda: False  # whether somebody waits for the end
        self.dropped = 0  # commands that were not run for that reason
        self._unsafe = unsafe
        self._iterates = any(s.source == "iter" for c in program.clauses for s in c.sites)
        self._kinds: dict[str, Callable[[Action, tuple[Any, ...]], None]] = {
            "printf": self._printf,
            "errorf": self._printf,
            "warnf": self._printf,
            "debugf": self._printf,
            "print": self._print,
            "print_map": self._print_map,
            "print_item": self._print_item,
            "clear": lambda a, _v: self.maps.clear(a.map),
            "zero": lambda a, _v: self.maps.zero(a.map),
            "time": self._time,
            "join": self._join,
            "cat": self._cat,
            "system": self._system,
            "exit": self._exit,
            "skboutput": self._skboutput,
            "cgroup_made": self._cgroup_made,
        }

    def perform(self, index: int, values: tuple[Any, ...]) -> None:
        action = self.program.actions[index]
        self._kinds[action.kind](action, values)

    def sink(self, output: Output) -> None:
        """Says something, after all that was put off."""
        if self._later:
            self._later.append(lambda: output)
        else:
            self._sink(output)

    def flush(self) -> None:
        """Says what was put off. Whoever performs actions calls this when there are no more for now."""
        self.held()
        later, self._later = self._later, []
        for make in later:
            self._sink(make())

    def finished(self, action: Action, values: tuple[Any, ...]) -> tuple[Any, ...]:
        finish = self.finisher.finish
        return tuple(finish(t, v) for t, v in zip(action.types, values, strict=True))

    def map_output(self, name: str, *, final: bool = False) -> MapOut:
        return map_out(self.program.map(name), self.maps.snapshot(name), self.finisher, final=final)

    # --- one method a kind
    # ----------------------------------------------------------------------------------------------

    def text_of(self, action: Action, values: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """The text of an action with a format, and its finished values."""
        done = self.finished(action, values)
        if action.format is None:
            return "", done
        return format_text(action.format, action.types, done), done

    def _printf(self, action: Action, values: tuple[Any, ...]) -> None:
        text, done = self.text_of(action, values)
        if action.kind not in ("errorf", "warnf"):
            self.sink(Text(action.kind, text, done))
            return
        place, callers = (*action.params, "", "")[:2]
        level = "ERROR" if action.kind == "errorf" else "WARNING"
        line = f"{place}: {level}: {text}" if place else f"{level}: {text}"
        line += "" if line.endswith("\n") else "\n"
        self.sink(Text(action.kind, line + callers, done, text, place))

    def _print(self, action: Action, values: tuple[Any, ...]) -> None:
        t = action.types[0]
        self.sink(ValueOut(t, self.finisher.finish(t, values[0])))

    def _print_map(self, action: Action, values: tuple[Any, ...]) -> None:
        """The map is read now, and shown later: often the next action empties it, and what happens between the two is
        lost. Finding names for stacks takes long."""
        top, div = (*values, 0, 0)[:2]
        decl = self.program.map(action.map)
        pairs = self.maps.snapshot(action.map)
        if decl.key is None and not pairs:  # asked for by name, a map that was never set shows its zero
            pairs = [(None, unset(decl.value))]
        self._later.append(lambda: map_out(decl, pairs, self.finisher, top=top, div=div, form=action.format))

    def _print_item(self, action: Action, values: tuple[Any, ...]) -> None:
        """``print(@x[k])``: the value alone, as it was when the event happened."""
        self.sink(ValueOut(action.types[1], self.finished(action, values)[1]))

    def _time(self, action: Action, values: tuple[Any, ...]) -> None:
        self.sink(Text("time", time.strftime(action.params[0] if action.params else "%H:%M:%S\n")))

    def _join(self, action: Action, values: tuple[Any, ...]) -> None:
        words = [str(w) for w in self.finished(action, values)]
        while words and not words[-1]:
            words.pop()
        self.sink(Text("join", (action.params[0] if action.params else " ").join(words) + "\n"))

    def _cat(self, action: Action, values: tuple[Any, ...]) -> None:
        from probescope.collect.files import read_some
        from probescope.errors import UsageError

        path, done = self.text_of(action, values)
        try:
            text = read_some(path, self.program.settings.max_cat_bytes)
            self.sink(Text("cat", self.finisher.clean(text), done))
        except UsageError as e:
            self.sink(Text("errorf", f"ERROR: {e}\n", done))

    def _system(self, action: Action, values: tuple[Any, ...]) -> None:
        from probescope.kernel.shell import run_shell

        command, done = self.text_of(action, values)
        if self._unsafe and self.hurry():
            self.dropped += 1  # thousands may be waiting, and each takes a millisecond or a minute
        elif self._unsafe:
            self.sink(Text("system", run_shell(command), done))

    def _exit(self, action: Action, values: tuple[Any, ...]) -> None:
        if not self.exit.asked:
            self.exit.asked, self.exit.code = True, int(values[0]) if values else 0
        self.exit.muted = not self._iterates

    def _cgroup_made(self, action: Action, values: tuple[Any, ...]) -> None:
        from probescope.kernel.cgroups import remember

        number, path = self.finished(action, values)
        remember(number, path)

    def _skboutput(self, action: Action, values: tuple[Any, ...]) -> None:
        from probescope.collect.files import append_packet

        append_packet(action.params[0], values[0], self.finisher.now_ns())


def unset(t: Type | Agg) -> Any:
    """What a map without keys holds before it is set."""
    return monoid(t).identity() if isinstance(t, Agg) else zero(t)
