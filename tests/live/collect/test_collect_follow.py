"""``--follow``: a process, its threads and all that it forks, each event of theirs and none of others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from collect_run import COMMAND, Running, environment, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads BPF programs")

TREE = """
import os, threading
def fork(what):
    pid = os.fork()
    if not pid:
        what()
        os._exit(0)
    os.waitpid(pid, 0)
def child():
    os.getppid()
    fork(os.getppid)
    t = threading.Thread(target=os.getppid)
    t.start()
    t.join()
os.getppid()
for _ in range(100):
    fork(child)
"""
ORPHANS = """
import os, sys
sys.stdin.readline()
if not os.fork():
    sys.stdin.close()
    if not os.fork():
        for _ in range(40):
            os.getppid()
        os._exit(0)
    os._exit(0)
os._exit(0)
"""
COUNT = "tracepoint:syscalls:sys_enter_getppid { @[tid == pid, pid == cpid] = count(); }"


def child(text):
    return f"{sys.executable} -c '{text}'"


@pytest.fixture
def stranger():
    """Somebody else who makes the same call all the time."""
    with subprocess.Popen([sys.executable, "-c", "import os\nwhile True: os.getppid()"]) as process:
        yield
        process.kill()


def test_every_call_of_the_whole_tree(stranger):
    """From the first instruction of each of 200 processes and 100 threads, and of nobody else."""
    done = run(COUNT, "--follow", "-c", child(TREE))
    assert sorted(line for line in done.lines if line) == [
        "@[false, false]: 100",
        "@[true, false]: 200",
        "@[true, true]: 1",
    ]
    assert "Attached 1 probe\n" in done.err


def test_it_ends_with_the_last_of_them(stranger):
    """The first process is gone long before its grandchild, which nobody waits for."""
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        program = "tracepoint:syscalls:sys_enter_getppid { @ = count(); }"
        with Running(program, "--follow", "-p", str(process.pid)) as session:
            process.stdin.write("go\n")
            process.stdin.close()
            assert session.wait().out.strip() == "@: 40"


def test_functions_of_programs(stranger):
    """Uprobes of one process would not fire in its children."""
    libc = re.search(r"/\S*libc\.so\.6", Path("/proc/self/maps").read_text())
    assert libc
    done = run(f"uprobe:{libc.group()}:getppid {{ @ = count(); }}", "--follow", "-c", child(TREE))
    assert done.out.strip() == "@: 301"


def test_begin_and_intervals_go_on():
    """They are nobody's."""
    done = run('BEGIN { printf("begin\\n"); } interval:ms:50 { @ticks = count(); }', "--follow", "-c", "sleep 0.5")
    assert done.lines[0] == "begin"
    assert re.search(r"@ticks: \d+", done.out)


def test_it_needs_a_process():
    done = subprocess.run(
        [*COMMAND, "--follow", "-e", "BEGIN { }"], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 2
    assert "--follow needs a process" in done.stderr
