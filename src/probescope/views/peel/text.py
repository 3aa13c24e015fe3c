"""Panes as lines: those that lead to another function are numbered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.model.visible import visible

if TYPE_CHECKING:
    from probescope.views.peel.panes import Pane
    from probescope.views.peel.subject import Found, Subject


def told(found: Found, panes: Sequence[Pane], every: Sequence[Pane] = ()) -> Iterator[str]:
    """A function and what is known of it. Rows that lead on have a number, as ``ways_on`` counts in ``every`` pane that
    there is of this function."""
    yield f"{visible(found.subject.title)}\n"
    yield from (f"  {visible(note)}\n" for note in found.notes)
    on = ways_on(every or panes)
    numbered: set[Subject] = set()
    for p in panes:
        yield f"\n  {visible(p.title)}\n"
        for row in p.rows:
            mark = f"[{on.index(row.go) + 1}]" if row.go is not None and row.go not in numbered else ""
            numbered |= {row.go} if row.go is not None else set()
            yield f"{mark:>5} {visible(row.text)}".rstrip() + "\n"
        if p.command:
            yield f"      $ {visible(p.command)}\n"
    yield "\n"


def ways_on(panes: Sequence[Pane]) -> list[Subject]:
    """Functions that rows lead to, each once, in the order in which they are shown."""
    return list(dict.fromkeys(row.go for p in panes for row in p.rows if row.go is not None))
