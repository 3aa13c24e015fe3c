"""A process that is just being started has a program, and nothing mapped yet."""

from __future__ import annotations

import os

import pytest

from probescope.sources import targets
from probescope.views.whois import subjects


def test_a_process_in_the_midst_of_exec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from calling it a kernel thread."""
    monkeypatch.setattr(targets, "mapped", lambda _pid: iter(()))
    [found] = subjects.of_process(os.getpid())
    assert os.path.samefile(found.binary.path, "/proc/self/exe")
    found.binary.close()
