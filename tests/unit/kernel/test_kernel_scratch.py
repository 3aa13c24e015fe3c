"""Temporary folders of processes that were killed are removed by the next one, and nobody else's are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from probescope.kernel import scratch
from probescope.kernel.leftovers import owner_prefix, pid_namespace

MAKES = """import sys, tempfile
from probescope.kernel.scratch import scratch_prefix
folder = tempfile.mkdtemp(prefix=scratch_prefix("query"))
open(folder + "/file", "w").close()
print(folder, flush=True)
sys.stdin.read()
"""


def test_a_killed_process_leaves_nothing_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the process lives, its folder stays; after SIGKILL it goes, with what is in it. A link that is called as a
    folder is, a folder of another namespace's process, and what is called otherwise, are left alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", MAKES], env=env, **pipes) as process:
        assert process.stdout is not None
        made = Path(process.stdout.readline().strip())
        assert made.name.startswith(f"probescope_{process.pid}_{pid_namespace():x}_query_")
        own = Path(tempfile.mkdtemp(prefix=owner_prefix() + "query_"))
        target = tmp_path / "target"
        target.mkdir()
        kept = [own, target, tmp_path / f"probescope_{process.pid}_1_query_x", tmp_path / "probescope_query_x"]
        for path in kept[2:]:
            path.mkdir()
        link = tmp_path / f"probescope_{process.pid}_{pid_namespace():x}_query_link"
        link.symlink_to(target)
        assert scratch.reap_scratch() == []
        process.kill()
        process.wait()
        assert scratch.reap_scratch() == [str(made)]
    assert not made.exists()
    assert all(p.exists() for p in [*kept, link])
