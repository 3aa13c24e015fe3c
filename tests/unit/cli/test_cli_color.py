"""Colours of messages: BPFTRACE_COLOR and NO_COLOR."""

import pytest

from probescope.cli import streams


@pytest.mark.parametrize(
    ("asked", "no_color", "terminal", "wanted"),
    [
        ("always", "1", False, True),
        ("never", "", True, False),
        ("auto", "", True, True),
        ("auto", "1", True, False),
        ("", "", False, False),
        ("blue", "", True, True),
    ],
)
def test_color(asked, no_color, terminal, wanted, monkeypatch, capsys):
    """Who asks for it by name gets it in a pipe too; an unknown value is told, once."""
    for name, value in (("BPFTRACE_COLOR", asked), ("NO_COLOR", no_color)):
        if value:
            monkeypatch.setenv(name, value)
        else:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(streams.sys.stderr, "isatty", lambda: terminal, raising=False)
    assert [streams.color_wanted(), streams.color_wanted()] == [wanted, wanted]
    assert capsys.readouterr().err.count("WARNING: BPFTRACE_COLOR is 'blue'") == (asked == "blue")
