"""The demonstration is the first thing that a newcomer runs."""

from __future__ import annotations

import re
import subprocess


def test_demo_answers_its_three_questions(probescope_command):
    """Protects the first impression: each question gets rows out of the running kernel, and no error."""
    done = subprocess.run(
        [*probescope_command, "demo", "--seconds", "1"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    calls, times, stacks = re.split(r"^\d\. ", done.stdout, flags=re.MULTILINE)[1:]
    assert re.search(r"^@calls\[.+, [a-z_0-9]+\]: [1-9]\d*$", calls, re.MULTILINE), calls
    assert re.search(r"^\[\d+K?, \d+[KM]?\) +\d+ \|@+", times, re.MULTILINE), times
    assert re.search(r"^@stacks\[.+\n(, \n)?( +.+\n)+", stacks, re.MULTILINE), stacks  # some never enter the kernel
