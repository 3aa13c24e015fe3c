"""Recordings of a big-endian machine, with the text that its own trace-cmd printed.

Made on Debian 12 for s390x (kernel 6.1, trace-cmd 3.1.6, libtraceevent 1.7.1) in qemu-system-s390x: version 6, version
7 with zstd, and kernel stacks. Its kallsyms was cut down to 2,163 functions, so that the files are small.
"""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import formats_traces as traces
import pytest

from probescope.formats.tracedat.reader import TraceDat

FOLDER = Path(__file__).resolve().parent / "s390x"
#: libtraceevent before 1.8 has a table of its own for prev_state, which kernels after 4.14 do not follow.
_OLD_LETTERS = {"W": "I", "X": "Z", "Z": "X"}


def expected(name: str) -> list[str]:
    def letter(found: re.Match[str]) -> str:
        return f"] {_OLD_LETTERS[found[1]]} ==> "

    text = gzip.decompress((FOLDER / f"{name}.report.txt.gz").read_bytes()).decode()
    return [re.sub(r"\] ([WXZ]) ==> ", letter, line) for line in text.splitlines()]


def data(name: str) -> bytes:
    packed = FOLDER / f"{name}.dat.gz"
    return gzip.decompress(packed.read_bytes()) if packed.exists() else (FOLDER / f"{name}.dat").read_bytes()


@pytest.mark.parametrize("name", ["events6", "events7", "stacks"])
def test_text_is_that_of_its_own_machine(name: str) -> None:
    """Protects big-endian words, ring-buffer headers and records: every line as trace-cmd has it there."""
    with TraceDat(io.BytesIO(data(name)), name, owned=False) as recording:
        assert recording.machine.big_endian
        assert recording.machine.arch == "s390x"
        ours = traces.ours(recording, flags=False)
        assert recording.damage == ()
    assert len(ours) > 800
    assert ours == expected(name)
