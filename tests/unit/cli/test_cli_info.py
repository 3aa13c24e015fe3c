"""``--info`` in bpftrace's names, and how a script without probes ends."""

from __future__ import annotations

import pytest

from probescope.cli import info
from probescope.cli.main import error_text
from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import NothingToAttach
from probescope.kernel import features
from probescope.kernel.features.answer import Answer


def test_features_by_the_names_that_scripts_look_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """``bpftrace --info | grep kprobe_session`` is how a script finds out; what cannot be told is not denied."""
    answers = {"attach:kprobe_session": True, "attach:iter": None}
    monkeypatch.setattr(features, "probe", lambda name: Answer(name, answers.get(name, False), ""))
    lines = info.text().splitlines()
    assert "  kprobe_session: yes" in lines
    assert "  iter: unknown" in lines
    assert "  kprobe_multi: no" in lines
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "Kernel helpers",
        "Kernel features",
        "Probe types",
    ]


def test_nothing_to_attach_is_no_fault_of_the_script() -> None:
    """Warnings say which probes are missing; that none is left is a plain sentence, at the end."""
    source = Source("stdin", "kprobe:nonsense { }")
    missing = Diagnostic("warning", "No matches for kprobe nonsense. Skipping.", Span(1, 1, 1, 16), (), source)
    nothing = Diagnostic("error", "No probes to attach", source=source)
    lines = error_text(NothingToAttach([nothing, missing])).splitlines()
    assert lines[0] == "stdin:1:1-16: WARNING: No matches for kprobe nonsense. Skipping."
    assert lines[-1] == "No probes to attach"
    assert error_text(NothingToAttach([nothing])) == "No probes to attach\n"
