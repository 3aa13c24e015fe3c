"""Recorded names hold any byte: a terminal is shown them, files and pipes get them as they are. Trace data of
processors are told of."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from pathlib import Path

import formats_perfmaker as pm
import pytest

EVENT = pm.Event(pm.TID | pm.TIME | pm.PERIOD, flags=pm.SAMPLE_ID_ALL)
EVIL = "\x1b]0;owned\x07\r\x9bx"
COMM = 3


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """One sample of a thread whose name would set a terminal's title."""
    m = pm.PerfMaker([EVENT])
    body = m.pack("II", 7, 7) + EVIL.encode()[:15].ljust(16, b"\0")
    m.add(COMM, body + pm.trailer(m, EVENT, pm.Sample(pid=7, tid=7, time=1)))
    pm.add_sample(m, EVENT, pm.Sample(pid=7, tid=7, time=2, period=3))
    path = tmp_path / "perf.data"
    path.write_bytes(m.build())
    return str(path)


def on_a_terminal(*words: str) -> bytes:
    """What a terminal gets."""
    ours, theirs = pty.openpty()
    try:
        child = subprocess.Popen([sys.executable, "-m", "probescope", *words], stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        theirs = -1
        out = b""
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # EIO: the other end is closed
                data = b""
            if not data:
                break
            out += data
        child.wait(300)
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
    return out


@pytest.mark.parametrize("words", [("script",), ("script", "-D"), ("report", "-s", "comm"), ("report", "--tasks")])
def test_a_terminal_does_not_obey_names(recording: str, words: tuple[str, ...]) -> None:
    said = on_a_terminal(words[0], "-i", recording, *words[1:])
    assert b"owned" in said
    assert not set(said.replace(b"\r\n", b"\n")) & {0x1B, 0x07, 0x0D, 0x9B}


GRAPH = f"""\
# tracer: function_graph
#
 0)               |  ksys_read() {{
 0)               |    /* {EVIL} */
 0) # 1234.567 us |  }}
"""


def test_a_graph_in_colour_does_not_obey_names(tmp_path: Path) -> None:
    """Our own colour of a long call stays."""
    path = tmp_path / "trace.txt"
    path.write_text(GRAPH)
    said = on_a_terminal("graph", "-i", str(path))
    assert b"\\x1b]0;owned\\x07" in said
    assert b"\x1b[31m#" in said
    assert not set(said.replace(b"\x1b[31m", b"").replace(b"\x1b[0m", b"").replace(b"\r\n", b"\n")) & {0x1B, 7, 0x9B}


def test_script_shows_the_bytes_to_a_terminal_and_keeps_them_in_a_pipe(recording: str) -> None:
    assert b"\\x1b]0;owned\\x07\\x0d" in on_a_terminal("script", "-i", recording)
    command = [sys.executable, "-m", "probescope", "script", "-i", recording]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert EVIL.encode()[:13] in done.stdout


def test_trace_data_are_told_of(tmp_path: Path) -> None:
    """AUXTRACE: 100 bytes behind the record, of no use here, and no harm to what follows."""
    m = pm.PerfMaker([EVENT])
    pm.add_sample(m, EVENT, pm.Sample(pid=7, tid=7, time=2, period=3))
    m.add(71, m.pack("QQQIIII", 104, 0, 0, 0, 1, 0, 0))
    m.data += struct.pack("<H", 0x0202) * 52
    pm.add_sample(m, EVENT, pm.Sample(pid=7, tid=7, time=4, period=3))
    path = tmp_path / "perf.data"
    path.write_bytes(m.build())
    command = [sys.executable, "-m", "probescope", "script", "-i", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert len(done.stdout.splitlines()) == 2
    assert "104 bytes of trace data of processors are not decoded" in done.stderr
