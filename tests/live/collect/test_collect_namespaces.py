"""Processes are called by the numbers, and files by the paths, of the namespace that we see them from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import COMMAND, PATIENCE, Running, environment, until

IN_A_NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]


def test_collect_stacks_in_a_pid_namespace() -> None:
    """Inside of a container, /proc has the container's numbers: stacks and symbols have their names all the same."""
    if subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")
    program = f'uprobe:{work()}:numbers {{ @s[pid == cpid, ustack(1)] = count(); @y[usym(reg("ip"))] = count(); }}'
    args = [*IN_A_NAMESPACE, *COMMAND, "-e", program, "-c", f"{work()} numbers 5"]
    done = subprocess.run(args, capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=False)
    assert re.search(r"@s\[true, \n +numbers\+0@\S+/work.c:\d+\n\]: 5\n", done.stdout), done.stdout + done.stderr
    assert "@y[numbers]: 5\n" in done.stdout


def test_collect_our_own_number_from_outside() -> None:
    """begin runs in probescope itself, where a process sees only the number that its own namespace gave it."""
    if subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")
    program = 'begin { printf("%d %d %d\\n", pid, pid(curr_ns), pid(init)); }'
    args = [*IN_A_NAMESPACE, *COMMAND, "-e", program]
    done = subprocess.run(args, capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=False)
    here, ours, outside = map(int, done.stdout.split())
    assert (here, ours) == (1, 1)
    assert outside > 1


def test_collect_a_process_with_a_root_of_its_own(tmp_path: Path) -> None:
    """After chroot(2), /proc/PID/maps tells paths from our root, and the process knows others: its libraries are found
    by their bare names, and its stacks are named."""
    root = tmp_path / "root"
    for path in [work(), "/bin/sh", *_libraries(work(), "/bin/sh")]:
        place = Path(f"{root}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    loop = f"while :; do {work()} numbers 1 >&2; done"
    target = subprocess.Popen(["chroot", root, "/bin/sh", "-c", loop], stderr=subprocess.DEVNULL)
    try:
        until(lambda: os.readlink(f"/proc/{target.pid}/exe").startswith(str(root)), "it did not change its root")
        program = "uprobe:libc:malloc { @[ustack(1)] = count(); }"
        with Running(f"{program} interval:ms:500 {{ exit(); }}", "-p", str(target.pid)) as session:
            assert re.search(r"malloc\+0\n\]: \d", session.wait().out)
    finally:
        target.kill()
        target.wait()


def _libraries(*programs: str) -> list[str]:
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(?m)^\s.*?(/\S+) \(0x", told)


def test_without_proc(tmp_path: Path) -> None:
    """Functions of the kernel have no names then; recordings are made and read all the same."""
    path = str(tmp_path / "x.data")
    told = (
        ["top", "-d", "0.2", "--times", "1"],
        ["record", "-q", "-e", "page-faults", "-o", path, "true"],
        ["report", "-i", path],
    )
    for words in (*told, ["script", "-i", path]):
        command = [sys.executable, "-m", "probescope", *words]
        line = ["unshare", "-m", "--propagation", "private", "sh", "-c", 'umount -l /proc; exec "$@"', "sh", *command]
        done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        assert words[0] == "record" or done.stdout
