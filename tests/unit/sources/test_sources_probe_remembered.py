"""Definitions that were probed once are found by record -e until they are forgotten."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
