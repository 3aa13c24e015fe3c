"""Recorded times made nanoseconds of one clock: guests' shifts, a TSC's rate, offsets of date. See options.Times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from probescope.formats.tracedat.options import Shift, Times
    from probescope.model.recording import Column


def corrected(time: Column, cpu: int, times: Times) -> Column:
    """u8 of a CPU's events, wrapping as C does."""
    if cpu < len(times.shifts) and times.shifts[cpu]:
        time = _shifted(time, times.shifts[cpu], times.interpolated)
    if times.hz:
        hz, second = np.uint64(times.hz), np.uint64(1_000_000_000)
        time = time // hz * second + time % hz * second // hz
    elif times.mult:
        mult, shift = np.uint64(times.mult), np.uint64(times.shift)
        low, high = time & np.uint64(0xFFFFFFFF), time >> np.uint64(32)
        time = (low * mult >> shift) + _scaled(high * mult, 32 - times.shift)
    if times.offset:
        time = time + np.uint64(times.offset & ((1 << 64) - 1))
    return time


def _scaled(column: Column, left: int) -> Column:
    return column << np.uint64(left) if left >= 0 else column >> np.uint64(-left)


def _quotient(a: Column, b: Column) -> Column:
    """As C divides: towards zero. ``b`` is positive."""
    found: Column = np.sign(a) * (np.abs(a) // np.maximum(b, 1))
    return found


def _shifted(time: Column, samples: tuple[Shift, ...], interpolated: bool) -> Column:
    if len(samples) == 1:
        return time + np.uint64(samples[0].offset & ((1 << 64) - 1))
    starts = np.array([s.time for s in samples], np.uint64)
    before = np.clip(np.searchsorted(starts, time, "right") - 1, 0, len(samples) - 2)
    offset = np.array([s.offset for s in samples], np.int64)
    correction = offset[before]
    if interpolated:
        width = (starts[before + 1] - starts[before]).view(np.int64)
        along = (time - starts[before]).view(np.int64) * (offset[before + 1] - offset[before])
        correction = correction + _quotient(along + width // 2, width)
    scaling = np.array([s.scaling for s in samples], np.uint64)[before]
    fraction = np.array([s.fraction for s in samples], np.uint64)[before]
    return (time * scaling >> fraction) + correction.view(np.uint64)
