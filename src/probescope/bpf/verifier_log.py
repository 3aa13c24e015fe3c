"""Why the kernel refused a program: from the verifier's log to a sentence at a line of the script.

A log (level 1) is the verifier's walk: instructions (``12: (85) call bpf_...#6``), states (``R0=... R1=ctx()``), source
lines (``; ...``), and where it stopped, one or more lines of reasons, then statistics. The reason is the last line that
is none of the others; the place is the instruction that it names, or the last one before it. The words are those of
kernel/bpf/verifier.c, from 5.10 to 6.18.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from probescope.bpf.verifier_reasons import Known, known_reasons
from probescope.diagnostics import NOWHERE, Diagnostic, Source, Span
from probescope.frozen import dataclass
from probescope.model.visible import printable

_TAIL = 400_000  # characters of a log that are looked at: reasons stand at its end
_LONGEST = 400
_MOST_LINES = 8

_INSN = re.compile(r"(\d+): \([0-9a-f]{2}\) ")
_CALL = re.compile(r" call (\w+)#")
_NAMED = re.compile(r"\binsn (\d+)")
# How lines begin that never say why: statistics, instructions, states of registers, source lines, the walk itself.
_NOISE_BEGINNINGS = (
    r"processed \d",
    "verification time",
    "stack depth",
    "max_states|peak_states",
    "mark_precise|last_idx|regs=|parent |propagating",
    r"func#\d|Func#\d+ is |Validating ",
    r"from \d+ to \d+|\d+: (R\d+|\(|safe)|frame ?\d+:|R\d+(_\w+)?=|R\d+: ",
    r"cur state:|old state:|live regs|caller:|callee:|returning from callee|to caller at|[;{}]",
)
_NOISE = re.compile("|".join(_NOISE_BEGINNINGS))


@dataclass(frozen=True, slots=True)
class Refusal:
    """``raw``: the verifier's own line. ``insn``: the instruction, -1 if unknown. ``reason``: the same for people, or
    ``raw``. ``ours``: the program was built wrongly; the script is not to blame. ``whole``: the reason says it all."""

    raw: str
    insn: int
    reason: str
    hints: tuple[str, ...] = ()
    ours: bool = False
    whole: bool = False


def parse(log: str) -> Refusal:
    """Never raises; a log that says nothing gives an empty ``raw``."""
    lines = log[-_TAIL:].splitlines()
    first, last = _reason_lines(lines)
    said = [_clean(line) for line in lines[first:last]]
    raw = said[-1] if said else ""
    for entry in known_reasons():
        for text in said:
            match = entry.pattern.search(text)
            if match:
                called = _CALL.search(next((x for x in reversed(lines[:first]) if _INSN.match(x.lstrip())), ""))
                reason = _sentence(entry, match, called[1] if called else "?")
                return Refusal(text, _insn(lines, first, text), reason, entry.hints, entry.ours, entry.whole)
    return Refusal(raw, _insn(lines, first, raw), raw)


def _sentence(entry: Known, match: re.Match[str], called: str) -> str:
    """``called``: the function of the last instruction, in the place of one that the reason does not name."""
    reason = entry.reason
    for n, group in enumerate(match.groups()):
        reason = reason.replace(f"{{{n}}}", group or (called if entry.whole else "?"))
    return reason


def diagnose(
    log: str,
    lines: Sequence[tuple[int, Span]] = (),
    source: Source | None = None,
    *,
    program: str = "",
) -> Diagnostic:
    """A diagnostic at the line of the script that the refused instruction came from. ``lines``: those of the
    ``ProgSpec``."""
    refusal = parse(log)
    span = span_at(lines, refusal.insn)
    what = refusal.reason or "it did not say why"
    refused = f"the kernel refused the program{f' {program}' if program else ''}"
    message = what if refusal.whole else f"{refused}: {what}"
    hints = list(refusal.hints)
    if refusal.ours:
        hints.append("this looks like a fault of probescope: please report it with the output of --emit bpf")
    if refusal.raw and refusal.raw != refusal.reason:
        hints.append(f"the verifier's words: {refusal.raw}")
    return Diagnostic("error", message, span, tuple(hints), source)


def span_at(lines: Sequence[tuple[int, Span]], insn: int) -> Span:
    """The span that holds at an instruction."""
    n = bisect_right([at for at, _ in lines], insn) - 1
    return lines[n][1] if insn >= 0 and n >= 0 else NOWHERE


def _reason_lines(lines: Sequence[str]) -> tuple[int, int]:
    """The last run of lines that say why, as a range: often one says it in general, another with numbers."""
    last = len(lines)
    while last and not _says_why(lines[last - 1]):
        last -= 1
    first = last
    while first and last - first < _MOST_LINES and _says_why(lines[first - 1]):
        first -= 1
    return first, last


def _says_why(line: str) -> bool:
    text = line.strip()
    return bool(text) and text.isascii() and not _NOISE.match(text)


def _insn(lines: Sequence[str], before: int, raw: str) -> int:
    """The instruction that the reason names, or the last one walked before it."""
    named = _NAMED.search(raw)
    if named:
        return _number(named.group(1))
    for line in reversed(lines[:before]):
        walked = _INSN.match(line.lstrip())
        if walked:
            return _number(walked.group(1))
    return -1


def _number(digits: str) -> int:
    return int(digits) if len(digits) < 9 else -1


def _clean(line: str) -> str:
    text = printable(line.strip())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
