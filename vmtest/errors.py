"""What can go wrong, as one exception: its text is meant for a person."""

from __future__ import annotations


class VmtestError(Exception):
    """One sentence on what went wrong and, after it, what to do."""


class MachineLost(VmtestError):
    """The virtual machine ended, or never came up, without saying how the command went."""
