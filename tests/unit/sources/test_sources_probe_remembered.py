"""Definitions that were probed once are found by record -e until they are forgotten."""

from __future__ import annotations

import subprocess
import sys

import pytest

from probescope.kernel.filelock import FileLock
from probescope.lang.probe.parser import parse
from probescope.model.fetch import FetchArg, Register
from probescope.model.probe_found import FoundArg, FoundProbe
from probescope.sources import probe_remembered
from probescope.sources.probe_names import named


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def remember(*functions: str) -> None:
    for name in functions:
        args = (FoundArg(FetchArg("n", Register("di"))),)
        found = FoundProbe("/bin/sh", "", 16, False, args, name)
        probe_remembered.remember(named(parse(name), [found], lambda *_: False))


def test_what_is_forgotten_is_not_found() -> None:
    remember("one", "two", "other")
    assert probe_remembered.names() == ["probe_sh:one", "probe_sh:two", "probe_sh:other"]
    assert probe_remembered.forget("probe:*") == []
    assert probe_remembered.forget("o*") == ["probe_sh:one", "probe_sh:other"]
    assert probe_remembered.forget("probe_sh:t?o") == ["probe_sh:two"]
    assert probe_remembered.names() == []


def test_what_changed_since_is_of_no_use(folder) -> None:
    remember("one", "two")
    assert probe_remembered.usable(1) == ["probe_sh:two"]
    kept = folder / "probescope" / "probes.json"
    kept.write_text(kept.read_text().replace('"stamp": "', '"stamp": "1', 1))
    assert probe_remembered.usable(8) == ["probe_sh:two"]


def test_the_list_tells_of_them_beside_what_tracefs_has() -> None:
    """On stderr: what reads the list takes it for what is in the kernel."""
    remember("one")
    done = [
        subprocess.run(
            [sys.executable, "-m", "probescope", "probe", *words], capture_output=True, text=True, check=False
        )
        for words in (["-l", "nothing:*"], ["-d", "probe_sh:one"], ["-d", "probe_sh:one"])
    ]
    assert (done[1].returncode, done[1].stderr) == (0, "Forgot event: probe_sh:one\n")
    assert done[2].returncode != 0
    assert "no dynamic event matches" in done[2].stderr or "tracefs" in done[2].stderr


def test_two_runs_do_not_forget_what_the_other_remembers(folder, monkeypatch) -> None:
    """From reading to writing nobody else reads."""
    taken = []
    write = probe_remembered._write

    def watched(known) -> None:
        with pytest.raises(BlockingIOError), FileLock(f"{folder}/probescope/probes.json.lock", wait=False):
            pass
        taken.append(sorted(known))
        write(known)

    monkeypatch.setattr(probe_remembered, "_write", watched)
    remember("one", "two")
    probe_remembered.forget("one")
    assert taken == [["probe_sh:one"], ["probe_sh:one", "probe_sh:two"], ["probe_sh:two"]]


def test_no_more_is_kept_than_is_read(folder) -> None:
    """Many long definitions: the newest are remembered, and not none at all."""
    line = f"p:probe_sh/f /bin/sh:0x10 {' '.join(f'argument_{i}=%di:u64' for i in range(100))}"
    told = {"file": "uprobe_events", "stamp": "1:2:3", "line": line}
    remember("one")
    probe_remembered._write({f"probe_sh:f{i}": told for i in range(900)})
    names = probe_remembered.names()
    assert 200 < len(names) < 900
    assert names[-1] == "probe_sh:f899"
    assert (folder / "probescope" / "probes.json").stat().st_size <= 1 << 20
