"""Programs that have no path here: their file was deleted, or only they see it. Each is reached through its process."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

SOURCE = """
#include <stdio.h>
#include <unistd.h>
struct point { int x, y; };
__attribute__((noinline)) int tick(struct point *p) { p->x++; return p->x; }
int main(void) { struct point p = {1, 2}; puts("up"); fflush(stdout); for (;;) { tick(&p); usleep(20000); } }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "t.c").write_text(SOURCE)
    subprocess.run(["cc", "-g", "-O1", "-o", folder / "inside", folder / "t.c"], check=True, timeout=300)
    return folder / "inside"


@contextmanager
def running(*command: str):
    """Its first line is there: it runs, under its own name."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def events(*words: str) -> str:
    command = [sys.executable, "-m", "probescope", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_that_was_deleted(program: Path, tmp_path: Path) -> None:
    copy = tmp_path / "gone"
    copy.write_bytes(program.read_bytes())
    copy.chmod(0o755)
    with running(str(copy)) as pid:
        copy.unlink()
        exe = f"/proc/{pid}/exe"
        assert ":tick: (" in events("probe", "-q", "-x", exe, "tick p->x", "--count", "1")
        assert f"p:probe_exe/tick {exe}:0x" in events("probe", "-x", exe, "-D", "tick p->x")
        assert "who calls it" in events("peel", "tick", "-p", str(pid), "--steps", "callers", "--seconds", "0.5")


def test_a_file_that_only_the_process_sees(program: Path, tmp_path: Path) -> None:
    """In a mount namespace of its own, as in a container."""
    inner = tmp_path / "mnt"
    inner.mkdir()
    script = f"mount -t tmpfs none {inner} && cp {program} {inner}/it && exec {inner}/it"
    with running("unshare", "-m", "sh", "-c", script) as pid:
        for how in (["--target-ns", str(pid)], ["-p", str(pid)]):
            assert ":tick: (" in events("probe", "-q", "-x", f"{inner}/it", *how, "tick p->x", "--count", "1")
