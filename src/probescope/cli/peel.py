"""``probescope peel``: a function, who calls it and what it does, and from there to its callers and callees."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.numbers import whole
from probescope.cli.parsing import Parser, a_name, add_format, cut_command, how_long, process_id
from probescope.errors import ProbescopeError, UsageError
from probescope.views.peel.program import STEPS, TOGETHER, Who

if TYPE_CHECKING:
    from probescope.cli.peel_measure import Measuring
    from probescope.views.peel.panes import Pane
    from probescope.views.peel.subject import Found, Subject

EXAMPLES = """examples:
  probescope peel parse_config -x ./server -- ./server -t    a function of a program, while it runs
  probescope peel readline -x bash --seconds 10              in every bash
  probescope peel handle_request -p 312                      in one process, wherever it has that function
  probescope peel vfs_read --seconds 2                       of the kernel
  probescope peel buy -x ./shop --steps 'callers up callers time' -f json -- ./shop
  probescope peel buy -x ./shop --save way.sh -- ./shop      the way that was walked, as a script
steps: callers, args, time, returns, calls, all; up goes to the caller that calls most, down to the callee that takes
most time, a function's name to that caller or callee, back to the function before
"""
SECONDS = 3.0
MOVES = ("up", "down", "back")


def parser() -> Parser:
    p = Parser(
        "peel", "Look at a function: who calls it, with what, how long, what it returns and calls.", EXAMPLES, runs=True
    )
    p.add_argument("function", metavar="FUNCTION", help="a name, or 0xADDRESS in the file")
    p.add_argument(
        "-x", "--exec", type=a_name, metavar="FILE", help="of this program or library; of the kernel without"
    )
    p.add_argument("-p", "--pid", type=process_id, default=0, metavar="PID", help="in this process")
    p.add_argument("-k", "--kernel", action="store_true", help="with -p: a function of the kernel")
    p.add_argument(
        "--seconds", type=how_long, default=0.0, metavar="N", help=f"of each look ({SECONDS:g}, or a command)"
    )
    p.add_argument("--steps", metavar="LIST", help="take these steps and end, instead of asking: 'callers args time'")
    p.add_argument("--save", metavar="FILE", help="write the way that was walked, a script for sh")
    p.add_argument("--stdio", action="store_true", help="lines instead of a screen, also on a terminal")
    add_format(p, "text (default) or json, one document for each step")
    return p


def parse_arguments(argv: list[str]) -> Namespace:
    words, command = cut_command(argv)
    args = parser().parse_args(words)
    args.command = command
    return args


def main(argv: list[str]) -> int:
    args = parse_arguments(argv)
    steps = parse_steps(args.steps) if args.steps is not None else []
    who = _who(args, args.command)
    from probescope.cli import peel_measure

    first = peel_measure.start(args.function, args.exec or "", args.pid, args.kernel)
    if args.steps is None and not args.stdio and args.format == "text" and _has_screen():
        from probescope.cli.peel_screen import show

        walk = show(peel_measure.found(first), who)
        _save(args, walk.script())
        return 0
    peeling = Peeling(peel_measure.Measuring(who), args.format)
    try:
        peeling.go(first)
        if args.steps is not None:
            peeling.take(steps)
        else:
            _asked(peeling, sys.stdin.isatty())
    finally:
        _save(args, peeling.walk.script())
    return 0


def _who(args: Namespace, command: Sequence[str]) -> Who:
    from probescope.cli.parsing import command_words

    if args.seconds < 0 or args.seconds != args.seconds or args.seconds > 1e7:
        raise UsageError(f"--seconds {args.seconds:g} is no time")
    if args.pid and command:
        raise UsageError("a process is looked at, or a command", hints=["leave -p or -- COMMAND away"])
    seconds = args.seconds or (0.0 if command else SECONDS)
    return Who(args.pid, command_words(command), seconds)


def _has_screen() -> bool:
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        return False
    from importlib.util import find_spec

    if find_spec("textual") is not None:
        return True
    sys.stderr.write("HINT: pip install 'probescope[tui]' has a screen with keys for this\n")
    return False


def _save(args: Namespace, script: str) -> None:
    if args.save:
        save(args.save, script)


def save(path: str, script: str) -> None:
    """Raises UsageError."""
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(script)
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from None


def parse_steps(text: str) -> list[str]:
    """Words of STEPS and MOVES, and names of functions. Raises UsageError."""
    out: list[str] = []
    for word in text.replace(",", " ").split():
        out += STEPS if word == "all" else [word]
    if not out:
        raise UsageError("--steps has no step", hints=[f"steps are {', '.join(STEPS)}, all, {', '.join(MOVES)}"])
    return out


class Peeling:
    """A walk that is told as it goes. Steps that can be measured at once are."""

    def __init__(self, measuring: Measuring, form: str = "text") -> None:
        from probescope.views.peel.walk import Walk

        self.measuring, self._form = measuring, form
        self.walk = Walk()
        self.found: Found | None = None
        self.panes: dict[str, Pane] = {}

    def go(self, to: Subject) -> None:
        """To a function, before any look at it. Raises ProbescopeError where it cannot be probed."""
        from probescope.cli.peel_measure import found

        self.found, self.panes = found(to), {}
        self.walk.enter(to)

    def take(self, words: Sequence[str]) -> None:
        """Steps and moves. Raises UsageError for a word that is neither, and no function that is known."""
        waiting: list[str] = []
        for word in words:
            if word in STEPS:
                waiting += [] if word in waiting else [word]
                continue
            self.look(waiting)
            waiting = []
            self.move(word)
        self.look(waiting)

    def look(self, steps: Sequence[str]) -> None:
        if not steps or self.found is None:
            return
        self.measure(steps)
        self._tell(steps)

    def measure(self, steps: Sequence[str]) -> None:
        assert self.found is not None
        new = self.measuring.look(self.found, steps)
        self.panes |= {p.step: p for p in new}
        self.walk.look(self.found, new)

    def move(self, word: str) -> None:
        """Up, down, back, or to a function by its name."""
        if word == "back":
            before = self.walk.back()
            if before is None:
                raise UsageError("this is the first function", hints=["up, down, or the name of a caller or callee"])
            self.go(before)
            return
        self.go(self.target(word))

    def target(self, word: str) -> Subject:
        from probescope.views.peel.text import ways_on

        if word in MOVES:
            step = "callers" if word == "up" else "calls"
            if step not in self.panes:
                self.measure([step])
            on = ways_on([self.panes[step]])
            if not on:
                title = self.found.subject.title if self.found is not None else ""
                raise UsageError(f"no function is known that {'calls' if word == 'up' else 'is called by'} {title}")
            return on[0]
        on = ways_on(list(self.panes.values()))
        chosen = [s for s in on if s.function == word]
        place = whole(word, 1, len(on))
        if place is not None:
            chosen = [on[place - 1]]
        if not chosen:
            hints = [f"seen so far: {', '.join(s.function for s in on[:8])}"] if on else [f"steps: {', '.join(STEPS)}"]
            raise UsageError(f"'{word}' is no step, and no caller or callee that was seen", hints=hints)
        return chosen[0]

    def _tell(self, steps: Sequence[str]) -> None:
        from probescope.model.visible import visible_json
        from probescope.views.peel.text import told

        assert self.found is not None
        new = [self.panes[s] for s in steps]
        if self._form == "json":
            for p in new:
                sys.stdout.write(visible_json(json.dumps(p.document)) + "\n")
        else:
            every = list(self.panes.values())
            for piece in told(self.found, new, every):
                sys.stdout.write(piece)
        sys.stdout.flush()
        self.warn()

    def warn(self) -> None:
        for line in self.measuring.told:
            sys.stderr.write(f"WARNING: {line.removeprefix('WARNING: ')}\n")
        sys.stderr.flush()
        self.measuring.told.clear()


HELP = """callers, args, time, returns, calls, all   look at this function again
NUMBER, NAME, up, down, back               go to another one
save FILE                                  the way so far, as a script
quit
"""


def _asked(peeling: Peeling, terminal: bool) -> None:
    """A first look, then words from standard input, line by line, until it ends."""
    peeling.look(TOGETHER)
    while True:
        if terminal:
            sys.stdout.write(f"{peeling.walk.shown()}> ")
            sys.stdout.flush()
        line = sys.stdin.readline()
        words = line.split()
        if not line or words[:1] in (["quit"], ["q"]):
            return
        try:
            _said(peeling, words)
        except ProbescopeError as e:
            if not terminal:
                raise
            from probescope.cli.main import error_text

            sys.stderr.write(error_text(e))


def _said(peeling: Peeling, words: list[str]) -> None:
    if not words:
        return
    if words[0] in ("help", "?", "h"):
        sys.stdout.write(HELP)
        return
    if words[0] == "save":
        if len(words) != 2:
            raise UsageError("save FILE")
        save(words[1], peeling.walk.script())
        return
    steps = parse_steps(" ".join(words))
    if steps[-1] in STEPS:
        peeling.take(steps)
    else:  # who goes somewhere wants to see it
        peeling.take([*steps, *TOGETHER])
