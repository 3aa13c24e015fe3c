"""The commands that ``explain`` gives for the peers, run: they have to be accepted, and to record."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest

from probescope.inquiry import explain

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def peers(probe: str, tool: str) -> list[str]:
    """Commands of a tool for a probe that it can serve here, with a short wait."""
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    found = [e for part in explain(probe)[0].parts for e in part.equivalents]
    return [e.command.replace("sleep 5", "sleep 0.2") for e, here in found if e.tool == tool and here != "no"]


def run(command: str, tmp_path) -> str:
    """The command line in a shell of its own, in a folder of its own; no part of it may fail."""
    # perf record writes its data to standard output where that is a pipe
    output = tmp_path / "output"
    checked = command.replace("; ", " || echo FAILED; ") + " || echo FAILED"
    with output.open("wb") as out:
        subprocess.run(
            ["bash", "-c", checked],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            timeout=300,
            check=True,
        )
    text = output.read_text(errors="replace")
    assert "FAILED" not in text, f"$ {command}\n{text[-2000:]}"
    return text


@pytest.mark.parametrize(
    "probe",
    [
        "tracepoint:sched:sched_switch",
        "tracepoint:syscalls:sys_enter_openat",
        "tracepoint:syscalls:sys_enter_newfstat",
        "tracepoint:sched:sched_wakeup*",
        "rawtracepoint:sched_switch",
        "profile:hz:99",
        "interval:ms:100",
        "software:page-faults:10",
        "software:cs:",
        "uprobe:/bin/bash:readline",
        "uretprobe:/bin/bash:readline",
    ],
)
def test_perf_takes_them(probe, tmp_path):
    commands = peers(probe, "perf")
    assert commands
    for command in commands:
        # perf stat -I ends with the command it is given
        run(command if " -- " in command else f"{command} -- sleep 0.2", tmp_path)


@pytest.mark.parametrize("probe", ["tracepoint:sched:sched_switch", "tracepoint:syscalls:sys_enter_openat"])
def test_trace_cmd_takes_them(probe, tmp_path):
    """Or explain says that it cannot work on this kernel, and is right."""
    if shutil.which("trace-cmd") is None:
        pytest.skip("needs trace-cmd")
    found = [(e, here) for p in explain(probe)[0].parts for e, here in p.equivalents if e.tool == "trace-cmd"]
    assert found
    for e, here in found:
        command = e.command.replace("sleep 5", "sleep 0.2")
        if here == "yes":
            assert probe.rpartition(":")[2] in run(command, tmp_path)
        else:
            with pytest.raises(AssertionError, match="Operation not permitted"):
                run(command, tmp_path)


@pytest.mark.parametrize(
    "probe",
    [
        "tracepoint:sched:sched_switch",
        "uprobe:/bin/bash:readline",
        "software:page-faults:10",
        "profile:hz:99",
        "interval:s:1",
    ],
)
def test_bpftrace_parses_them(probe):
    """-d prints the program instead of running it."""
    (command,) = peers(probe, "bpftrace")
    words = shlex.split(command)
    done = subprocess.run([words[0], "-d", *words[1:]], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
