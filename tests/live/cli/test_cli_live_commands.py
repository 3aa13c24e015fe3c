"""The other commands on this machine: doctor for root and for nobody, list, and the examples of every help page."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_examples import all_examples, words
from cli_json import DOCTOR, wrong
from nobody import as_nobody

from probescope.kernel.leftovers import owner_prefix
from probescope.kernel.tracefs import find_root


def probescope(*argv, nobody=False, code=0):
    command = as_nobody() if nobody else [sys.executable, "-m", "probescope"]
    done = subprocess.run([*command, *argv], capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done


# --- doctor
# -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nobody", [False, True], ids=["root", "nobody"])
def test_doctor_reports(nobody):
    """Exit code 0 whatever is missing: a report is no failure."""
    document = json.loads(probescope("doctor", "-f", "json", nobody=nobody).stdout)
    assert wrong(document, DOCTOR) == []
    answers = {f["name"]: f for f in document["features"]}
    assert len(answers) == len(document["features"]) > 250
    for f in answers.values():
        assert (f["reason"] == "") == (f["answer"] == "yes"), f
    if nobody:
        assert document["missing_capabilities"] == ["cap_bpf", "cap_perfmon"]
        assert document["tracefs"]["state"] == "denied"
        assert answers["attach:tp_btf"]["answer"] == "unknown"
        assert answers["attach:tp_btf"]["remedies"][0]["kind"] == "privilege"
        assert not any(f["answer"] == "no" and f["errno"] in (1, 13) for f in answers.values())


def test_every_no_of_a_mechanism_has_a_reason_and_a_cure():
    document = json.loads(probescope("doctor", "-f", "json").stdout)
    bad = [f for f in document["features"] if f["label"] and f["answer"] == "no"]
    assert all(f["reason"] and f["remedies"] for f in bad)


def test_doctor_for_reading():
    short, long = probescope("doctor").stdout, probescope("doctor", "-v").stdout
    assert "kprobes" in short
    assert "\x1b" not in short + long
    assert len(long.splitlines()) > 3 * len(short.splitlines())
    assert "helper:loop" in long
    assert "kernel.perf_event_paranoid" in long


def test_doctor_for_nobody_says_what_to_grant():
    out = probescope("doctor", nobody=True).stdout
    assert "setcap cap_bpf,cap_perfmon+ep" in out
    assert "run probescope doctor as root to know" in out


def test_clean_removes_what_the_dead_left():
    """An instance in the name of a process that does not exist any more goes; one of this living process stays."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    root = Path(find_root()) / "instances"
    mine = owner_prefix()
    theirs = mine.replace(f"_{os.getpid()}_", f"_{dead.pid}_")
    (root / f"{theirs}x").mkdir()
    (root / f"{mine}y").mkdir()
    try:
        document = json.loads(probescope("doctor", "-f", "json").stdout)
        alive = {x["name"]: x["alive"] for x in document["leftovers"]}
        assert alive[f"{theirs}x"] is False
        assert alive[f"{mine}y"] is True
        assert f"removed instance {theirs}x\n" in probescope("doctor", "--clean").stdout
        assert not (root / f"{theirs}x").exists()
        assert (root / f"{mine}y").exists()
        assert json.loads(probescope("doctor", "--clean", "-f", "json").stdout) == []
    finally:
        for name in (f"{theirs}x", f"{mine}y"):
            if (root / name).exists():
                (root / name).rmdir()


def test_clean_without_privileges_is_an_error_that_teaches():
    done = probescope("doctor", "--clean", nobody=True, code=1)
    assert "ERROR: open tracefs failed: EACCES" in done.stderr
    assert "HINT: " in done.stderr


def test_colour_is_for_terminals():
    """The same command on a terminal and off it; NO_COLOR wins."""
    plain = probescope("doctor").stdout
    assert "\x1b[" not in plain
    assert "\x1b[" in on_a_terminal("doctor")
    assert "\x1b[" not in on_a_terminal("doctor", NO_COLOR="1")


def on_a_terminal(*argv, **environment):
    ours, theirs = pty.openpty()
    env = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "probescope", *argv], stdout=theirs, stdin=subprocess.DEVNULL, env=env
    )
    os.close(theirs)
    out = b""
    while True:
        assert select.select([ours], [], [], 60)[0]
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: the other end is closed
            break
        if not part:
            break
        out += part
    os.close(ours)
    assert process.wait(timeout=300) == 0
    return out.decode()


# --- list
# ---------------------------------------------------------------------------------------------------------------


def test_list_of_a_process_has_its_functions():
    process = subprocess.Popen(["sleep", "60"])
    try:
        # the process is let go by its own exec
        names = probescope("list", "-p", str(process.pid), "uprobe:*").stdout.splitlines()
        assert any("libc.so.6:malloc" in n for n in names)
    finally:
        process.kill()
        process.wait()


def test_list_is_what_bpftrace_lists():
    """Names of functions of a binary, one a line, in the same shape."""
    ours = probescope("list", "uprobe:/bin/bash:read*").stdout.splitlines()
    theirs = subprocess.run(
        ["bpftrace", "-l", "uprobe:/bin/bash:read*"], capture_output=True, text=True, timeout=300, check=True
    ).stdout.splitlines()
    assert sorted(ours) == sorted(theirs)


def test_list_is_quick():
    """Every probe of the kernel, while a person waits: 4,000 names here, 130,000 on a kernel with kprobes."""
    done = subprocess.run(
        ["bash", "-c", f"TIMEFORMAT=%U; time {shlex.quote(sys.executable)} -m probescope list > /dev/null 2>&1"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert float(done.stderr) < 3.0


# --- examples
# ------------------------------------------------------------------------------------------------------------


def runnable(line: str) -> bool:
    """Not those that name a script which the reader brings; the demo, live views and servers have their own tests, and
    what needs the reader's own programs or several recordings is compared with perf's. Function graphs, latencies in
    the kernel, histograms and probes on its functions need a kernel that has them: tests/kernels. Spans and arguments
    are of the reader's own programs, messages of the kernel are looked for in its file: they have tests by name."""
    elsewhere = {"demo", "top", "annotate", "diff", "graph", "latency", "hist", "probe", "span", "args", "whois"}
    elsewhere |= {"peel", "timeline"}
    return words(line)[0] not in elsewhere and not any(w.endswith(".bt") or w == "..." for w in words(line))


@pytest.mark.parametrize(("command", "line"), [(c, x) for c, x in all_examples() if runnable(x)], ids=lambda v: v[:60])
def test_examples_work(command, line, tmp_path):
    """Every example of every help page does what it says. Those that would run for ever only attach and leave."""
    if words(line)[0] == "run":
        probescope("run", "--dry-run", *words(line)[1:])
        return
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{bin_folder(tmp_path)}:{os.environ['PATH']}"}
    text = line.replace("~/", f"{tmp_path}/").partition(" | ")[0]
    if words(line)[0] == "record":
        text += " > out"  # into a pipe it writes the recording itself, as perf does
    target = text.partition(" > ")[2]
    if target:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
    for name in (w for w in words(line) if w.endswith(".folded")):
        (tmp_path / name).write_text("main;parse 3\n")
    asks = words(line)[0] in {"query", "ask"}
    if words(line)[0] in {"script", "report", "export"} or asks or "perf.data" in words(line):
        for name in ("perf.data", "other.data"):
            events = ["-e", "page-faults,sched:sched_switch,raw_syscalls:sys_enter,raw_syscalls:sys_exit"]
            recorded = ["perf", "record", "-q", "-o", str(tmp_path / name), *events, "true"]
            subprocess.run(recorded, check=True, timeout=300, capture_output=True)
        import formats_tracemaker as tm

        (tmp_path / "trace.dat").write_bytes(tm.Maker().build(("", tm.events(5))))
    done = subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, timeout=300, env=environment, check=False, cwd=tmp_path
    )
    assert "Traceback" not in done.stderr
    # a shell need not have USDT probes, nothing need have happened in the process of the example, nor what is asked for
    allowed = {0, 1} if " -p $$" in line or " --pid 42" in line or words(line)[0] == "ask" else {0}
    assert done.returncode in allowed, done.stderr


def bin_folder(folder):
    (folder / "probescope").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m probescope "$@"\n')
    (folder / "probescope").chmod(0o755)
    return folder
