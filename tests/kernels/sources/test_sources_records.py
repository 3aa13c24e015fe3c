"""Formats of tracepoints and numbers of system calls, by what each kernel itself says."""

from __future__ import annotations

import sources_tracefs


def test_every_format_of_this_kernel() -> None:
    """Protects the parser on the formats of other versions: no field is lost, each lies where tracefs says."""
    assert sources_tracefs.check_formats() > 500


def test_syscall_numbers_are_those_that_fire() -> None:
    """Protects the table of numbers on kernels with more and with fewer system calls."""
    assert sources_tracefs.check_syscall_numbers() > 250
