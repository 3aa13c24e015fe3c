"""``probescope ftrace`` beside trace-cmd: what is recorded here reads there as here, with the same options; files
that are split are split at the same places."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys

import pytest

from probescope.cli.ftrace import main

pytestmark = [
    pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

OURS = (sys.executable, "-m", "probescope", "ftrace")
#: Versions of trace-cmd before 3.3 have no such column.
FLAGS = re.compile(
    r"^(.{16,}?-\d+ +\[\d+\])(?: [dX.][N.][hsHZz.][\da-f.][\da-f.]\d??|-0x[\da-f]+)?( *\d+(?:\.\d+)?:)", re.MULTILINE
)
#: Threads that took another name while they were recorded: where the first event that trace-cmd shows is of the idle
#: task, names in it hide those at the file's end (libtraceevent 1.7 and 1.8 keep both, and find either).
RENAMED = re.compile(r"^( *[\w.]+: )? *(?:python[\d.]*|pytest|sh|sleep|cat)-(?=\d)", re.MULTILINE)
EVENTS = ("-e", "sched:sched_wakeup", "-e", "sched:sched_waking", "-e", "sched:sched_process_exec", "-e", "irq",
          "-e", "syscalls:sys_*_clock_nanosleep", "-e", "syscalls:sys_*_openat")  # fmt: skip


def text(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ours(path, *options):
    """In this process, since a start costs as much as all else."""
    kept, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), errors="surrogateescape")
    try:
        assert main(["report", *options, str(path)]) == 0
        sys.stdout.flush()
        return sys.stdout.buffer.getvalue().decode("utf-8", "surrogateescape")
    finally:
        sys.stdout = kept


def theirs(path, *options):
    return text(["trace-cmd", "report", *options, str(path)])


def both(path, *options):
    """Without the column of flags."""
    return [RENAMED.sub(r"\1renamed-", FLAGS.sub(r"\1\2", one(path, *options))) for one in (ours, theirs)]


def record(path, *options):
    subprocess.run([*OURS, "record", "-q", "-o", str(path), *options, "sh", "-c", "sleep 0.1; cat /etc/passwd"],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("tracecmd") / "t.dat"
    record(path, *EVENTS, "--date")
    return path


def test_the_text(recording):
    mine, other = both(recording)
    assert mine == other
    assert mine.count("\n") > 20


def test_several_files(recording, tmp_path):
    """By time, each line with its file or buffer."""
    path = tmp_path / "two.dat"
    record(path, "-e", "sched:sched_waking", "-B", "other", "-e", "irq", "--date")
    mine, other = both(path, "-i", str(recording), "-i")
    assert mine == other
    assert re.search(r"^ *other: ", mine, re.MULTILINE)
    assert re.search(r"^ *t.dat: cpus=", mine, re.MULTILINE)
    assert mine.count("\n") > 20


def test_what_is_of_one_of_several_files(recording):
    """What follows a file is of it. (Filters before all files are of all of them in trace-cmd 3.3, not in 3.1.)"""
    one = str(recording)
    for options in (["-i", one, "-F", "sched_waking", "-i"],
                    ["-i", one, "-i", one, "--ts-offset", "5000", "-F", "sched_waking: CPU == 0", "-i"],
                    ["-i", one, "-i", one, "--ts2secs", "2000000000", "-i"]):  # fmt: skip
        mine, other = both(recording, *options)
        assert mine == other
        assert mine.count("\n") > 20


@pytest.mark.parametrize(
    "options",
    [
        ["-t"],
        ["--ts-diff"],
        ["-l"],
        ["-I"],
        ["--cpu", "0"],
        ["--nodate"],
        ["--raw-ts"],
        ["-R"],
        ["-r", "sched_wakeup"],
        ["-n", "sched_wakeup"],
        ["-n", "SCHED_WAKE.*"],
        ["-r", r"irq\|sched_wak.*g"],
        ["--ts2secs", "3000000000", "-t"],
        ["-p"],
        ["--first-event", "-t"],
        ["--cpu", "0:1"],
        ["-V1"],
        ["-E"],
        ["--stat"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_options(recording, options):
    """--cpu: in 3.1 counts as filter of every CPU that it names. Where 3.3 tells of the file's data too, it is cut."""
    mine, other = (one.partition("\nCPU0 data recorded")[0].rstrip() for one in both(recording, *options))
    assert mine == other


@pytest.mark.parametrize("version", ["6", "7"])
def test_clocks_that_count(tmp_path, version):
    """What is recorded here says its clock, so that times are counts there too, of events and of CPUs."""
    path = tmp_path / "t.dat"
    record(path, "-e", "sched:sched_waking", "-C", "counter", "--file-version", version)
    for options in ([], ["--raw-ts"], ["--first-event"], ["--last-event", "-t"]):
        mine, other = both(path, *options)
        assert mine == other
        assert not re.search(r"\d\.\d{6}", mine)


@pytest.mark.parametrize("version", ["6", "7"])
def test_differences_of_times(tmp_path, version):
    """Microseconds, as the times are; nanoseconds with -t."""
    path = tmp_path / "t.dat"
    record(path, "-e", "sched:sched_waking", "-C", "mono", "--file-version", version)
    for options in (["--ts-diff"], ["--ts-diff", "-t"], ["--ts-diff", "--raw-ts"], ["--raw-ts", "-t"]):
        mine, other = both(path, *options)
        assert mine == other
        assert mine.count("\n") > 3


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_trace_cmd_dumps_what_is_recorded(recording, tmp_path, compression):
    """It looks at a buffer's section while it reads options."""
    path = tmp_path / "c.dat"
    done = [*OURS, "convert", "-i", str(recording), "-o", str(path), "--compression", compression]
    subprocess.run(done, check=True, capture_output=True)
    dumped = text(["trace-cmd", "dump", "--options", "-i", str(path)])
    assert '"local" [clock]\n4096 [Page size, bytes]\n' in dumped
    assert dumped.count("[id, data offset and size]") == os.cpu_count()


@pytest.mark.parametrize(
    "expression",
    [
        "sched_wakeup: pid > 1",
        "sched: common_pid == 0",
        "sched_wakeup,sched_waking: !(pid == 0) && target_cpu == 0",
        "sched_wakeup: comm =~ 's.*'",
        'sched_wakeup: comm !~ ".*o.*"',
        r'SCHED_WAK.*: comm =~ "^K\(S\|W\)[[:alnum:]]\+"',
        "sched_process_exec: pid & 1",
        "sched: pid == 0 || pid > 1 && CPU == 0",
        "sched_wakeup: !target_cpu == 1 && prio == 0170",
        "irq, sched / sched_wak.* : !(target_cpu == 0) || vec == 1",
        "sys_enter_openat: filename > 0x1000 && dfd == 0xffffff9c",
        "sys_exit_openat: ret > 0xfffffffffffff000",
    ],
)
def test_filters(recording, expression):
    """Those that match, and those that do not."""
    for options in (["-F", expression], ["-v", "-F", expression]):
        mine, other = both(recording, *options)
        assert mine == other


def test_two_buffers(tmp_path):
    path = tmp_path / "t.dat"
    record(path, "-e", "sched:sched_waking", "-B", "others", "-e", "irq", "-e", "sched:sched_process_exec")
    mine, other = (one.replace(" ", "") for one in both(path))
    assert re.sub(r"\][dX.][N.][hsHZz.][\da-f.]{2}\d?(?=\d+\.)", "]", mine) == other


@pytest.mark.parametrize(("version", "compression"), [("6", "none"), ("7", "none"), ("7", "zstd")])
def test_converted(recording, tmp_path, version, compression):
    before = both(recording)[1]
    path = tmp_path / "c.dat"
    done = [*OURS, "convert", "-i", str(recording), "-o", str(path), "--file-version", version]
    subprocess.run([*done, "--compression", compression], check=True, capture_output=True)
    assert both(path) == [before, before]


@pytest.mark.parametrize("options", [["-e", "100", "-r"], ["-m", "20"], ["-u", "5000"]], ids=" ".join)
def test_split(recording, tmp_path, options):
    for tool, name in ((OURS, "ours"), (("trace-cmd",), "theirs")):
        subprocess.run([*tool, "split", "-i", str(recording), *options, "-o", str(tmp_path / name)], check=True,
                       capture_output=True)  # fmt: skip
    names = sorted(p.name.removeprefix("ours") for p in tmp_path.glob("ours*"))
    assert names == sorted(p.name.removeprefix("theirs") for p in tmp_path.glob("theirs*"))
    for name in names:
        assert both(tmp_path / f"ours{name}")[1] == both(tmp_path / f"theirs{name}")[1]


def test_wakeups(tmp_path):
    """Every latency, and their mean and extremes."""
    path = tmp_path / "t.dat"
    record(path, "-e", "sched:sched_switch", "-e", "sched:sched_wakeup*")
    mine, other = (re.findall(r"[Ll]atency: [\d.]+ usecs.*", one) for one in both(path, "-w"))
    assert mine == other
    assert len(mine) > 5
