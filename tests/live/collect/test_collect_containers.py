"""``container``: of processes in control groups that are made, used and removed while a program runs."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from collect_run import Running, run

from probescope.kernel.cgroups import root_v2

ID = "fedcba9876543210" * 4
CALLS = "import os; [os.getppid() for _ in range(7)]"
PROGRAM = 'tracepoint:syscalls:sys_enter_getppid /comm == "inside"/ { @[container] = count(); }'


@pytest.fixture
def groups():
    """Makes a group, runs something in it, removes it."""
    base = Path(root_v2())
    if not root_v2() or not os.access(base, os.W_OK):
        pytest.skip("this machine has no cgroup v2 that can be changed")

    def use(path):
        folder = base / path
        folder.mkdir(parents=True)
        try:
            enter = f"open(r'{folder}/cgroup.procs', 'w').write('0'); open('/proc/self/comm', 'w').write('inside'); "
            subprocess.run([sys.executable, "-c", enter + CALLS], check=True)
        finally:
            for made in (folder, *folder.parents):
                if made == base:
                    break
                with suppress(OSError):
                    made.rmdir()

    return use


def test_names_of_groups_that_are_gone(groups):
    """Neither exists any more when the map is printed."""
    with Running(PROGRAM) as session:
        groups(f"probescope-test.slice/docker-{ID}.scope")
        groups(r"probescope-test.slice/my\x2dapp.service")
        done = session.stop()
    assert sorted(line for line in done.lines if line) == [f"@[{ID[:12]}]: 7", "@[my-app.service]: 7"]
    assert "Attached 1 probe\n" in done.err


def test_in_user_space_and_as_a_value():
    """Clauses that probescope runs itself know their own; it is a value like others."""
    done = run('BEGIN { $c = container; print((1, $c)); printf("%s %s\\n", container(cgroup), container()); exit(); }')
    name = done.lines[0].removeprefix("(1, ").removesuffix(")")
    assert done.lines[1] == f"{name} {name}"
    assert name


def test_the_clause_of_our_own_is_told_apart():
    """It is no probe of the program: neither listed nor explained as one, but not hidden either."""
    program = "tracepoint:sched:sched_switch { @[container] = count(); }"
    assert run(program, "-l").lines == ["tracepoint:sched:sched_switch"]
    said = subprocess.run(
        [sys.executable, "-m", "probescope", "explain", program], capture_output=True, text=True, check=True
    ).stdout
    assert said.count("serves it") == 1
    assert "probescope adds clauses of its own: rawtracepoint:" in said
    assert "bpftrace -e" not in said
