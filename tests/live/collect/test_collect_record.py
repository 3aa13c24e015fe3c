"""``probescope record`` on this kernel: nothing is lost untold, however it ends there is a file, and its options do
what they say."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from nobody import as_nobody

from probescope.formats.perfdata import open_perfdata
from probescope.formats.symbolfile import SymbolFile
from probescope.model.recording import LostEvents, Named

OURS = (sys.executable, "-m", "probescope")
CALLS = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int n, char **args) { for (long i = atol(args[1]); i; i--) syscall(SYS_getppid); return 7; }
"""
SPIN = "import os\nwhile True: os.getppid()"
GETPPID = ("-e", "syscalls:sys_enter_getppid")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("calls")
    (folder / "calls.c").write_text(CALLS)
    subprocess.run(["gcc", "-O1", "-o", str(folder / "calls"), str(folder / "calls.c")], check=True)
    return str(folder / "calls")


def record(*args: str, code: int = 0) -> str:
    """What it said."""
    done = subprocess.run([*OURS, "record", *args], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


class Found:
    """What is in a recording."""

    def __init__(self, path: Path) -> None:
        self.samples = self.lost = 0
        self.names: set[str] = set()
        self.tids: set[int] = set()
        with open_perfdata(str(path)) as recording:
            for batch in recording.batches():
                self.samples += batch.count
                self.tids |= set(batch.tid.tolist())
                for _, side in batch.between:
                    self.lost += side.count if isinstance(side, LostEvents) else 0
                    if isinstance(side, Named):
                        self.names.add(side.comm)
            self.damage = {d.kind for d in recording.damage}


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.01)


def more_than(count: int, folder: Path) -> bool:
    return len(list(folder.glob("perf.data.*"))) > count


WAITING = """
import os, sys
for line in sys.stdin:
    for _ in range(int(line)):
        os.getppid()
    print("done", flush=True)
"""


class Worker:
    """A process that makes as many calls as it is told to, and says when it has."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", WAITING]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self._process.pid

    def work(self, count: int) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        assert self._process.stdout.readline() == "done\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


class Channel:
    """Commands for a recorder, each answered before the next."""

    def __init__(self, folder: Path) -> None:
        self._ctl, self._ack = folder / "ctl", folder / "ack"
        os.mkfifo(self._ctl)
        os.mkfifo(self._ack)
        self.option = ("--control", f"fifo:{self._ctl},{self._ack}")

    def say(self, *commands: str) -> None:
        with open(self._ctl, "w", buffering=1) as ctl, open(self._ack) as ack:
            for command in commands:
                ctl.write(command + "\n")
                assert ack.readline() == "ack\n"


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []

    def start(*args: str) -> subprocess.Popen[str]:
        one = subprocess.Popen([*OURS, "record", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(one)
        return one

    yield start
    for one in running:
        one.kill()
        one.communicate()


# --- losses


@pytest.mark.parametrize("after", [0, 10], ids=["to the end", "and more"])
def test_received_and_lost_are_what_was_produced(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], after: int
) -> None:
    """The recorder is stopped while 50,000 events come into a ring of 16 pages: each of those that found no room is
    told, in the file and at the end. The kernel tells of them when there is room again; if nothing comes any more, we
    have to."""
    path, channel = tmp_path / "perf.data", Channel(tmp_path)
    with Worker() as worker:
        one = started("-o", str(path), "-m", "16", *GETPPID, "-p", str(worker.pid), *channel.option)
        channel.say("ping")
        one.send_signal(signal.SIGSTOP)
        worker.work(50_000)
        one.send_signal(signal.SIGCONT)
        channel.say("ping")
        worker.work(after)
    _, said = one.communicate(timeout=300)
    found = Found(path)
    assert found.lost > 40_000
    assert found.samples + found.lost == 50_000 + after
    assert f"{found.lost} samples were lost: -m 64" in said
    assert f"({found.samples} samples)" in said


def test_nothing_is_lost_in_rings_that_are_large_enough(tmp_path: Path, calls: str) -> None:
    path = tmp_path / "perf.data"
    said = record("-o", str(path), "-m", "64M", *GETPPID, "--", calls, "200000", code=7)
    found = Found(path)
    assert (found.samples, found.lost) == (200_000, 0)
    assert "samples were lost" not in said


def test_a_consumer_that_stands_still_loses_nothing(tmp_path: Path) -> None:
    """25 MB and more come through rings of 1, by half of what a ring holds each time, and nobody reads the pipe that
    they go to until all are there: they wait in memory. What is told at the start has room in the pipe."""
    options = ("-o", "-", "-m", "1M", "-e", "raw_syscalls:sys_enter", "-g")
    pipe, end = os.pipe()
    fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 1 << 20)
    channel, timed = Channel(tmp_path), ("timeout", "--foreground", "-s", "KILL", "120")
    with Worker() as worker:
        command = [*timed, *OURS, "record", *options, *channel.option, "-p", str(worker.pid)]
        with subprocess.Popen(command, stdout=end, stderr=subprocess.PIPE) as one:
            os.close(end)
            channel.say("ping")
            for _ in range(140):
                worker.work(1500)
                channel.say("ping")  # what was there at the ping before has been taken
            channel.say("stop")
            with open(pipe, "rb") as f:
                (tmp_path / "perf.data").write_bytes(f.read())
            _, said = one.communicate()
    found = Found(tmp_path / "perf.data")
    assert found.samples >= 210_000
    assert (tmp_path / "perf.data").stat().st_size > 25_000_000
    assert (found.lost, b"samples were lost" in said) == (0, False)


def test_the_command_is_not_before_others(tmp_path: Path) -> None:
    """The recorder is, where that is allowed."""
    done = subprocess.run(
        [*OURS, "record", "-o", str(tmp_path / "perf.data"), "-q", "--", "sh", "-c", "nice; ps -o ni= -p $PPID"],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    ours = os.getpriority(os.PRIO_PROCESS, 0)  # tests may run behind others themselves
    assert list(map(int, done.stdout.split())) == [ours, min(ours, -10)]


# --- endings


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_well(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], number: int, code: int
) -> None:
    """The file is whole, the command is ended too."""
    path = tmp_path / "perf.data"
    one = started("-o", str(path), *GETPPID, "--", sys.executable, "-c", SPIN)
    until(lambda: path.exists() and path.stat().st_size > 100_000)
    one.send_signal(number)
    _, said = one.communicate(timeout=300)
    assert one.returncode == code, said
    found = Found(path)
    assert found.samples > 1000
    assert not found.damage
    assert not any(os.path.exists(f"/proc/{tid}") for tid in found.tids)


@pytest.mark.parametrize("event", [GETPPID, ("-e", "cpu-clock", "-F", "20000")], ids=["tracepoint", "clock"])
def test_killed_it_leaves_a_file_that_can_be_read(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], event: tuple[str, ...]
) -> None:
    """SIGKILL: we read all that is there, perf (which needs a whole header for tracepoints) what the last header tells,
    which may be a second old. The command is ended by the kernel."""
    path = tmp_path / "perf.data"
    one = started("-o", str(path), *event, "--", sys.executable, "-c", SPIN)
    until(lambda: path.exists() and path.stat().st_size > 50_000)
    until(lambda: int.from_bytes(path.read_bytes()[48:56], "little") > 50_000)
    one.kill()
    one.communicate()
    found = Found(path)
    assert found.samples > 500
    assert "unfinished" in found.damage
    if shutil.which("perf") and "cpu-clock" in event:
        command = ["perf", "script", "-i", str(path)]
        text = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False).stdout
        assert 500 < text.count("cpu-clock:") <= found.samples
    until(lambda: not any(os.path.exists(f"/proc/{tid}") for tid in found.tids))


def test_what_is_there_by_then_is_kept(tmp_path: Path) -> None:
    """The file of before becomes NAME.old, as with perf."""
    path = tmp_path / "perf.data"
    record("-o", str(path), "-e", "page-faults", "--", "true")
    first = path.read_bytes()
    record("-o", str(path), "-e", "page-faults", "--", "true")
    assert (tmp_path / "perf.data.old").read_bytes() == first


@pytest.mark.parametrize(("command", "code"), [(("sh", "-c", "exit 5"), 5), (("sh", "-c", "kill -SEGV $$"), 139)])
def test_exit_codes_are_the_commands(tmp_path: Path, command: tuple[str, ...], code: int) -> None:
    record("-o", str(tmp_path / "x"), "-e", "page-faults", "--", *command, code=code)


def test_max_size(tmp_path: Path) -> None:
    """The command is ended, by SIGTERM as perf does."""
    path = tmp_path / "perf.data"
    said = record("-o", str(path), *GETPPID, "--max-size", "300K", "--", sys.executable, "-c", SPIN, code=143)
    assert "size limit reached" in said
    assert 300 << 10 <= path.stat().st_size < 30 << 20
    assert Found(path).samples > 1000


# --- control, files


def test_commands_while_it_records(tmp_path: Path, started: Callable[..., subprocess.Popen[str]]) -> None:
    """``-D -1 --control``: nothing before enable and after disable, an ack for each command."""
    path, channel = tmp_path / "perf.data", Channel(tmp_path)
    with Worker() as worker:
        one = started("-D", "-1", "-o", str(path), *GETPPID, "-p", str(worker.pid), *channel.option)
        channel.say("ping")
        worker.work(1000)
        channel.say("enable")
        worker.work(200)
        channel.say("disable")
        worker.work(1000)
        channel.say("enable syscalls:sys_enter_getppid")
        worker.work(30)
        channel.say("stop")
    _, said = one.communicate(timeout=300)
    assert one.returncode == 0, said
    assert Found(path).samples == 230


def test_commands_from_descriptors_that_nobody_gave(tmp_path: Path) -> None:
    """Those that it opens itself get such numbers: none of them is a channel."""
    for fd in range(3, 12):
        said = record("-o", str(tmp_path / "perf.data"), *GETPPID, "--control", f"fd:{fd}", "--", "true", code=2)
        assert f"cannot use the control channel fd:{fd}: Bad file descriptor" in said


def test_another_file_after_each_megabyte(tmp_path: Path) -> None:
    """The last two are kept, each can be read by itself, with the names of tasks."""
    out = tmp_path / "perf.data"
    options = (
        "-o",
        str(out),
        *GETPPID,
        "--switch-output=1M",
        "--switch-max-files",
        "2",
        "--max-size",
        "5M",
        "-m",
        "64",
    )
    said = record(*options, "--", sys.executable, "-c", SPIN, code=143)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2, said
    assert all(re.fullmatch(r"perf\.data\.\d{16}", f.name) for f in files)
    for f, least in zip(files, (1000, 0), strict=True):  # a busy machine may not have let it run in between
        found = Found(f)
        assert found.samples >= least
        assert os.path.basename(sys.executable)[:15] in found.names


def test_another_file_each_time_that_something_happens(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    """``--switch-output-event``: of any task; it is not in the recording."""
    channel = Channel(tmp_path)
    asked = ("--switch-output-event", "syscalls:sys_enter_acct", "-o", str(tmp_path / "perf.data"))
    with Worker() as worker:
        one = started(*asked, *GETPPID, "-p", str(worker.pid), *channel.option)
        channel.say("ping")
        for count in (1, 2):
            worker.work(1000)
            subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL(None).acct(b'/nowhere')"], check=True)
            until(partial(more_than, count - 1, tmp_path))
        worker.work(10)
        channel.say("stop")
        _, said = one.communicate(timeout=300)
    files = sorted(tmp_path.glob("perf.data.*"))
    assert [Found(f).samples for f in files] == [1000, 1000, 10], said


def test_options_that_change_nothing(tmp_path: Path) -> None:
    said = record("--threads=cpu", "--no-bpf-event", "-o", str(tmp_path / "perf.data"), "true")
    assert "--threads: one thread reads all rings" in said


def test_all_tracepoints(tmp_path: Path) -> None:
    """But the one that the kernel lets nobody sample; named alone, it is refused with the reason."""
    record("-o", str(tmp_path / "perf.data"), "-e", "irq_vectors:*", "true")
    said = record("-o", str(tmp_path / "perf.data"), "-e", "irq_vectors:irq_work_exit", "true", code=1)
    assert "each sample would cause the next" in said


def test_the_last_moments_at_a_signal(tmp_path: Path, started: Callable[..., subprocess.Popen[str]]) -> None:
    """``--overwrite --switch-output``: each SIGUSR2 leaves a file with what came last, and nothing of the file
    before."""
    out, channel = tmp_path / "perf.data", Channel(tmp_path)
    options = ("--overwrite", "--switch-output", "-m", "16", *GETPPID, *channel.option)
    with Worker() as worker:
        one = started("-o", str(out), *options, "-p", str(worker.pid))
        channel.say("ping")
        for n, calls in enumerate((50_000, 200)):
            worker.work(calls)
            one.send_signal(signal.SIGUSR2)
            until(partial(more_than, n, tmp_path))
        worker.work(20)
        one.send_signal(signal.SIGINT)
        one.communicate(timeout=300)
    found = [Found(f) for f in sorted(tmp_path.glob("perf.data.*"))]
    assert 300 < found[0].samples < 2000
    assert [f.samples for f in found[1:]] == [200, 20]
    assert not any(f.damage for f in found)


def test_files_of_others_stay_as_they_are() -> None:
    """/dev/null is no file to be read again, nor to have symbols beside it, and everybody may go on using it."""
    before = os.stat("/dev/null")
    record("-g", "-o", "/dev/null", "--", "true")
    after = os.stat("/dev/null")
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert not os.path.exists("/dev/null.symbols")


def test_a_full_disk(tmp_path: Path) -> None:
    """It says so, ends the command, and what was written can be read."""
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "nodev", tmp_path]).returncode:  # noqa: PLW1510
        pytest.skip("no file system can be mounted here")
    try:
        said = record("-o", str(tmp_path / "x"), *GETPPID, "--", sys.executable, "-c", SPIN, code=1)
        found = Found(tmp_path / "x")
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert "No space left on device" in said
    assert found.samples > 1000
    assert not any(os.path.exists(f"/proc/{tid}") for tid in found.tids)


def test_what_cannot_be_written_has_a_name() -> None:
    assert "ERROR: cannot write /dev/full: No space left on device" in record("-o", "/dev/full", "true", code=1)


def test_probes_of_a_recording(tmp_path: Path) -> None:
    """Samples of a clock are those of profile too; programs that say so run."""
    path = str(tmp_path / "perf.data")
    record("-o", path, "-e", "cpu-clock,raw_syscalls:sys_enter", "true")
    listed = subprocess.run([*OURS, "run", "-i", path, "-l"], capture_output=True, text=True, check=True)
    assert {"profile:hz:", "software:cpu-clock", "tracepoint:raw_syscalls:sys_enter"} <= set(listed.stdout.split())


def test_only_we_may_read_it(tmp_path: Path) -> None:
    """Nor are the names of programs beside it anybody's."""
    record("-o", str(tmp_path / "x"), "-e", "page-faults", "--", "true")
    for name in ("x", "x.symbols"):
        assert os.stat(tmp_path / name).st_mode & 0o777 == 0o600


# --- whom


#: Calls getppid itself until the process that is watched has had a processor for 20 ms (fields 14 and 15, ticks of
#: 10 ms): on a busy machine it may have none for as long as a command takes.
UNTIL_IT_RAN = """
import os, sys
def ran():
    return sum(map(int, open(f"/proc/{sys.argv[1]}/stat").read().rpartition(")")[2].split()[11:13]))
until = ran() + 2
while ran() < until:
    os.getppid()
sys.exit(7)
"""


def test_targets(tmp_path: Path) -> None:
    """A process by -p, a thread by -t: only that one."""
    path = tmp_path / "perf.data"
    with subprocess.Popen([sys.executable, "-c", "print(1, flush=True)\n" + SPIN], stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout is not None
            one.stdout.readline()
            watch = (sys.executable, "-c", UNTIL_IT_RAN, str(one.pid))
            for option in ("-p", "-t"):
                record("-o", str(path), *GETPPID, option, str(one.pid), "-m", "512", "--", *watch, code=7)
                assert Found(path).tids == {one.pid}
        finally:
            one.kill()


def test_it_ends_with_its_process(tmp_path: Path, started: Callable[..., subprocess.Popen[str]]) -> None:
    path = tmp_path / "perf.data"
    with subprocess.Popen([sys.executable, "-c", SPIN]) as one:
        recorder = started("-o", str(path), *GETPPID, "-p", str(one.pid))
        until(lambda: path.exists() and path.stat().st_size > 100_000)
        one.kill()
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == 0, said
    assert Found(path).samples > 100


def test_filters(tmp_path: Path, calls: str) -> None:
    """Two are ANDed; what a filter leaves out does not come."""
    path = tmp_path / "perf.data"
    filters = ("--filter", f"id == {110 if os.uname().machine == 'x86_64' else 173}", "--filter", "common_pid > 0")
    record("-o", str(path), "-m", "16M", "-e", "raw_syscalls:sys_enter", *filters, "--", calls, "5000", code=7)
    assert Found(path).samples == 5000


def test_delay(tmp_path: Path) -> None:
    """What a command does first is not recorded; names of its tasks are."""
    path = tmp_path / "perf.data"
    record("-o", str(path), *GETPPID, "-D", "200", "--", sys.executable, "-c", "import os; os.getppid()")
    found = Found(path)
    assert found.samples == 0
    assert os.path.basename(sys.executable)[:15] in found.names


# --- what is saved beside


def test_symbols_beside_the_file(tmp_path: Path) -> None:
    """Of the kernel and of the files that were hit; only what is needed, so it is small."""
    path = tmp_path / "perf.data"
    record("-o", str(path), "-g", "-F", "5000", "--", sys.executable, "-c", "sum(i * i for i in range(3000000))")
    with open(f"{path}.symbols", "rb") as f:
        saved = SymbolFile(f)
        tables = {e.kind: saved.table(e) for e in saved.entries}
        names = {n for e in saved.entries for n in saved.table(e).names}
    assert "_PyEval_EvalFrameDefault" in names
    assert "kernel" in tables
    assert os.stat(f"{path}.symbols").st_size < 100_000


def test_no_symbols(tmp_path: Path) -> None:
    record("-o", str(tmp_path / "perf.data"), "-g", "--no-symbols", "--", "true")
    assert [f.name for f in tmp_path.iterdir()] == ["perf.data"]


# --- what this machine lacks


def test_no_hardware(tmp_path: Path) -> None:
    """Without cycles, as perf finds out too, there are clock samples, and a line that says so."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    counted = subprocess.run(
        ["perf", "stat", "-e", "cycles", "true"], capture_output=True, text=True, timeout=300, check=False
    )
    said = record("-o", str(tmp_path / "perf.data"), "--", "true")
    told = "[ probescope record: this machine has no cycles: cpu-clock instead ]"
    assert (said.splitlines()[0] == told) == ("<not supported>" in counted.stderr)


def test_without_privileges() -> None:
    """Our own user space, in the memory that everybody may lock; and what is refused is explained."""

    def refused(*args: str) -> str:
        done = subprocess.run([*as_nobody(), "record", *args], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 1, done.stderr
        return done.stderr

    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level < 1:
        pytest.skip("this kernel allows everybody everything")
    done = subprocess.run(
        [*as_nobody(), "record", "-e", "cpu-clock", "-o", "-", "--", "/bin/true"],
        capture_output=True,
        timeout=300,
        check=False,
    )
    if level == 2:
        assert done.returncode == 0, done.stderr
        assert b"only user space is sampled (cpu-clock:u)" in done.stderr
        assert "516 KiB" in refused("-e", "cpu-clock", "-m", "4096", "-o", "-", "--", "/bin/true")
    assert "kernel.perf_event_paranoid" in refused("-a", "-e", "cpu-clock", "-o", "-", "--", "/bin/true")


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (("-e", "nosuch", "--", "true"), 1, "there is no event 'nosuch'"),
        (("-e", "sched:nosuch", "--", "true"), 1, "there is no tracepoint 'sched:nosuch'"),
        (("-e", "cpu-clock", "--", "/no/such/program"), 2, "no program '/no/such/program'"),
        (("-e", "cpu-clock", "-j", "any", "--", "true"), 1, "cpu-clock: perf_event_open failed"),
        (("-p", "4194304"), 2, "there is no process 4194304"),
        (("-m", "1T", "--", "true"), 2, "-m wants a size"),
        (("-e", "cpu-clock", "--filter", "a == 1", "--", "true"), 2, "a filter belongs to a tracepoint"),
        (
            ("-e", "sched:sched_switch", "--filter", "nosuch == 1", "-a", "--", "true"),
            2,
            "the filter 'nosuch == 1' of sched:sched_switch",
        ),
        (("--call-graph", "magic", "--", "true"), 2, "no call graphs by 'magic'"),
        (("-z23", "--", "true"), 2, "no compression level 23"),
        (("-o", "/no/such/folder/x", "-e", "page-faults", "--", "true"), 2, "cannot write /no/such/folder/x"),
        (("-F", "10", "-c", "10", "--", "true"), 2, "-F and -c cannot both be given"),
        (("-k", "sundial", "--", "true"), 2, "there is no clock 'sundial'"),
        (("--user-regs=nosuch", "--", "true"), 2, "there is no register 'nosuch'"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_mistakes(args: tuple[str, ...], code: int, expected: str, tmp_path: Path) -> None:
    """Named, with what to do; no file is left."""
    where = ("-o", str(tmp_path / "perf.data")) if "-o" not in args else ()
    said = record(*where, *args, code=code)
    assert expected in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
