"""The screen of ``top``: a table with keys, by the package textual.

sampling thread: gathers, works out a snapshot ──► the screen's thread: shows it
                 ◄── the view (what is looked at), and that something of it has changed
"""

from __future__ import annotations

import errno
import signal
import threading
from argparse import Namespace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from probescope.cli.stopped import survives_stops
from probescope.frozen import replace
from probescope.views.reporting.keys import KEYS, Key

if TYPE_CHECKING:
    from probescope.cli.top_live import Live
    from probescope.views.top.profile import Shown, Snapshot, View

MOST_ROWS = 500
THREADS = ("comm", "tid")
SORTS: tuple[tuple[str, ...], ...] = (
    ("dso", "symbol"),
    ("comm", "dso", "symbol"),
    ("comm", "tid"),
    ("comm",),
    ("dso",),
)
HELP = """[b]probescope top[/b]

  up, down      a row                      Enter, e   its call graph (with -g)
  t             look at its thread alone: the list of threads first, where rows have none
  d             look at its file alone     Esc        one step back
  a             its function's instructions, each with its share
  /             only rows that hold a text K, U       without the kernel, without user space
  s             sort by other keys         n          the next kind of event
  c             with what functions call, or their own weight alone (with -g)
  p, Space      pause                      z          forget what was
  C             close all call graphs      h, ?       this text
  q             quit

Weights fade: what a look finds counts whole, and 7/8 of that at each look after it.
"""


class Help(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,h,question_mark,enter,space", "dismiss", "back")]
    CSS = "Help { align: center middle; } #help { width: 104; height: auto; border: round $primary; padding: 1 2; background: $surface; }"  # noqa: E501

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(HELP), id="help")


class Code(ModalScreen[None]):
    """A function's instructions; ``a`` again: as they are by then."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back"),
        Binding("a", "app.annotate", "again"),
    ]
    CSS = "#code { border: round $primary; background: $surface; overflow-x: auto; } #listing { width: auto; }"

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(code_text(self.text), id="listing"), id="code")

    def renew(self, text: str) -> None:
        self.text = text
        self.query_one("#listing", Static).update(code_text(text))


def code_text(text: str) -> Text:
    """Shares in the colors of rows."""
    out = Text(no_wrap=True)
    for line in text.expandtabs(4).splitlines():
        share = line.partition(" :")[0].strip()
        hot = float(share) if share.replace(".", "").isdigit() else 0.0
        out.append(line + "\n", "red" if hot >= 5 else "green" if hot >= 0.5 else "")
    return out


class Screen(App[int]):
    """``look``: seconds between snapshots. Sampling goes on in a thread of its own; ``closing`` ends it."""

    TITLE = "probescope top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #about { height: auto; background: $primary-background; color: $text; padding: 0 1; }
    #notes { height: auto; color: $warning; padding: 0 1; display: none; }
    #typed { display: none; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "quit"),
        Binding("h,question_mark", "help", "help"),
        Binding("t", "thread", "thread"),
        Binding("d", "module", "file"),
        Binding("a", "annotate", "code"),
        Binding("escape", "step_back", "back"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("s", "sort", "sort"),
        Binding("p,space", "pause", "pause"),
        Binding("z", "zero", "zero"),
        Binding("K", "hide('kernel')", "kernel", show=False),
        Binding("U", "hide('user')", "user", show=False),
        Binding("e", "expand", "graph", show=False),
        Binding("C", "collapse", "close graphs", show=False),
        Binding("c", "children", "children", show=False),
        Binding("n", "event", "event", show=False),
    ]

    def __init__(self, live: Live, view: View, args: Namespace) -> None:
        super().__init__()
        self.live, self.view = live, view
        self.base = view.keys
        self.counts: bool = args.show_nr_samples
        self.most = args.entries or MOST_ROWS
        self.paused = False
        self.closing = threading.Event()
        self.changed = threading.Event()
        self.failed: BaseException | None = None
        self.shown: list[Shown | None] = []
        self.looks = 0
        self._zero = False
        self._again = False
        self._code: tuple[str, str] | None = None
        self._heads: tuple[str, ...] = ()
        self._thread = threading.Thread(target=self._sample, name="sampling", daemon=True)

    # --- the sampling thread

    def _sample(self) -> None:
        try:
            self.live.start()
            while not self.closing.is_set():
                self._gather()
                if self.closing.is_set():
                    return
                if not terminal_is_there():
                    self.call_later(self.action_leave)
                    return
                if self._zero:
                    self._zero = False
                    self.live.profile.forget()
                if self._code is not None:
                    (symbol, module), self._code = self._code, None
                    self.call_later(self.show_code, self.live.annotated(self.view, symbol, module))
                if not self.paused or self.changed.is_set():
                    self.changed.clear()
                    view = self.view
                    snapshot = self.live.snapshot(view, self.most)
                    self.call_later(self.present, snapshot, view)  # never waits: the screen may be gone
        except Exception as e:  # noqa: BLE001 - told when the screen is gone
            if not self.closing.is_set():
                self.failed = e
                self.call_later(self.exit, 1)

    def _gather(self) -> None:
        """Until it is time for a look, or the view has changed. Paused, samples are let go."""
        self.live.gather(lambda: self.closing.is_set() or self.changed.is_set())
        if not self.changed.is_set() and not self.paused:
            self.live.fade()
        if self.live.over:
            self.changed.wait(0.2)

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join(10)

    # --- what is shown

    def compose(self) -> ComposeResult:
        yield Static("sampling ...", id="about", markup=False)
        yield Static("", id="notes", markup=False)
        table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=False, id="rows")
        yield table
        yield Input(placeholder="only rows that hold this text; Enter, or Esc for all", id="typed")
        yield Footer()

    def on_mount(self) -> None:
        if self.live.notes:
            notes = self.screen_stack[0].query_one("#notes", Static)
            notes.update("\n".join(self.live.notes))
            notes.display = True
        self.screen_stack[0].query_one(DataTable).focus()
        import asyncio

        loop = asyncio.get_running_loop()
        for s in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(s, self.action_leave)
        survives_stops(self)
        self._thread.start()

    def present(self, snapshot: Snapshot, view: View) -> None:
        """In the screen's thread."""
        self.looks += 1
        about = self.live.about(snapshot, view) + ("  [paused]" if self.paused else "")
        if snapshot.lost:
            about += "  (larger rings: -m)"
        self.screen_stack[0].query_one("#about", Static).update(about)
        table = self.screen_stack[0].query_one(DataTable)
        heads = self._titles(view)
        if heads != self._heads:
            self._heads = heads
            table.clear(columns=True)
            for head in heads:
                table.add_column(head)
        at = table.cursor_row
        kept = self.shown[at].key if 0 <= at < len(self.shown) and self.shown[at] is not None else None  # type: ignore[union-attr]
        table.clear()
        self.shown = []
        for row in snapshot.rows:
            table.add_row(*self._cells(row, view))
            self.shown.append(row)
            for line in row.graph:
                blank = [Text("")] * (len(heads) - 1)
                table.add_row(*blank, Text(line.removeprefix(" " * 12), style="dim"))
                self.shown.append(None)
        again = next(
            (i for i, r in enumerate(self.shown) if r is not None and r.key == kept), min(at, len(self.shown) - 1)
        )
        table.move_cursor(row=max(again, 0))

    def _titles(self, view: View) -> tuple[str, ...]:
        first = ("Children", "Self") if view.children else ("Overhead",)
        return (*first, *(("Samples",) if self.counts else ()), *(k.head.strip() for k in view.keys))

    def _cells(self, row: Shown, view: View) -> list[Text]:
        color = "red" if row.share >= 5 else "green" if row.share >= 0.5 else ""
        out = [Text(f"{row.share:8.2f}%", style=color)]
        out += [Text(f"{row.own:8.2f}%")] if view.children else []
        out += [Text(f"{row.samples:>8,}")] if self.counts else []
        cells = [Text(c) for c in row.key]
        if view.graph and cells:
            cells[-1] = Text(("- " if row.graph else "+ ") + row.key[-1])
        return out + cells

    # --- keys

    def look(self, **changes: object) -> None:
        """At something else, at once."""
        self.view = replace(self.view, **changes)
        self.changed.set()

    def _row(self) -> Shown | None:
        at = self.screen_stack[0].query_one(DataTable).cursor_row
        while 0 <= at < len(self.shown) and self.shown[at] is None:
            at -= 1
        return self.shown[at] if 0 <= at < len(self.shown) else None

    def _value(self, name: str) -> str:
        row = self._row()
        names = [k.name for k in self.view.keys]
        return row.key[names.index(name)] if row is not None and name in names else ""

    def action_leave(self) -> None:
        self.closing.set()
        self.changed.set()
        self.exit(0)

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_thread(self) -> None:
        comm, tid = self._value("comm"), self._value("tid").partition(":")[0]
        if not comm and not tid:
            self.look(keys=tuple(KEYS[k] for k in THREADS), expanded=frozenset())
            return
        self.look(comm=comm, tid=int(tid) if tid.isdigit() else -1, keys=self._functions(), expanded=frozenset())

    def _functions(self) -> tuple[Key, ...]:
        """Keys to look at one thread or file with."""
        return self.base if any(k.name == "symbol" for k in self.base) else tuple(KEYS[k] for k in SORTS[0])

    def action_module(self) -> None:
        module = self._value("dso")
        if module:
            self.look(module=module, keys=self._functions(), expanded=frozenset())

    def action_annotate(self) -> None:
        symbol = self._value("symbol")
        if symbol:
            self._code = symbol, self._value("dso")
            self._again = isinstance(self.screen, Code)
            self.changed.set()

    def show_code(self, text: str) -> None:
        if isinstance(self.screen, Code):
            self.screen.renew(text)
        elif not self._again:  # what was closed meanwhile does not come back
            self.push_screen(Code(text))

    def action_step_back(self) -> None:
        v = self.view
        typed = self.screen_stack[0].query_one("#typed", Input)
        if typed.display:
            typed.value, typed.display = "", False
            self.screen_stack[0].query_one(DataTable).focus()
            self.look(typed="")
        elif v.typed:
            self.look(typed="")
        elif v.module:
            self.look(module="")
        elif v.comm or v.tid >= 0:
            self.look(comm="", tid=-1)
        else:
            self.look(keys=self.base, hidden="", expanded=frozenset())

    def action_filter(self) -> None:
        typed = self.screen_stack[0].query_one("#typed", Input)
        typed.display = True
        typed.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.look(typed=event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.screen_stack[0].query_one("#typed", Input).display = False
        self.screen_stack[0].query_one(DataTable).focus()

    def action_sort(self) -> None:
        names = tuple(k.name for k in self.view.keys)
        at = SORTS.index(names) if names in SORTS else -1
        self.look(keys=tuple(KEYS[k] for k in SORTS[(at + 1) % len(SORTS)]), expanded=frozenset())

    def action_pause(self) -> None:
        self.paused = self.live.paused = not self.paused
        self.changed.set()

    def action_zero(self) -> None:
        self._zero = True
        self.changed.set()

    def action_hide(self, what: str) -> None:
        self.look(hidden="" if self.view.hidden == what else what)

    def action_expand(self) -> None:
        row = self._row()
        if row is not None and self.view.graph:
            self.look(expanded=self.view.expanded ^ {row.key})

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        self.action_expand()

    def action_collapse(self) -> None:
        self.look(expanded=frozenset())

    def action_children(self) -> None:
        if self.view.graph:
            children = not self.view.children
            self.look(children=children, graph="caller" if children else "callee", expanded=frozenset())

    def action_event(self) -> None:
        self.look(event=(self.view.event + 1) % len(self.live.events))


def terminal_is_there() -> bool:
    """A window that is closed takes its terminal away, and not all send SIGHUP then."""
    import sys
    import termios

    try:
        termios.tcgetattr(sys.__stdin__ or 0)
    except (termios.error, ValueError, OSError) as e:
        return e.args[:1] != (errno.EIO,)
    return True


def show(live: Live, view: View, args: Namespace) -> int:
    """Until it is left. What went wrong meanwhile is raised then."""
    screen = Screen(live, view, args)
    code = screen.run()
    screen.closing.set()
    screen.changed.set()
    screen.join()
    if screen.failed is not None:
        raise screen.failed
    return code or 0
