"""``probescope report --sched`` and the like: summaries of the store of a recording."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import how_many
from probescope.errors import ProbescopeError, UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.store.opening import Asked
    from probescope.views.summaries.said import Window

OPTIONS = {
    "sched": "scheduling by thread, as perf sched latency sums it up",
    "timehist": "every stretch of a thread on a CPU, as perf sched timehist prints it",
    "syscalls": "system calls by thread, as perf trace -s sums them up",
    "irq": "interrupts by CPU, as perf kwork report sums them up",
    "latency": "waits for a CPU by thread, with histograms",
}
ROWS = 40


def add_summaries(p: argparse.ArgumentParser) -> None:
    group = p.add_argument_group("summaries of what events tell, instead of samples")
    one = group.add_mutually_exclusive_group()
    for name, about in OPTIONS.items():
        one.add_argument(f"--{name}", dest="summary", action="store_const", const=name, help=about)
    group.add_argument("--rows", type=how_many, metavar="N", help=f"most rows of these ({ROWS}; of --timehist all)")


def summary(args: argparse.Namespace) -> int:
    """The exit code. Raises ProbescopeError where the events were not recorded."""
    from probescope.model.visible import visible_json
    from probescope.views.summaries.kinds import KINDS
    from probescope.views.summaries.said import lacking, losses, present

    if args.rows is not None and args.rows < 1:
        raise UsageError("a table has at least one row", hints=["--rows 100"])
    kind = KINDS[args.summary]
    rows = args.rows or (0 if args.summary == "timehist" else ROWS)
    with ask_store([args.input], quiet=args.quiet) as store:
        if lacking(kind.needs, present(store)):
            what = f"--{args.summary} is about events that are not in {args.input}"
            raise ProbescopeError(what, hints=[f"probescope record -a -e '{kind.record}' -- sleep 10"])
        window = _window(store, args.time)
        for part in (losses(store), kind.say(store, window, rows)):
            for said in part:
                if args.format != "json":
                    sys.stdout.write(said.text)
                elif said.data is not None:
                    sys.stdout.write(visible_json(json.dumps(said.data, ensure_ascii=False)) + "\n")
    return 0


def ask_store(files: list[str], *, quiet: bool, fresh: bool = False) -> Asked:
    """Stores of recordings, each perhaps ``FILE@SECONDS``, with a progress bar while they are made."""
    from probescope.cli.progress import Progress
    from probescope.cli.symbols import plain_search
    from probescope.store.opening import Asked, named

    progress = None if quiet else Progress(f"making tables of {', '.join(files)}")
    try:
        return Asked([named(f) for f in files], fresh=fresh, step=progress or (lambda *_: None), search=plain_search)
    finally:
        if progress is not None:
            progress.close()


def _window(store: Asked, text: str | None) -> Window:
    from probescope.views.spans import HINTS, spans
    from probescope.views.summaries.said import Window, whole

    window = whole(store)
    if not text:
        return window
    found = spans(text).resolved(window.first, window.last)
    if len(found) != 1:
        raise UsageError("a summary is of one piece of time", hints=HINTS[:3])
    first, last = found[0]
    return Window(max(first, window.first), max(min(last, window.last), first))
