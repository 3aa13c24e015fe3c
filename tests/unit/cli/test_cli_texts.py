"""Commands on text of perf script and of the kernel, from files and through standard input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from probescope.cli.main import main

PERF = """\
app   100/101   [002]   10.500000:        100 cpu-clock:u:
\t    7f04f3464b70 inner (inlined)
\t    7f04f3464b70 outer+0x10 (/usr/bin/app)
\t    7f04f3464b99 main+0x5 (/usr/bin/app)

app   100/101   [002]   10.600000:        300 cpu-clock:u:
\tffffffff8177539a elf_load+0x28a ([kernel.kallsyms])
\t    7f04f3464b99 main+0x5 (/usr/bin/app)

app   100/101   [002]   10.700000:    test:tick: n=3 name=x y
"""
FOLDED = ["app;main;elf_load_[k] 300", "app;main;outer;inner 100"]
KERNEL = """\
# tracer: nop
          app-101     [002] d..2.    10.500000: tick: n=3 who=app
          app-101     [002] d..2.    10.500001: <stack trace>
 => inner
 => outer
          app-102     [002] d..2.    10.500002: tick: n=4 who=bpp
CPU:2 [LOST 5 EVENTS]
          app-101     [002] d..2.    10.500003: tick: n=5 who=app
"""


@pytest.fixture
def perf(tmp_path: Path) -> str:
    (tmp_path / "perf.txt").write_text(PERF)
    return str(tmp_path / "perf.txt")


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "kernel.txt").write_text(KERNEL)
    return str(tmp_path / "kernel.txt")


def piped(text: str, *argv: str) -> str:
    command = [sys.executable, "-m", "probescope", *argv]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=300).stdout


def test_flame_graphs(perf: str, kernel: str, tmp_path: Path) -> None:
    """Inlined calls above the function that they are in, the kernel's marked, weights as periods."""
    out = tmp_path / "out.folded"
    assert main(["flame", perf, "-o", str(out)]) == 0
    assert out.read_text().splitlines() == FOLDED
    assert piped(PERF, "flame", "-", "-f", "folded", "-o", "-").splitlines() == FOLDED
    assert main(["flame", kernel, "-o", str(out)]) == 0
    assert out.read_text().splitlines() == ["app 2", "app;outer_[k];inner_[k] 1"]


def test_report(perf: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares of periods by the innermost function; what was inlined into it is it."""
    assert main(["report", "-i", perf, "-q", "--no-children", "-g", "none", "-s", "symbol"]) == 0
    first = capsys.readouterr().out.splitlines()[:2]
    assert [line.split() for line in first] == [["75.00%", "[k]", "elf_load"], ["25.00%", "[.]", "outer"]]
    assert main(["report", "-i", perf, "--header-only"]) == 2


def test_programs(perf: str, kernel: str, tmp_path: Path) -> None:
    """Fields of a text, names of threads, and what was lost."""
    out = tmp_path / "out.json"
    program = "tracepoint:*:tick { @[args.n, comm, tid] = count(); }"
    assert main(["run", "-i", kernel, "-f", "json", "-o", str(out), "-e", program]) == 0
    said = [json.loads(line) for line in out.read_text().splitlines()]
    (found,) = [line["data"]["@"] for line in said if line["type"] == "map"]
    assert found == {"3,app,101": 1, "4,app,102": 1, "5,app,101": 1}
    assert any(line["data"] == {"events": 5, "kind": "overrun"} for line in said)
    program = 'tracepoint:test:tick { printf("%d %s", args.n, args.name); }'
    assert piped(PERF, "run", "-i", "-", "-e", program).strip().endswith("3 x y")


def test_exports(perf: str, kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of events with their stacks; formats that need a kernel's bytes say why they cannot be had."""
    out = tmp_path / "out.jsonl"
    assert main(["export", kernel, "-q", "-o", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["event"].rpartition(":")[2], r["tid"], r["fields"]["n"]) for r in rows] == [
        ("tick", 101, 3),
        ("tick", 102, 4),
        ("tick", 101, 5),
    ]
    assert [len(r.get("stack", ())) for r in rows] == [2, 0, 0]
    assert main(["export", perf, "-o", str(tmp_path / "a.data")]) == 2
    assert "text has no ring buffer" in capsys.readouterr().err


def test_script(perf: str, kernel: str) -> None:
    """As they were printed; the kernel's in trace-cmd's columns."""
    lines = piped(KERNEL, "script", "-i", "-").splitlines()
    assert lines[0] == "cpus=3"
    assert lines[1] == "             app-101   [002] d..2.    10.500000: tick:                 n=3 who=app"
    assert lines[6] == "CPU:2 [5 EVENTS DROPPED]"
    assert "elf_load+0x28a ([kernel.kallsyms])" in piped(PERF, "script", "-i", "-")
