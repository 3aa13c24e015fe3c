"""What stacks can be kept apart by."""

from __future__ import annotations

OWNERS = ("thread", "process", "comm", "none")
