"""The words of ``latency A to B``::

sched:sched_waking /args.prio < 120/ to sched:sched_switch      --match pid=next_pid --by comm,start.prio
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probescope.errors import UsageError
from probescope.model.latency import Asked, By, End
from probescope.model.probe import SHORT_NAMES, SOURCES

MOST_KEYS = 3
_WORDS = re.compile(r"\s*(\S+)(?:\s+/(.*)/)?\s+to\s+(\S+)(?:\s+/(.*)/)?\s*", re.DOTALL)
BUILTIN = frozenset({"tid", "pid", "cpu", "comm", "uid", "retval", *(f"arg{i}" for i in range(10))})

Fields = Callable[[str], list[str]]
"""Names of the fields of a tracepoint ``system:event``."""


def parse(words: str, match: str = "", by: str = "", *, stack: bool = False) -> Asked:
    """Raises UsageError."""
    found = _WORDS.fullmatch(words)
    if found is None:
        hints = ["probescope latency 'sched:sched_waking to sched:sched_switch' --match pid=next_pid"]
        raise UsageError(f"'{words}' is not A to B: from which event to which?", hints=hints)
    keys = [_pair(one) for one in match.split(",")] if match else [("tid", "tid")]
    if len(keys) > MOST_KEYS:
        raise UsageError(f"--match has {len(keys)} pairs of fields: {MOST_KEYS} at most")
    start = End(_probe(found[1]), (found[2] or "").strip(), tuple(a for a, _ in keys))
    end = End(_probe(found[3]), (found[4] or "").strip(), tuple(b for _, b in keys))
    return Asked(start, end, tuple(_by(one) for one in by.split(",") if by), stack)


def _pair(text: str) -> tuple[str, str]:
    first, equals, second = text.strip().partition("=")
    if not _name(first) or (equals and not _name(second)):
        raise UsageError(f"--match {text}: a field, or FIELD=FIELD of the start and of the end")
    return first, second or first


def _by(text: str) -> By:
    name = text.strip()
    if not _name(name.removeprefix("start.")):
        raise UsageError(f"--by {text}: a field of the end, start.FIELD, comm, tid or cpu")
    return By(name.removeprefix("start."), name.startswith("start."))


def _name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", text) is not None


def _probe(text: str) -> str:
    """In full: an event without a source is a tracepoint."""
    head = text.partition(":")[0]
    if head in SOURCES or head in SHORT_NAMES:
        return f"tracepoint:{text.partition(':')[2]}" if SHORT_NAMES.get(head) == "tracepoint" else text
    if text.count(":") != 1:
        from probescope.collect.ftrace.triggered import named

        hints = [f"did you mean {full}?" for full in named(text)]
        hints = hints or ["SYSTEM:EVENT, such as sched:sched_switch, or kprobe:FUNCTION"]
        raise UsageError(f"{text} is no probe", hints=hints)
    return f"tracepoint:{text}"


_WAKE = frozenset({"sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new"})


def of_the_woken(asked: Asked) -> str:
    """The --match that is meant where a pair begins with a wake-up, which happens in another thread than the one that
    it is about. Empty where it does not."""
    if asked.start.event not in _WAKE or asked.start.keys != ("tid",):
        return ""
    return {"sched:sched_switch": "--match pid=next_pid"}.get(asked.end.event, "--match pid=tid")


def comm_field(end: End, fields: list[str]) -> str:
    """The field that names the task of a pair: the text beside the number that pairs match by, ``next_comm`` beside
    ``next_pid``. Empty: it is the thread's own name."""
    for key in end.keys:
        name = f"{key.removesuffix('pid')}comm"
        if key.endswith("pid") and key in fields and name in fields:
            return name
    return ""
