"""Known differences, each with its reason: ``runtime_known.toml``. A test that is listed and passes is an error too.

[[difference]]
reason = "why it is so, and why it stays so"
kernels = ["6.18"]            # only there; left out: everywhere
sometimes = true              # it hangs on what else the machine does: passing is no error
tests = ["file.name of the test", ...]
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("runtime_known.toml")


@dataclass(frozen=True)
class Known:
    reason: str
    tests: tuple[str, ...]
    sometimes: bool = False


def known(release: str = "") -> list[Known]:
    """What holds on a kernel, this one unless another is named."""
    release = release or os.uname().release
    rows = tomllib.loads(LIST.read_text()).get("difference", [])
    wanted = [r for r in rows if not r.get("kernels") or any(release.startswith(f"{k}.") for k in r["kernels"])]
    return [Known(r["reason"], tuple(r["tests"]), bool(r.get("sometimes"))) for r in wanted]


def sometimes(rows: list[Known]) -> set[str]:
    """Tests that may pass, though they are listed."""
    return {test for row in rows if row.sometimes for test in row.tests}


def reasons(rows: list[Known]) -> dict[str, str]:
    """Test to reason. Raises ValueError for a test that is listed twice."""
    found: dict[str, str] = {}
    for row in rows:
        for test in row.tests:
            if test in found:
                raise ValueError(f"{LIST.name}: {test} is listed twice")
            found[test] = row.reason
    return found
