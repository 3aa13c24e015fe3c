"""What user stacks cost, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probescope.ir.needs import Needs
from probescope.model.unwind import ENOUGH

TABLES_NS, TABLES_FRAME_NS = 650, 13
"""A stack by unwind tables: nanoseconds, and those of each frame. ``python -m bench unwind``, Linux 6.18."""
POINTERS_NS, POINTERS_FRAME_NS = 480, 25
"""The same by frame pointers, which the kernel walks itself."""
MOST_NAMED = 3


class Compiled(NamedTuple):
    """A file of a process: which share of its functions has a frame pointer."""

    path: str
    share: float


def stack_notes(asked: Needs, unwind: str, files: Sequence[Compiled]) -> tuple[str, ...]:
    """``unwind``: of the program's settings. ``files``: of the process that is to be traced, if it is known."""
    if "ustack" not in asked.stacks:
        return ()
    pointers = f"by frame pointers: about {POINTERS_NS} ns, and {POINTERS_FRAME_NS} ns a frame"
    if unwind == "off":
        return (f"a user stack is walked {pointers}; config = {{ unwind = auto }} also finds callers without them",)
    tables = f"by tables: about {TABLES_NS} ns, and {TABLES_FRAME_NS} ns a frame"
    making = "a table is made in about 2.5 us a row (libc has 23,000: 60 ms) and takes 8 bytes a row in the kernel"
    bare = [f.path.rsplit("/", 1)[-1] for f in files if f.share < ENOUGH]
    if unwind == "auto" and files and not bare:
        return (f"a user stack is walked {pointers}: every file of the process has frame pointers",)
    if bare:
        more = f" and {len(bare) - MOST_NAMED} more" if len(bare) > MOST_NAMED else ""
        why = f"{', '.join(bare[:MOST_NAMED])}{more} {'has' if len(bare) == 1 else 'have'} no frame pointers"
        return (f"a user stack is unwound {tables}: {why}", making)
    when = "" if unwind == "always" else " where a process has files without frame pointers, else by these"
    return (f"a user stack is unwound {tables}{when}", making)
