"""Clocks that the kernel side takes from us: it has none but time since boot."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from collect_run import run


def test_collect_software_tai_is_that_of_the_kernel() -> None:
    """Also in begin, which runs before anything is active. An hour would be a clock never set."""
    done = run('BEGIN { printf("%llu\\n", nsecs(sw_tai)); exit(); }', "-q", "--via", "bpf")
    assert abs(time.clock_gettime_ns(time.CLOCK_TAI) - int(done.out)) < 60 * 10**9


def test_collect_elapsed_in_begin_is_short() -> None:
    done = run('BEGIN { printf("%llu\\n", elapsed); exit(); }', "-q", "--via", "bpf")
    assert 0 <= int(done.out) < 60 * 10**9


@pytest.mark.parametrize("via", ["bpf", "auto"])
def test_collect_series_tell_the_time_of_day(via: str) -> None:
    """Each interval has its own number, counted from 1970, whoever runs the clause; the last value is kept."""
    program = """config = { print_maps_on_exit = false }
    interval:ms:40 { @n++; @t = tseries(@n - 10, 20ms, 1000); @t = tseries(@n, 20ms, 1000);
        if (@n == 3) { print(@t); exit(); } }"""
    before = datetime.now(UTC).replace(tzinfo=None)
    done = run(program, "-q", "-f", "json", "--via", via)
    after = datetime.now(UTC).replace(tzinfo=None)
    (series,) = [d["data"]["@t"] for d in map(json.loads, done.lines) if d["type"] == "tseries"]
    assert [p["value"] for p in series] == [1, 2, 3]
    starts = [datetime.fromisoformat(p["interval_start"][:26]) for p in series]
    assert starts == sorted(set(starts))
    assert before - timedelta(seconds=1) <= starts[0]
    assert starts[-1] <= after + timedelta(seconds=1)
