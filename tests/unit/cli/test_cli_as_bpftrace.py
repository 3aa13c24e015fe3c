"""Called by the name of bpftrace."""

from __future__ import annotations

import sys

import pytest

from probescope.cli.main import main, named
from probescope.model.output import MapOut, Text
from probescope.model.types import I64
from probescope.views.text import TextView


def test_words_go_to_run():
    """What begins a script, `#!/usr/bin/env bpftrace`, hands over its file and parameters alone."""
    assert named(["/usr/bin/bpftrace", "x.bt", "1"])[0] == "run"
    assert named(["/usr/bin/bpftrace", "x.bt", "1"])[-2:] == ["x.bt", "1"]
    assert named(["/usr/bin/probescope", "list"]) == ["list"]


@pytest.mark.parametrize("words", [["-h"], ["--no-such-option"]])
def test_usage_as_it_is_looked_for(words, monkeypatch, capsys):
    """Wrappers look for USAGE: on a line of its own."""
    monkeypatch.setattr(sys, "argv", ["bpftrace", *words])
    main(named(sys.argv))
    said = capsys.readouterr()
    assert "USAGE:" in (said.out + said.err).splitlines()


def test_version_is_that_of_the_language(monkeypatch, capsys):
    """Scripts compare it before they use what is new."""
    main(named(["bpftrace", "--version"]))
    assert capsys.readouterr().out.startswith("bpftrace v0.26")


def test_two_empty_lines_at_the_end():
    """bpftrace writes them before maps, and also where there are none: scripts cut them off."""
    view = TextView(ending="\n\n", always_ends=True)
    assert view.show(Text("printf", "a\n"))[0] + view.end() == "a\n\n\n"
    assert view.show(MapOut("n", None, I64, ((None, 1),), final=True))[0] + view.end() == "\n\n@n: 1\n"
