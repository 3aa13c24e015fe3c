"""What the kernel says about a text that it has just refused: tracefs' error_log.

    [ 4815.162342] event filter parse error: error: Field not found
      Command: foo == 1
                   ^

The log is cumulative, and each instance has one of its own. Source: kernel/trace/trace.c (tracing_log_err), since
5.2 ("tracing: Add tracing error log").
"""

from __future__ import annotations

from contextlib import suppress

from probescope.errors import KernelError
from probescope.frozen import dataclass
from probescope.kernel import tracefs
from probescope.kernel.host import host

_COMMAND = "  Command: "
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Complaint:
    """``why`` in the kernel's words; ``at``: the column of ``command`` that it points at, -1 if none."""

    why: str
    command: str
    at: int = -1


def last_complaint(command: str, base: str = "") -> Complaint | None:
    """The last one, if it is about (a part of) this text; of the instance ``base``, else of the top."""
    for folder in dict.fromkeys((base, "")):
        with suppress(OSError, KernelError):
            found = parse(host().read_text(f"{folder or tracefs.find_root()}/error_log", _LIMIT))
            if found and found[-1].command.strip() and found[-1].command.strip() in command:
                return found[-1]
    return None


def parse(text: str) -> list[Complaint]:
    out: list[Complaint] = []
    why = ""
    for line in text.splitlines():
        if line.startswith("[") and "error: " in line:
            why = line.rpartition("error: ")[2]
        elif line.startswith(_COMMAND):
            out.append(Complaint(why, line[len(_COMMAND) :]))
        elif out and line.strip() == "^":
            last = out[-1]
            out[-1] = Complaint(last.why, last.command, len(line) - 1 - len(_COMMAND))
    return out
