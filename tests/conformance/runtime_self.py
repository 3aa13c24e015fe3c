"""The suite's self tests: files of ``test:`` probes, run through ``--test``; a row for every test of every file."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from runtime_report import FAIL, PASS, Row
from runtime_run import Bench

_PROBE = re.compile(r"^\s*test:(\w+)", re.MULTILINE)


def self_tests(folder: Path, bench: Bench) -> Iterator[Row]:
    for path in sorted(folder.glob("*.bt")):
        passed, said = _results(path, bench)
        for name in _PROBE.findall(path.read_text()):
            ok = passed.get(name, False)
            yield Row("self", f"{path.stem}: {name}", "", PASS if ok else FAIL, "" if ok else said)


def _results(path: Path, bench: Bench) -> tuple[dict[str, bool], str]:
    """Test to whether it passed; and, if a file could not be run, what was said."""
    command = [str(bench.tool), "--test", "-f", "json", str(path)]
    done = subprocess.run(command, cwd=bench.folder, capture_output=True, text=True, check=False, timeout=120)
    found: dict[str, bool] = {}
    for line in done.stdout.splitlines():
        document = json.loads(line) if line.startswith("{") else {}
        if document.get("type") == "test_result":
            found.update({name.removeprefix("test:"): r["passed"] for name, r in document["data"].items()})
    return found, done.stdout + done.stderr
