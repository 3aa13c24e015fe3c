"""Recordings of many kernels read as trace-cmd 3.3.1 reads them: every line of text the same."""

from __future__ import annotations

import re
from pathlib import Path

import formats_traces as traces
import pytest

from probescope.cli.ftrace import main
from probescope.formats.tracedat import open_tracedat

SAMPLES = traces.samples()


@pytest.mark.skipif(not SAMPLES, reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_text_of_samples(path: Path) -> None:
    """Protects the whole way from bytes to text: versions 6 and 7, zlib, zstd and none, 32 and 64 bits, sched, print,
    bprint, bitmasks and dynamic arrays."""
    with open_tracedat(str(path)) as recording:
        assert traces.ours(recording) == traces.expected(path)
        assert recording.damage == ()


@pytest.mark.skipif(not SAMPLES, reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_batches_keep_their_promises(path: Path) -> None:
    """Times ascend within and across batches; reading again starts anew."""
    with open_tracedat(str(path)) as recording:
        counts = []
        for _ in range(2):
            last = count = 0
            for batch in recording.batches():
                assert batch.raw is not None
                assert len(batch.time) == len(batch.event) == len(batch.raw.start) == batch.count
                assert int(batch.time[0]) >= last
                assert (batch.time[1:] >= batch.time[:-1]).all()
                last, count = int(batch.time[-1]), count + batch.count
            counts.append(count)
        assert counts[0] == counts[1] > 500


@pytest.mark.skipif(not SAMPLES, reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_filters_have_the_names_that_lines_have(path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Also those of threads that only scheduler events name (``sugov:1`` of lisa)."""
    named = re.compile(r" *s.*-\d+ +\[", re.IGNORECASE)
    assert main(["report", "-F", '.*: COMM =~ "^s"', str(path)]) == 0
    found = capfdbinary.readouterr().out.decode("utf-8", "surrogateescape").splitlines()[1:]
    assert found == [line for line in traces.expected(path) if named.match(line)]
