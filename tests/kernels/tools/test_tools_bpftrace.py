"""bpftrace's published tools, unchanged, on kernels that have what they ask for: each compiles, loads and attaches, and
says of known work what its author's example shows."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from kernels_modules import load
from kernels_run import Worker
from kernels_tools import OLD, TOOLS, Tool

import probescope
from probescope.errors import ProbescopeError, ScriptError
from probescope.live import LiveSession
from probescope.views.text import TextView

NAMED = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")
FOLDER = Path(NAMED) / "tools"
PATIENCE = 20.0

pytestmark = pytest.mark.skipif(
    not (NAMED and FOLDER.is_dir()), reason="PROBESCOPE_BPFTRACE_SRC names no checkout of bpftrace"
)


@pytest.fixture(scope="module", autouse=True)
def _modules() -> None:
    """A disk that remembers, for tools that watch requests; drivers whose functions some tools are about."""
    load(("null_blk", "raid1", "crc32c_generic", "xfs"), {"null_blk": "nr_devices=1 memory_backed=1 irqmode=0 gb=1"})


def test_every_tool_is_here() -> None:
    """A tool that is published next year is looked at, too."""
    assert sorted(p.name for p in FOLDER.glob("*.bt")) == sorted(t.name for t in TOOLS)
    assert sorted(f"old/{p.name}" for p in (FOLDER / "old").glob("*.bt")) == sorted(t.name for t in OLD)


class Screen:
    """What a person sees of a session."""

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.view = TextView()
        self.text = ""

    def look(self, timeout: float) -> None:
        self.text += "".join(self.view.show(output)[0] for output in self.session.poll(timeout))

    def misses(self, wanted: list[str]) -> list[str]:
        lines = self.text.splitlines()
        return [w for w in wanted if not any(re.fullmatch(w + " *", line.strip()) for line in lines)]


def seen(tool: Tool) -> tuple[Screen, list[str]]:
    """The screen, and which of the expected lines are not on it."""
    text = (FOLDER / tool.name).read_text()
    with Worker(tool.work) as worker:
        wanted = [w.replace("<PID>", str(worker.pid)) for w in tool.says]
        with probescope.run(text, name=tool.name) as session:
            screen = Screen(session)
            worker.go()
            deadline = time.monotonic() + PATIENCE
            while not tool.at_end and screen.misses(wanted) and time.monotonic() < deadline:
                screen.look(0.1)
            session.stop()
            screen.look(0)
    return screen, screen.misses(wanted)


def told(e: ProbescopeError) -> str:
    return "\n".join(d.message for d in e.diagnostics) if isinstance(e, ScriptError) else str(e)


@pytest.mark.parametrize("tool", [*TOOLS, *OLD], ids=lambda t: t.name)
def test_tool(tool: Tool, vm_kernel: str) -> None:
    if vm_kernel in tool.lacks:
        with pytest.raises(ProbescopeError) as e:
            seen(tool)
        assert tool.lacks[vm_kernel] in told(e.value)
        return
    try:
        screen, missing = seen(tool)
    except ProbescopeError as e:
        pytest.fail(told(e))
    assert not missing, f"there was only:\n{screen.text}"
