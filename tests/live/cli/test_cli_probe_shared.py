"""Two recordings of one remembered definition: the event is in tracefs as long as either runs, and no longer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from probescope.formats.perfdata import open_perfdata
from tests.support.probe_program import build

OURS = (sys.executable, "-m", "probescope")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("probe_shared"))["plain"]


class Recording:
    """It has begun; ``end`` lets its program go."""

    def __init__(self, path: Path, event: str, program: str) -> None:
        command = ["sh", "-c", f"echo on; read go; exec {program} hello"]
        words = [*OURS, "record", "-q", "-o", str(path), "-e", event, "--", *command]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "on\n"

    def end(self) -> None:
        self._process.communicate("go\n", timeout=300)
        assert self._process.returncode == 0


def samples(path: Path) -> int:
    with open_perfdata(str(path)) as found:
        return sum(batch.count for batch in found.batches())


def test_the_last_of_two_takes_it_out(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first cannot: it is in use. The second did not put it there, and has to know all the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    defined = ["probe", "-q", "-x", program, "shared_psc:work=work n", "--", program, "hello"]
    subprocess.run([*OURS, *defined], check=True, capture_output=True, timeout=300)
    events = Path("/sys/kernel/tracing/uprobe_events")
    assert "shared_psc/work" not in events.read_text()
    second, third = (Recording(tmp_path / name, "shared_psc:work", program) for name in ("second", "third"))
    third.end()  # who came later goes first
    assert "shared_psc/work" in events.read_text()
    fourth = Recording(tmp_path / "fourth", "shared_psc:work", program)
    second.end()
    assert "shared_psc/work" in events.read_text()
    fourth.end()
    assert "shared_psc/work" not in events.read_text()
    assert [samples(tmp_path / name) for name in ("second", "third", "fourth")] == [3, 3, 3]
