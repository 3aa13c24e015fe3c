"""``a ?? b`` on this kernel: what runs is what explain and list say."""

import os
import subprocess
import sys

import pytest
from collect_run import run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads BPF programs")

ROW = "kprobe:no_such_function_here ?? tracepoint:syscalls:sys_enter_getppid ?? tracepoint:syscalls:sys_enter_read"


def test_the_first_that_exists_runs():
    child = f"{sys.executable} -c 'import os; [os.getppid() for i in range(9)]'"
    done = run(ROW + " /pid == cpid/ { @[probe] = count(); }", "-c", child)
    assert done.out.strip() == "@[tracepoint:syscalls:sys_enter_getppid]: 9"


def test_list_and_explain_say_which():
    done = run(ROW + " { }", "-l", "-v")
    assert done.lines[0] == "tracepoint:syscalls:sys_enter_getppid"
    assert "there is no kernel function no_such_function_here" in done.lines[1]
    for what in (ROW, ROW + " { @ = count(); }"):
        said = subprocess.run(
            [sys.executable, "-m", "probescope", "explain", what], capture_output=True, text=True, check=True
        ).stdout
        assert "kprobe:no_such_function_here: there is no kernel function" in said
        assert f"bpftrace -e '{ROW}" not in said, "no other tool understands it"
