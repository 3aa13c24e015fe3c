"""A fixed piece of work, under a name of its own, whose system calls are known."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

NAME = "streamwork"
OFFSETS = [(i * 37) % 1000 for i in range(400)]
WHENCES = [i % 3 for i in range(400)]
SLEEPS, SPAWNS, PARENTS = 5, 3, 250

_SCRIPT = f"""
import os, time
open("/proc/self/comm", "w").write({NAME!r})
fd = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(400):
    os.lseek(fd, (i * 37) % 1000, i % 3)
for i in range({PARENTS}):
    os.getppid()
for i in range({SLEEPS}):
    time.sleep(0.02)
for i in range({SPAWNS}):
    os.spawnv(os.P_WAIT, "/bin/true", ["true"])
"""


def script(folder: Path) -> Path:
    path = folder / "work.py"
    path.write_text(_SCRIPT)
    return path


def command(folder: Path) -> list[str]:
    """Python without its site, so that it does little else."""
    return [sys.executable, "-I", "-S", str(script(folder))]


def words(folder: Path) -> str:
    return shlex.join(command(folder))
