"""debugf: the kernel's own trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import run

TRACING = Path("/sys/kernel/tracing")


@pytest.fixture
def trace() -> Iterator[Path]:
    """The trace, with recording on: some other tool may have stopped it."""
    switch = TRACING / "tracing_on"
    if not switch.exists():
        pytest.skip("needs tracefs")
    before = switch.read_text()
    switch.write_text("1")
    yield TRACING / "trace"
    switch.write_text(before)


def lines(trace: Path, mark: str) -> list[str]:
    return re.findall(rf"bpf_trace_printk: ({mark}.*)", trace.read_text(errors="replace"))


@pytest.mark.parametrize(
    "probe", ["begin", f"uprobe:{work()}:numbers", "interval:ms:10"], ids=["begin", "uprobe", "interval"]
)
def test_collect_debugf_of_the_kernel(trace: Path, probe: str) -> None:
    """Numbers cut as C cuts them, texts that fill their place; nothing on stderr but the warning."""
    mark = f"probescope-{probe[:3]}"
    program = (
        f'{probe} {{ $x = (int8)-5; debugf("{mark} %5d|%-6x|%u|%hhd|%s|%s|%p|%%", $x, 255, -1, 511, "abc", '
        'str("0123456789", 4), 0xdead); exit(); }'
    )
    # an interval comes when it comes: no command may end the session before
    done = run(program, "-q", *(() if probe.startswith("interval") else ("-c", f"{work()} numbers 1")))
    assert lines(trace, mark)[-1] == f"{mark}    -5|ff    |4294967295|-1|abc|012|0xdead|%"
    assert done.out == ""
    assert mark not in re.sub(r".*WARNING: debugf.*\n.*\n.*\n", "", done.err)


def test_collect_debugf_of_what_the_kernel_cannot_print(trace: Path) -> None:
    """Then it goes to stderr, as printf does to stdout."""
    done = run('begin { debugf("probescope-other %.3d\\n", 7); exit(); }', "-q", "--no-warnings")
    assert done.err == "probescope-other 007\n"
    assert not lines(trace, "probescope-other")
