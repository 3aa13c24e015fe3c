"""Programs that have no path here: their file was deleted, or only they see it. Each is reached through its process."""

from __future__ import annotations

import json
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


def copied(program: Path, to: Path) -> Path:
    """A copy of its own under a name, put into the place of what is there, as upgrades do."""
    fresh = to.with_name(f"{to.name}.new")
    fresh.write_bytes(program.read_bytes())
    fresh.chmod(0o755)
    return fresh.rename(to)


def test_a_file_that_was_replaced(program: Path, tmp_path: Path) -> None:
    """The process goes on with what it began with: by its name and -p that is probed, by every command; without -p
    nothing comes, and the reason is told."""
    name = str(copied(program, tmp_path / "upgraded"))
    with running(name) as pid:
        copied(program, tmp_path / "upgraded")
        assert ":tick: (" in events("probe", "-x", name, "-p", str(pid), "tick p->x", "--count", "1")
        who = ("-p", str(pid))
        told = events("run", "-e", f'uprobe:{name}:tick {{ printf("here"); exit(); }}', *who)
        assert "here" in told
        data = json.loads(
            events("peel", "tick", "-x", name, *who, "--steps", "callers", "--seconds", "0.5", "-f", "json")
        )
        assert [c["function"] for c in data["callers"]] == ["main"]
        spans = [
            json.loads(line)
            for line in events("span", "tick", "-x", name, *who, "--seconds", "0.5", "-f", "json").splitlines()
        ]
        assert spans
        err = complaint("probe", "-x", name, "tick", "--seconds", "0.2")
        assert f"process {pid} still runs the file that was at {name}" in err


def test_a_file_of_another_name_space(program: Path, tmp_path: Path) -> None:
    """Another file at the same path: that of the process is meant. Nothing of ours has such a function."""
    (tmp_path / "inner").write_bytes(program.read_bytes())
    (tmp_path / "inner").chmod(0o755)
    name = tmp_path / "it"
    name.write_bytes(Path("/bin/true").read_bytes())
    script = f"mount --bind {tmp_path}/inner {name} && exec {name}"
    with running("unshare", "-m", "sh", "-c", script) as pid:
        assert ":tick: (" in events("probe", "-q", "-x", str(name), "-p", str(pid), "tick p->x", "--count", "1")


def test_a_process_that_does_not_run_the_file(program: Path, tmp_path: Path) -> None:
    other = copied(program, tmp_path / "other")
    with running(str(program)) as pid:
        err = complaint("probe", "-x", str(other), "-p", str(pid), "tick", "--seconds", "0.2")
        assert f"process {pid} has no code of {other}: it runs {program}" in err


def complaint(*words: str) -> str:
    command = [sys.executable, "-m", "probescope", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


@pytest.mark.parametrize("command", [("peel",), ("whois",), ("span",), ("args",), ("probe",)])
def test_a_process_that_has_ended(command: tuple[str, ...], program: Path) -> None:
    """That it is gone is told, not that it is a kernel thread, and no program that nobody wrote."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    file = [] if command[0] in ("peel", "whois") else ["-x", str(program)]
    words = [sys.executable, "-m", "probescope", *command, "tick", *file, "-p", str(gone.pid)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (1, "") or (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ERROR: there is no process {gone.pid}\n")
    assert "kernel thread" not in done.stderr
