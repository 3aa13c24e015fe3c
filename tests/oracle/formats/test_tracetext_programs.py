"""Programs on recordings of ftrace and on their texts: stacks are those that trace-cmd printed behind each event."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from probescope.cli.main import main

FOLDER = Path(__file__).resolve().parent / "s390x"
PROGRAM = "tracepoint:sched:sched_switch { @[kstack, comm] = count(); }"


def by_trace_cmd(text: str) -> Counter[tuple[str, ...]]:
    """Functions of the stack behind each sched_switch, innermost first."""
    found: Counter[tuple[str, ...]] = Counter()
    last: dict[str, str] = {}
    stack: list[str] | None = None
    for line in [*text.splitlines(), "end"]:
        if line.startswith("=> "):
            if stack is not None:
                stack.append(line.split()[1])
            continue
        if stack is not None:
            found[tuple(stack)] += 1
            stack = None
        head = re.search(r"\[(\d+)\]\s+\d+\.\d+: (\w+):", line)
        if head:
            if head[2] == "kernel_stack" and last.get(head[1]) == "sched_switch":
                stack = []
            last[head[1]] = head[2]
    return found


@pytest.mark.parametrize("of", ["dat", "txt"])
def test_stacks_of_a_program(of: str, tmp_path: Path) -> None:
    """Protects stacks of trace.dat and of its text: each with its event, named by the recording's own functions."""
    text = gzip.decompress((FOLDER / "stacks.report.txt.gz").read_bytes()).decode()
    path = FOLDER / "stacks.dat"
    if of == "txt":
        path = tmp_path / "stacks.txt"
        path.write_text(text)
    out = tmp_path / "out.json"
    assert main(["run", "-i", str(path), "-f", "json", "-o", str(out), "-e", PROGRAM]) == 0
    lines = map(json.loads, out.read_text().splitlines())
    (found,) = [line["data"]["@"] for line in lines if line["type"] == "map"]
    ours: Counter[tuple[str, ...]] = Counter()
    for key, count in found.items():
        names = re.findall(r"^\s+([\w.$]+)\+\d+", key, re.MULTILINE)
        ours[tuple(names)] += count
    theirs = by_trace_cmd(text)
    assert sum(theirs.values()) > 50
    assert {k: n for k, n in ours.items() if k} == theirs
