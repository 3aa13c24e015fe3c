"""One program that measures all steps but calls, and the command that does a step alone.

entry  { @callers[ustack] = count(); @arg0[args.name, str(args.name, 64)] = count(); ...  span's start }
return { span's end  @returns[retval] = count(); }

What is asked at the entry is asked before the time begins, what is asked at the return when it is over.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from probescope.frozen import dataclass
from probescope.views.peel.subject import Argument, Found
from probescope.views.span import program as spans
from probescope.views.span.points import Point

STEPS = ("callers", "args", "time", "returns", "calls")
TOGETHER = ("callers", "args", "time", "returns")
"""Steps that are measured at once: the calls that one counts are those that the others do."""


@dataclass(frozen=True, slots=True)
class Who:
    """A process, or a command that is run, or everybody; for ``seconds``, or as long as the command runs (0)."""

    pid: int = 0
    command: tuple[str, ...] = ()
    seconds: float = 0.0


def able(found: Found, step: str) -> bool:
    """Whether a step has anything to ask of a function."""
    if step == "args":
        return any(a.keys for a in found.arguments)
    return step != "returns" or found.result is not None


def text(found: Found, steps: Sequence[str]) -> str:
    """Of the ``TOGETHER`` among ``steps``; "" where none of them has anything to ask."""
    wanted = [s for s in TOGETHER if s in steps and able(found, s)]
    entered = [line for s in wanted for line in _entered(found, s)]
    left = [_counted("@returns", found.result)] if "returns" in wanted and found.result is not None else []
    if "time" in wanted:
        return spans.nested(*ends(found), before=entered, after=left)
    body = [
        f"{probe} {{ {' '.join(lines)} }}" for probe, lines in ((found.entry, entered), (found.back, left)) if lines
    ]
    return "\n".join([f"config = {{ max_map_keys = {spans.MOST_KEYS} }}", *body]) if body else ""


def ends(found: Found) -> tuple[Point, Point]:
    name = found.subject.function
    return Point(name, (found.entry,), found.who), Point(f"{name}%return", (found.back,), found.who)


def _entered(found: Found, step: str) -> list[str]:
    if step == "callers":
        return [f"@callers[{'kstack, ustack' if found.subject.kernel else 'ustack'}] = count();"]
    if step == "args":
        return [_counted(f"@arg{i}", a) for i, a in enumerate(found.arguments) if a.keys]
    return []


def _counted(name: str, a: Argument) -> str:
    return f"{name}[{', '.join(a.keys)}] = count();"


# --- commands ---------------------------------------------------------------------------------------------------------


def command(found: Found, step: str, who: Who) -> str:
    """What measures a step by itself, as words of a shell."""
    if step == "time":
        return _span(found, who)
    if step == "calls":
        return _graph(found, who)
    lines = [line for line in text(found, [step]).splitlines() if not line.startswith("config")]
    if who.seconds:
        lines.append(f"interval:ms:{int(who.seconds * 1000)} {{ exit(); }}")
    words = ["probescope", "run", "-e", " ".join(lines)]
    words += ["-p", str(who.pid)] if who.pid else []
    words += ["--follow", "-c", shlex.join(who.command)] if who.command else []
    return shlex.join(words)


def _span(found: Found, who: Who) -> str:
    s = found.subject
    first, last = ends(found)
    by_probe = ["--nested", first.probe, "to", last.probe]
    named = s.binary and not s.function.startswith("0x")
    words = ["probescope", "span", *([s.function, "-x", s.binary] if named else by_probe)]
    return shlex.join([*words, *_whose(who)])


def _graph(found: Found, who: Who) -> str:
    s = found.subject
    if s.kernel:
        words = [s.function, "--depth", "2"]
    else:
        words = ["-x", s.binary, found.root, *(c.function for c in found.calls)]
    return shlex.join(["probescope", "graph", *words, "--callers", *_whose(who)])


def _whose(who: Who) -> list[str]:
    words = ["--seconds", f"{who.seconds:g}"] if who.seconds else []
    words += ["-p", str(who.pid)] if who.pid else []
    return [*words, *(["--", *who.command] if who.command else [])]
