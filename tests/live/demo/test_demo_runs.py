"""The demonstration is the first thing that a newcomer runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys


def test_demo_answers_its_three_questions(repo):
    """Protects the first impression: each question gets real rows, and no error."""
    done = subprocess.run(
        [sys.executable, "scripts/demo.py"],
        cwd=repo,
        env={**os.environ, "DEMO_SECONDS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    calls, times, stacks = done.stdout.split("=" * 100)[1:4]
    assert re.search(r"^@calls\[\w+, tracepoint:syscalls:sys_enter_\w+\]: \d+$", calls, re.MULTILINE)
    assert re.search(r"^\[\d+K?, \d+[KM]?\) +\d+ \|@+", times, re.MULTILINE)
    assert re.search(r"^@stacks\[\n( +.+\n)+", stacks, re.MULTILINE)
    assert "nothing stays in the kernel" in done.stdout
