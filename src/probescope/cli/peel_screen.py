"""The screen of ``peel``: one step at a time, rows that lead on, keys; by the package textual.

measuring thread: finds the function, looks at it ──► the screen's thread: shows it
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from probescope.cli.peel import Peeling, save
from probescope.cli.peel_measure import Measuring
from probescope.cli.peel_measure import found as find
from probescope.cli.stopped import survives_stops
from probescope.errors import ProbescopeError
from probescope.model.visible import printable
from probescope.views.peel.program import STEPS, TOGETHER, Who

if TYPE_CHECKING:
    from probescope.views.peel.panes import Pane, Row
    from probescope.views.peel.subject import Found, Subject
    from probescope.views.peel.walk import Walk

HELP = """[b]probescope peel[/b]

  c  a  t  r  g   who calls it, with which arguments, how long it takes, what it returns, what it calls
  Enter           go to the function in this row
  b, Esc          back to the function before
  m, Space        measure again
  w               write the way that was walked: a script for sh
  h, ?            this text
  q               quit

The last line is the command that shows the same by itself.
"""
LONGEST_NAME = 40


class Help(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,h,question_mark,enter,space", "dismiss", "back")]
    CSS = "Help { align: center middle; } #help { width: 104; height: auto; border: round $primary; padding: 1 2; background: $surface; }"  # noqa: E501

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(HELP), id="help")


class Screen(App[int]):
    """``measuring``: a look goes on in a thread of its own; what is asked for meanwhile waits for its end."""

    TITLE = "probescope peel"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #about { height: auto; background: $primary-background; color: $text; padding: 0 1; }
    #notes { height: auto; color: $warning; padding: 0 1; display: none; }
    #command { height: auto; color: $text-muted; padding: 0 1; }
    #typed { display: none; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "step('callers')", "callers"),
        Binding("a", "step('args')", "args"),
        Binding("t", "step('time')", "time"),
        Binding("r", "step('returns')", "returns"),
        Binding("g", "step('calls')", "calls"),
        Binding("b,escape", "before", "back"),
        Binding("m,space", "again", "measure"),
        Binding("w", "write", "write script"),
        Binding("h,question_mark", "help", "help"),
        Binding("q", "leave", "quit"),
    ]

    def __init__(self, first: Found, who: Who) -> None:
        super().__init__()
        self.peeling = Peeling(Measuring(who, signals=False))
        self.peeling.found = first
        self.peeling.walk.enter(first.subject)
        self.step = "callers"
        self.rows: list[Row] = []
        self.looks = 0
        self._seconds = who.seconds
        self._busy: threading.Thread | None = None

    # --- what is shown

    def compose(self) -> ComposeResult:
        yield Static("", id="about", markup=False)
        yield Static("", id="notes", markup=False)
        table: DataTable[Text] = DataTable(cursor_type="row", show_header=False, id="rows")
        yield table
        yield Input(placeholder="file for the script; Enter, or Esc", id="typed")
        yield Static("", id="command", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        table = self._find(DataTable)
        table.add_column("")
        table.focus()
        survives_stops(self)
        self._look(TOGETHER)

    def _find(self, kind: type[DataTable[Text]]) -> DataTable[Text]:
        return self.screen_stack[0].query_one(kind)

    def _static(self, name: str) -> Static:
        return self.screen_stack[0].query_one(f"#{name}", Static)

    def present(self) -> None:
        """In the screen's thread."""
        found, pane = self.peeling.found, self.peeling.panes.get(self.step)
        title = found.subject.title if found is not None else ""
        steps = "  ".join(f"[{s}]" if s == self.step else s for s in STEPS)
        measuring = "  measuring ..." if self.busy else ""
        about = f"{self.peeling.walk.shown()}\n{printable(title)}    {steps}{measuring}"
        self._static("about").update(f"{about}\n{printable(pane.title)}" if pane is not None else about)
        self._static("command").update(f"$ {printable(pane.command)}" if pane is not None and pane.command else "")
        self._fill(pane)

    def _fill(self, pane: Pane | None) -> None:
        table = self._find(DataTable)
        table.clear()
        self.rows = list(pane.rows) if pane is not None else []
        for row in self.rows:
            mark = "> " if row.go is not None else "  "
            table.add_row(Text(mark + printable(row.text), style="" if row.go is not None else "dim", no_wrap=True))
        first = next((i for i, row in enumerate(self.rows) if row.go is not None), 0)
        if self.rows:
            table.move_cursor(row=first)

    def say(self, lines: Sequence[str]) -> None:
        notes = self._static("notes")
        notes.update("\n".join(printable(line) for line in lines))
        notes.display = bool(lines)

    # --- looks

    @property
    def busy(self) -> bool:
        return self._busy is not None

    def _look(self, steps: Sequence[str]) -> None:
        self._measure(lambda: self.peeling.measure(steps))

    def _go(self, to: Subject) -> None:
        def there() -> None:
            found = find(to)
            self.peeling.found, self.peeling.panes = found, {}
            self.peeling.walk.enter(to)
            self.peeling.measure([*TOGETHER, *(["calls"] if self.step == "calls" else [])])

        self._measure(there)

    def _measure(self, work: Callable[[], None]) -> None:
        if self.busy:
            return
        self.peeling.measuring.stop.clear()

        def run() -> None:
            notes: list[str] = []
            try:
                work()
            except (ProbescopeError, OSError) as e:
                notes = [str(e), *(e.hints if isinstance(e, ProbescopeError) else ())]
            except Exception as e:  # noqa: BLE001 - a screen that stays empty would say less
                notes = [f"{type(e).__name__}: {e}"]
            notes += self.peeling.measuring.told
            self.peeling.measuring.told.clear()
            with suppress(RuntimeError):  # the screen may be gone
                self.call_later(self._done, notes)

        self._busy = threading.Thread(target=run, name="measuring", daemon=True)
        self.say([])
        self.present()
        self._busy.start()

    def _done(self, notes: list[str]) -> None:
        self._busy = None
        self.looks += 1
        self.say(notes)
        self.present()

    def join(self) -> None:
        self.peeling.measuring.stop.set()
        if self._busy is not None:
            self._busy.join(10)

    # --- keys

    def action_step(self, step: str) -> None:
        self.step = step
        if step not in self.peeling.panes and not self.busy:
            self._look([step])
        else:
            self.present()

    def action_again(self) -> None:
        if self.peeling.found is not None:
            self._look([*TOGETHER, *(["calls"] if self.step == "calls" else [])])

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        row = self.rows[event.cursor_row] if event.cursor_row < len(self.rows) else None
        if row is not None and row.go is not None:
            self._go(row.go)

    def action_before(self) -> None:
        typed = self.screen_stack[0].query_one("#typed", Input)
        if typed.display:
            typed.display = False
            self._find(DataTable).focus()
            return
        if self.busy:
            return
        before = self.peeling.walk.back()
        if before is not None:
            self._go(before)

    def action_write(self) -> None:
        typed = self.screen_stack[0].query_one("#typed", Input)
        function = self.peeling.walk.path[0].function if self.peeling.walk.path else "way"
        typed.value = f"peel-{''.join(c if c.isalnum() else '_' for c in function)[:LONGEST_NAME]}.sh"
        typed.display = True
        typed.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        try:
            save(event.value, self.peeling.walk.script())
            self.say([f"{event.value} is written"])
        except ProbescopeError as e:
            self.say([str(e)])
        event.input.display = False
        self._find(DataTable).focus()

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_leave(self) -> None:
        self.peeling.measuring.stop.set()
        self.exit(0)


@contextmanager
def own_terminal() -> Generator[None]:
    """The screen has the terminal under other numbers: a command that runs meanwhile gets /dev/null, or it would write
    over the screen and take its keys."""
    import os
    import sys

    modes = {"__stdin__": "r", "__stdout__": "w", "__stderr__": "w"}
    before = {name: getattr(sys, name) for name in modes}
    kept = [os.dup(n) for n in range(3)]
    files = [open(fd, mode, closefd=False) for fd, mode in zip(kept, modes.values(), strict=True)]  # noqa: SIM115
    null = os.open(os.devnull, os.O_RDWR)
    try:
        for n, (name, file) in enumerate(zip(modes, files, strict=True)):
            setattr(sys, name, file)
            os.dup2(null, n)
        yield
    finally:
        for n, (name, file) in enumerate(before.items()):
            setattr(sys, name, file)
            os.dup2(kept[n], n)
        for held in files:
            held.close()
        for fd in (null, *kept):
            os.close(fd)


def show(first: Found, who: Who) -> Walk:
    """Until it is left."""
    import sys
    import termios

    screen = Screen(first, who)
    before = termios.tcgetattr(sys.stdin)
    try:
        with own_terminal():
            screen.run()
            screen.join()
    finally:
        with suppress(termios.error):
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
    return screen.peeling.walk
