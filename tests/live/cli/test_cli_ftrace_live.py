"""``probescope ftrace`` on this kernel: what is counted is all there is, however it ends there is a file, nobody else's
buffer is touched, and nothing stays but what was started on purpose."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nobody import as_nobody

import probescope
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat import options as o
from probescope.kernel import tracefs
from probescope.kernel.leftovers import leftovers, reap

OURS = (sys.executable, "-m", "probescope", "ftrace")
CALLS = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **args)
{
	if (n > 2 && !fork()) { syscall(SYS_getppid); return 0; }
	for (long i = atol(args[1]); i; i--) syscall(SYS_getppid);
	if (n > 2) wait(0);
	return 7;
}
"""
GETPPID = ("-e", "syscalls:sys_enter_getppid")
SPIN = "import os\nwhile True: os.getppid()"


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("calls")
    (folder / "calls.c").write_text(CALLS)
    subprocess.run(["gcc", "-O1", "-o", str(folder / "calls"), str(folder / "calls.c")], check=True)
    return str(folder / "calls")


def run(*args, code=0, **more):
    done = subprocess.run([*OURS, *args], capture_output=True, text=True, timeout=300, check=False, **more)
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    return done


def record(path, *args, code=7):
    return run("record", "-o", str(path), *args, code=code).stderr


def count(path):
    """Events by name."""
    out = {}
    with open_tracedat(str(path)) as recording:
        assert not recording.damage
        for batch in recording.batches():
            for index in batch.event.tolist():
                name = recording.events[index].name
                out[name] = out.get(name, 0) + 1
    return out


def instances():
    """Those that tests of this file make; others come and go."""
    return {"probescope", "exits", "somebody-elses"} & set(os.listdir(tracefs.find_root() + "/instances"))


@pytest.fixture(autouse=True)
def nothing_stays():
    before = instances(), tracefs.read("set_event"), tracefs.read("trace_options")
    yield
    subprocess.run([*OURS, "reset", "-q", "-a"], capture_output=True, check=False)
    while any(not item.alive for item in leftovers()):
        reap()
    assert (instances(), tracefs.read("set_event"), tracefs.read("trace_options")) == before


def test_every_call_is_there(tmp_path, calls):
    """200,000 system calls, on buffers that hold 20,000: all are read in time; the command's exit code is ours."""
    path = tmp_path / "t.dat"
    told = record(path, *GETPPID, "-F", calls, "200000")
    assert count(path) == {"syscalls:sys_enter_getppid": 200_000}
    assert "200,000 events" in told
    assert "LOST" not in told
    assert [p.name for p in tmp_path.iterdir()] == ["t.dat"]


def test_children_only_with_c(tmp_path, calls):
    path = tmp_path / "t.dat"
    record(path, *GETPPID, "-F", calls, "10", "child")
    assert count(path) == {"syscalls:sys_enter_getppid": 10}
    record(path, *GETPPID, "-F", "-c", calls, "10", "child")
    assert count(path) == {"syscalls:sys_enter_getppid": 11}


def test_what_has_no_room_is_counted(tmp_path, calls):
    """Looked at once in ten minutes: what was lost and what was read is all there was."""
    path = tmp_path / "t.dat"
    told = record(path, *GETPPID, "-F", "-b", "64", "-s", "600000000", calls, "50000")
    lost = sum(int(n.replace(",", "")) for n in re.findall(r"LOST: ([\d,]+) events of CPU \d+", told))
    assert lost > 40_000
    assert count(path)["syscalls:sys_enter_getppid"] + lost == 50_000
    stats = run("report", "--stat", str(path)).stdout
    assert sum(map(int, re.findall(r"^overrun: (\d+)$", stats, re.MULTILINE))) == lost


def test_the_latest_are_kept(tmp_path, calls):
    """-m 200: of 100,000 calls the last ones, at most 200 KB of each CPU."""
    path = tmp_path / "t.dat"
    told = record(path, *GETPPID, "-F", "-m", "200", "--compression", "none", calls, "100000")
    kept = count(path)["syscalls:sys_enter_getppid"]
    assert 1000 < kept < 50_000
    with open_tracedat(str(path)) as recording:
        assert 0 < max(cpu.size for b in recording.buffers for cpu in b.cpus) <= 200 << 10
    assert "older events were left out" in told


def test_filters_triggers_and_negation(tmp_path, calls):
    """An event filter; an event that is switched off again; a stack with each."""
    path = tmp_path / "t.dat"
    record(path, "-e", "syscalls:sys_enter_getp*", "-f", "common_pid > 0", "-R", "stacktrace:3", "-v", "-e",
           "syscalls:sys_enter_getpid", "-F", calls, "100")  # fmt: skip
    assert count(path) == {"syscalls:sys_enter_getppid": 100, "ftrace:kernel_stack": 3}
    record(path, *GETPPID, "-f", "common_pid == 1", "-F", calls, "100")
    assert count(path) == {}


def test_several_buffers(tmp_path, calls):
    """Each has its own events; trace-cmd's names of files and buffers."""
    path = tmp_path / "t.dat"
    record(path, *GETPPID, "-B", "exits", "-e", "syscalls:sys_exit_getppid", "-b", "500", "-F", calls, "100")
    with open_tracedat(str(path)) as recording:
        assert [b.name for b in recording.buffers] == ["", "exits"]
        found = {}
        for batch in recording.batches():
            for index, buffer in zip(batch.event.tolist(), batch.numbers["buffer"].tolist(), strict=True):
                found.setdefault(buffer, set()).add(recording.events[index].name)
    assert found == {0: {"syscalls:sys_enter_getppid"}, 1: {"syscalls:sys_exit_getppid"}}


def test_what_else_is_in_the_file(tmp_path, calls):
    """The time of day, where the program is mapped, which clock, and for how long."""
    path = tmp_path / "t.dat"
    before = time.time()
    record(path, *GETPPID, "-F", "--date", "--proc-map", "-C", "mono", "--file-version", "6", calls, "10")
    after = time.time()
    with open_tracedat(str(path)) as recording:
        assert (recording.contents.version, recording.clock) == (6, "mono")
        times = [t for batch in recording.batches() for t in (batch.time / 1e9).tolist()]
        (maps,) = [o.text(d) for d in recording.option(o.PROCMAPS)]
    assert before - 0.01 < times[0] <= times[-1] < after + 0.01
    assert f" {calls}\n" in maps.partition("\n")[0] + "\n"
    assert any(line.endswith("libc.so.6") for line in maps.splitlines())


def test_as_another_user(tmp_path):
    path = tmp_path / "t.dat"
    done = run("record", "-o", str(path), *GETPPID, "--user", "nobody", "sh", "-c", "id -un; echo $HOME")
    assert done.stdout.split()[0] == "nobody"
    assert "no user 'no-such'" in run("record", *GETPPID, "--user", "no-such", "true", code=2).stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_with_a_file(tmp_path, number, code):
    """Also where the command minds SIGTERM not at all."""
    path = tmp_path / "t.dat"
    script = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\n{SPIN}"
    command = [*OURS, "record", "-q", "-o", str(path), *GETPPID, "-b", "100", "-F", sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 120
        while not sum(p.stat().st_size for p in tmp_path.glob("t.dat.cpu*")) and time.monotonic() < deadline:
            os.sched_yield()
        process.send_signal(number)
        assert process.wait(300) == code
    assert count(path)["syscalls:sys_enter_getppid"] > 0
    assert subprocess.run(["pgrep", "-f", str(path)], check=False).returncode == 1


def test_two_do_not_record_into_one_file(tmp_path, calls):
    """The second is told, before anything of the first is lost."""
    path = tmp_path / "t.dat"
    command = [*OURS, "record", "-q", "-o", str(path), *GETPPID, "-F", "sh", "-c", f"echo on; read go; exec {calls} 50"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "on\n"
        for more in ((), ("-m", "100")):
            assert "another process records into it" in record(path, *GETPPID, *more, "-F", calls, "9", code=2)
        first.communicate("go\n", timeout=300)
        assert first.returncode == 7
    assert count(path)[GETPPID[1]] >= 50
    assert os.listdir(tmp_path) == ["t.dat"]


def test_killed_leaves_pages_that_become_a_file(tmp_path):
    """The instance goes by itself; what was recorded is put together by restore."""
    path = tmp_path / "t.dat"
    command = [*OURS, "record", "-o", str(path), *GETPPID, "-b", "100", "-F", sys.executable, "-c", SPIN]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not sum(p.stat().st_size for p in tmp_path.glob("t.dat.cpu*")) and time.monotonic() < deadline:
            os.sched_yield()
        process.kill()
    while any(item.pid == process.pid for item in leftovers()) and time.monotonic() < deadline:
        os.sched_yield()
    assert not any(item.pid == process.pid for item in leftovers())
    run("restore", "-o", str(path), *map(str, sorted(tmp_path.glob("t.dat.cpu*"))))
    assert count(path)["syscalls:sys_enter_getppid"] > 0


def test_started_stays_until_reset(tmp_path, calls):
    """start, mark, stat, show, set, stop, restart, extract, reset; a run in between reaps nothing of it."""
    other = ("-B", "exits", "-e", "syscalls:sys_exit_getppid")
    assert "on until probescope ftrace reset" in run("start", *GETPPID, *other, "-F", calls, "5", code=7).stderr
    probescope.marker("halfway there")
    run("mark", "-B", "exits", "in", "the", "other")
    assert "was started already" in run("start", *GETPPID, code=1).stderr
    assert not reap()
    stat = {s["buffer"]: s for s in json.loads(run("stat", "-f", "json").stdout)}
    assert stat["probescope"]["events"] == [{"name": GETPPID[1], "filter": "", "triggers": []}]
    assert sum(cpu["entries"] for cpu in stat["exits"]["cpus"]) == 6
    shown = run("show").stdout
    assert shown.count("sys_getppid()") == 5
    assert "tracing_mark_write: halfway there" in shown
    assert "in the other" in run("show", "-B", "exits").stdout
    run("stop", "-a")
    assert "HINT: probescope ftrace restart -B exits\n" in run("mark", "-B", "exits", "lost", code=2).stderr
    assert "HINT: probescope ftrace restart\n" in run("mark", "lost", code=2).stderr
    assert run("show", "--tracing_on").stdout == "0\n"
    run("restart", "-a")
    path = tmp_path / "e.dat"
    run("extract", "-a", "-o", str(path))
    assert count(path) == {GETPPID[1]: 5, "syscalls:sys_exit_getppid": 5, "ftrace:print": 2}
    assert run("show", "--tracing_on").stdout == "1\n"
    assert "exits: gone" in run("reset", "-B", "exits").stderr
    assert "exits" not in instances()
    run("reset")
    assert "no trace was started" in run("reset", code=1).stderr


def test_a_loss_is_told_by_the_extract_that_it_is_of(tmp_path, calls):
    """The kernel's counts go on; what is told of the second is what came after the first."""
    run("start", "-B", "small", *GETPPID, "-b", "8", "-F", calls, "3000", code=7)
    try:
        path = tmp_path / "e.dat"
        assert "LOST" in (first := run("extract", "-B", "small", "-o", str(path)).stderr)
        assert not re.search(r": 0 events", first)
        assert "LOST" not in (second := run("extract", "-B", "small", "-o", str(path)).stderr)
        assert ": 0 events" in second
    finally:
        run("reset", "-B", "small")


def test_set_changes_what_was_started():
    run("start", "-q", *GETPPID)
    run("set", "-e", "sched:sched_process_fork", "-f", "child_pid > 0", "-v", *GETPPID)
    (stat,) = json.loads(run("stat", "-f", "json").stdout)
    assert [(e["name"], e["filter"]) for e in stat["events"]] == [("sched:sched_process_fork", "child_pid > 0")]
    assert stat["on"]
    assert "no trace other was started" in run("set", "-B", "other", *GETPPID, code=1).stderr


def test_an_instance_of_others_is_left_alone():
    path = f"{tracefs.find_root()}/instances/somebody-elses"
    os.mkdir(path)
    try:
        assert "not started by probescope" in run("start", "-B", "somebody-elses", *GETPPID, code=1).stderr
        assert "no trace" in run("reset", "-B", "somebody-elses", code=1).stderr
        assert os.path.isdir(path)
        assert tracefs.read("set_event", path) == ""
    finally:
        os.rmdir(path)


def test_stream_prints_while_it_runs(calls):
    done = run("stream", *GETPPID, "-F", calls, "3", code=7)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(r" +calls-\d+ +\[\d+\] \S+ +\d+\.\d{6}: sys_enter_getppid: *", line) for line in lines)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("-e", "sched:sched_swich"), 1, ("no event sched:sched_swich", "sched:sched_switch")),
        (("-e", "sched:sched_switch", "-f", "prev_pdi == 1"), 1, ("Field not found", "prev_pid", "\n               ^")),
        (("-e", "sched:sched_switch", "-R", "stacktrac"), 1, ("no command stacktrac", "did you mean stacktrace")),
        (("-e", "sched:sched_switch", "-R", "stacktrace if prev_pdi == 1"), 1, ("Field not found", "^", "prev_pid")),
        (("-e", "sched", "-C", "mona"), 2, ("no trace clock mona", "mono")),
        (("-e", "sched", "-O", "sym-ofset"), 2, ("no trace option sym-ofset", "sym-offset")),
        (("-p", "functoin", "-l", "x"), 2, ("no tracer functoin",)),
        (("-e", "sched", "-o", "/dev/full"), 2, ("no regular file",)),
        (("-e", "sched", "-o", ""), 2, ("name of the file is empty",)),
        (("-e", "sched", "-M", "0"), 2, ("has no CPU",)),
        (("-e", "sched", "-M", "f" * 16 + "," + "f" * 8), 2, ("this machine has not", " -M ")),
        (("-e", "sched", "-o", "/nowhere/t.dat"), 2, ("cannot write /nowhere/t.dat.cpu",)),
    ],
)
def test_mistakes_teach(args, code, words):
    err = run("record", *args, "true", code=code).stderr
    assert err.startswith("ERROR: ")
    for word in words:
        assert word in err


@pytest.mark.parametrize("command", ["record", "stream", "start", "set"])
def test_a_process_that_is_not_there_is_not_waited_for(command):
    """Told before anything is made: of it nothing would ever come."""
    run("start", "-q", "-B", "exits", *GETPPID)
    more = ("-B", "exits", *GETPPID, "-P", f"{os.getpid()},4194303")
    assert "there is no process 4194303" in run(command, *more, code=2).stderr
    assert "there is no process 4194303" not in run("set", "-B", "exits", *GETPPID, "-P", str(os.getpid())).stderr
    run("reset", "-B", "exits")


def test_a_missing_event_may_be_passed_over(tmp_path, calls):
    path = tmp_path / "t.dat"
    record(path, "-i", "-e", "no:such", *GETPPID, "-F", calls, "3")
    assert count(path) == {GETPPID[1]: 3}


def test_without_tracefs_it_is_said_plainly():
    """Read-only, unmounted, and for users who may not see it."""
    read_only = "mount -o remount,bind,ro /sys/kernel/tracing && exec"
    command = [*OURS, "record", "-e", "sched", "true"]
    done = subprocess.run(["unshare", "-m", "sh", "-c", f'{read_only} "$@"', "sh", *command], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert "mounted read-only" in done.stderr
    assert "probescope record -e" in done.stderr
    for command in ("stat", "show", "stop", "reset", "extract"):  # not: no trace was started, which they cannot know
        done = subprocess.run([*as_nobody(), "ftrace", command], capture_output=True, text=True, check=False)
        assert "sudo" in done.stderr


def test_what_a_buffer_has_not():
    """No CPU of that number, no snapshots: that, and not that sysfs be mounted."""
    assert "there is no CPU 999" in run("show", "-t", "-c", "999", code=2).stderr
    assert "there is no CPU -1" in run("show", "-t", "-c", "-1", code=2).stderr
    if not Path(f"{tracefs.find_root()}/snapshot").exists():
        assert "takes no snapshots" in run("show", "-t", "-s", code=2).stderr


def test_words_need_not_be_unicode(tmp_path, calls):
    """A filter's byte 0xff is compared as it is, and a mark's written: neither is a bug."""
    path = tmp_path / "t.dat"
    record(path, "-e", "sched:sched_process_exec", "-f", b'filename == "\xff"', "--", calls, "1")
    assert count(path) == {}
    run("start", "-q", "-B", "exits", *GETPPID)  # the top buffer may be off
    run("mark", "-B", "exits", b"\xff")
    shown = subprocess.run([*OURS, "show", "-B", "exits"], capture_output=True, timeout=300, check=True).stdout
    assert b"tracing_mark_write: \xff\n" in shown
    run("reset", "-q", "-B", "exits")


def test_list(calls):
    assert run("list", "-t").stdout.split() == sorted(tracefs.tracers())
    assert "sched:sched_switch\n" in run("list", "-e", "sched").stdout
    assert run("list", "-e", "^sched:.*switch$").stdout == "sched:sched_switch\n"
    assert "field:pid_t prev_pid;" in run("list", "-e", "sched_switch", "-F").stdout
    found = json.loads(run("list", "--format", "json").stdout)
    assert set(found) == {"tracers", "options", "clocks", "buffers", "compressions"}


def test_check_events_knows_which():
    """Those of this kernel that are printed field by field are few, and named."""
    done = run("check-events", code=1) if Path("/sys/kernel/tracing/events/kvmmmu").exists() else run("check-events")
    assert len(done.stdout.splitlines()) < 50


def full(*args, code, **more):
    """With room for 100 kB in any file: pages of few events fit, a trace.dat with its formats and symbols does not."""
    words = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *OURS, *args]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_full_disk_is_named_and_left_no_fuller(tmp_path, calls):
    """No half of a file stays; what was taken out of the buffers does, and becomes a file where there is room."""
    path = tmp_path / "t.dat"
    record(path, *GETPPID, "-F", calls, "100")
    assert "cannot write " in (err := full("split", "-i", str(path), "-o", f"{path}.p", code=1))
    assert "t.dat.p.1: File too large" in err
    assert os.listdir(tmp_path) == ["t.dat"]
    path.unlink()

    run("start", "-B", "filled", *GETPPID, "-F", "--", calls, "100", code=7)
    try:
        err = full("extract", "-B", "filled", "-o", str(path), code=1)
        assert "probescope ftrace restore" in err
        assert not path.exists()
        assert not list(tmp_path.glob("*.part*"))
        pages = [str(p) for p in sorted(tmp_path.iterdir())]
        run("restore", "-o", str(path), *pages)
    finally:
        run("reset", "-B", "filled")
    assert count(path) == {GETPPID[1]: 100}
