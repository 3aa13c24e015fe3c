"""Questions to answers: which function answers what, which levels it needs, and errors as replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from probescope.errors import ProbescopeError, ScriptError
from probescope.store.lod.families import LANES, points_of
from probescope.views.timeline.names import Told
from probescope.views.timeline.protocol import Question, encode, refusal
from probescope.views.timeline.tree import split

if TYPE_CHECKING:
    from probescope.views.timeline.opened import Opened, Shown, Ticket
    from probescope.views.timeline.protocol import Reply

    Answer = Callable[[Opened, Mapping[str, Any], Ticket], Reply]

#: Where the answer to each question is: module of ``answers``, and function.
ANSWERS: dict[str, tuple[str, str]] = {
    "open": ("opening", "answer_open"),
    "tracks": ("opening", "answer_tracks"),
    "slices": ("drawing", "answer_slices"),
    "area": ("drawing", "answer_area"),
    "plot": ("opening", "answer_plot"),
    "arrows": ("arrows", "answer_arrows"),
    "lost": ("arrows", "answer_lost"),
    "events": ("listing", "answer_events"),
    "locate": ("listing", "answer_locate"),
    "row_of": ("listing", "answer_row_of"),
    "detail": ("details", "answer_detail"),
    "find": ("finding", "answer_find"),
    "step": ("finding", "answer_step"),
    "count": ("finding", "answer_count"),
    "select": ("selecting", "answer_select"),
    "sql": ("asking", "answer_sql"),
    "complete": ("asking", "answer_complete"),
    "check": ("asking", "answer_check"),
}


def needed(opened: Opened, question: Question) -> Iterator[tuple[Shown, str]]:
    """Levels that have to be made before the question can be answered: recording and family."""
    if question.op not in ("slices", "area"):
        return
    track = str(question.args.get("track", ""))
    if track == "all":
        for shown in opened.shown:
            yield shown, "cpu"
            yield shown, "event"
        return
    found = split(track)
    if found is None or found[1] >= len(opened.shown):
        return
    kind, number, of = found
    shown = opened.shown[number]
    if question.op == "slices" and kind in LANES:
        yield shown, kind
    elif kind == "process":
        yield shown, "begun"
        yield shown, "ended"
    elif kind == "counter":
        yield shown, kind
    elif instants := points_of(kind, of):
        yield shown, instants[0]


def answer(opened: Opened, question: Question, told: Told, ticket: Ticket) -> bytes:
    """The reply, or why there is none."""
    module, name = ANSWERS[question.op]
    function: Answer = getattr(import_module(f"probescope.views.timeline.answers.{module}"), name)
    try:
        reply = function(opened, question.args, ticket)
    except ProbescopeError as e:
        return failed(question.id, e)
    return framed(question.id, reply, told)


def framed(number: int, reply: Reply, told: Told) -> bytes:
    head: dict[str, Any] = {**reply.head, "id": number, "ok": True}
    fresh: dict[str, str] = {}
    for name in reply.names:
        fresh |= told.fresh(reply.arrays[name])
    if fresh:
        head["names"] = fresh
    return encode(head, reply.arrays)


def failed(number: int, e: ProbescopeError) -> bytes:
    if isinstance(e, ScriptError) and e.diagnostics:
        return refusal(number, e.what, "; ".join(e.diagnostics[0].hints[:3]), _place(e))
    return refusal(number, e.what, "; ".join(e.hints[:3]))


def _place(e: ScriptError) -> int | None:
    """The first character of what is wrong."""
    first = e.diagnostics[0]
    if first.span.line < 1 or first.source is None:
        return None
    lines = first.source.text.split("\n")
    return sum(len(line) + 1 for line in lines[: first.span.line - 1]) + first.span.column - 1
