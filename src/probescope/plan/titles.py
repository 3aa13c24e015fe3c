"""What programs are called in the kernel, where others see them: ``bpftool prog`` lists ``kprobe_vfs_read_1``.

The kernel keeps 15 characters of a name, and the whole one in the program's BTF, which bpftool and kallsyms show.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

LONGEST = 100


class Titles:
    """Gives each program a name of its own: from its probe, or what several have in common, and a number."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def of(self, probes: Sequence[str]) -> str:
        """``probes``: full names of the program's sites, at least one."""
        text = "".join(a for a, _ in takewhile(lambda p: p[0] == p[1], zip(min(probes), max(probes), strict=False)))
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in text[:LONGEST])
        number = self._taken[name] = self._taken.get(name, 0) + 1
        return f"{name}_{number}"
