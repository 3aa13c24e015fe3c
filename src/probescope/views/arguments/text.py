"""Guesses as a person reads them, and as JSON. Every line says what it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.guess_args import INTEGERS
from probescope.model.visible import visible

if TYPE_CHECKING:
    from probescope.debuginfo.guess_args import Guess
    from probescope.views.arguments.sampled import Looks


def told(name: str, guess: Guess, looks: Sequence[Looks], hits: int) -> str:
    out = [f"{visible(name)}: {_count(guess)} (guessed from machine code)\n"]
    for i in range(guess.integers):
        code = "followed as a pointer" if i in guess.pointers else "read" if i < guess.integers else ""
        seen = f"; {looks[i].what}: {', '.join(map(visible, looks[i].values))}" if i < len(looks) and hits else ""
        out.append(f"  arg{i}  %{INTEGERS[i].lower():<4} {code}{seen}\n")
    out += [f"  %xmm{i}      a floating-point number\n" for i in range(guess.floats)]
    if guess.passed > guess.integers:
        out.append(f"  those who call it set {guess.passed} registers: it may ignore the last ones\n")
    if not guess.whole:
        out.append("  the function is too long to be walked whole: there may be more\n")
    return "".join(out)


def told_declared(name: str, lines: Sequence[str], values: Sequence[Sequence[str]]) -> str:
    """``values``: some that each was passed; empty where nobody looked, or where it cannot be read."""
    passed = [f"; passed: {', '.join(map(visible, v))}" if v else "" for v in values] or [""] * len(lines)
    return f"{name}: declared\n" + "".join(f"  {line}{seen}\n" for line, seen in zip(lines, passed, strict=True))


def _count(guess: Guess) -> str:
    n = guess.total
    more = ", and more (...)" if guess.variable else ""
    return f"{n or 'no'} argument{'' if n == 1 else 's'}{more}"


def document(name: str, guess: Guess, looks: Sequence[Looks], hits: int) -> dict[str, Any]:
    rows = [
        {"register": INTEGERS[i].lower(), "pointer": i in guess.pointers}
        | ({"looks": looks[i].what, "values": list(looks[i].values)} if i < len(looks) and hits else {})
        for i in range(guess.integers)
    ]
    return {
        "function": name,
        "source": "machine code",
        "count": guess.total,
        "variable": guess.variable,
        "arguments": rows + [{"register": f"xmm{i}", "pointer": False} for i in range(guess.floats)],
        "set_by_callers": guess.passed,
        "hits": hits,
    }
