"""One virtual machine: start it, pass its output on as it comes, end it, say how the command went.

The writable share of the guest is a folder of this host:

    main     the script that the guest runs: environment, working directory, command
    stdout   what the command printed, followed while it runs
    stderr
    started  is there once the guest is up
    exit     the exit code; no such file means that the machine was lost, never that all went well
    console  what the guest's kernel said
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO

from vmtest import initramfs, packages
from vmtest.errors import MachineLost, VmtestError
from vmtest.kernels import Kernel, cache

BOOT_SECONDS = 180.0
TIMED_OUT = 124  # as timeout(1) exits
#: Of this host's environment only what a test may want to see crosses over; PYTHONDONTWRITEBYTECODE must not: without
#: compiled bytecode each start of Python in the guest takes seconds.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "CI", "TERM", "HYPOTHESIS_PROFILE")
PASSED_ON_PREFIXES = ("PROBESCOPE_",)

MAIN = """{exports}
export HOME=/root TMPDIR=/tmp
cd {cwd} || exit 1
: >/run/vmtest/started
{command} </dev/null >/run/vmtest/stdout 2>/run/vmtest/stderr
echo $? >/run/vmtest/exit.new
/bin/busybox mv /run/vmtest/exit.new /run/vmtest/exit
/bin/busybox sync
/bin/busybox poweroff -f
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A command for a guest. ``timeout`` is in seconds, from the moment that the guest is up."""

    command: Sequence[str]
    cwd: Path
    timeout: float = 600.0
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Shape:
    """The virtual hardware. With ``multi`` each processor is emulated by a thread of its own, and a kernel that patches
    its code while another processor runs it, as tracing does all day, panics now and then. ``single`` takes turns, and
    is no slower for tests, of which one runs at a time."""

    memory: str = "2G"
    cpus: int = 2
    threads: str = "single"


def say(text: str) -> None:
    print(f"vmtest: {text}", file=sys.stderr, flush=True)


def run(kernel: Kernel, job: Job, *, shape: Shape | None = None, results: Path | None = None) -> int:
    """Run a command inside a kernel and return its exit code; a lost machine is tried once more, and said.

    The guest's files in /run/vmtest that are not this module's own are copied to ``results``.
    Raises MachineLost when the second machine is lost too, and VmtestError when there is no way to start one.
    """
    unpacked = packages.ensure(kernel)
    archive = initramfs.build(unpacked)
    with in_a_slot():
        for attempt in (1, 2):
            try:
                return boot(unpacked, archive, job, shape or Shape(), results)
            except MachineLost as lost:
                if attempt == 2:
                    raise
                say(f"the machine with {unpacked.release} was lost, trying once more: {lost}")
    raise AssertionError("unreachable")


def slots() -> int:
    """How many machines may run at once: each fills a processor (``Shape.threads``)."""
    return len(os.sched_getaffinity(0))


@contextmanager
def in_a_slot() -> Generator[None]:
    """Virtual machines under emulation fill the processors: as many run as there are, the others wait."""
    with ExitStack() as stack:
        places = [cache() / f"lock{i or ''}" for i in range(slots())]
        locks = [stack.enter_context(place.open("a+")) for place in places]
        held = next((lock for lock in locks if locked(lock)), None)
        if held is None:
            held = locks[os.getpid() % len(locks)]
            held.seek(0)
            say(f"waiting for another virtual machine (process {held.read().strip() or 'unknown'})")
            fcntl.flock(held, fcntl.LOCK_EX)
        held.truncate(0)
        held.write(f"{os.getpid()}\n")
        held.flush()
        yield


def locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def boot(kernel: packages.Unpacked, archive: Path, job: Job, shape: Shape, results: Path | None) -> int:
    with tempfile.TemporaryDirectory(dir=cache(), prefix="run-") as temporary:
        share = Path(temporary)
        (share / "main").write_text(main_script(job))
        process = start(kernel, archive, share, shape)
        try:
            code = follow(process, share, job)
        finally:
            process.kill()
            process.wait()
        if results:
            collect(share, results)
        return code


def main_script(job: Job) -> str:
    inherited = {k: v for k, v in os.environ.items() if k in PASSED_ON or k.startswith(PASSED_ON_PREFIXES)}
    exports = [f"export {k}={shlex.quote(v)}" for k, v in sorted({**inherited, **job.environment}.items())]
    return MAIN.format(
        exports="\n".join(exports), cwd=shlex.quote(str(job.cwd)), command=shlex.join([str(c) for c in job.command])
    )


def start(kernel: packages.Unpacked, archive: Path, share: Path, shape: Shape) -> subprocess.Popen[bytes]:
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        raise VmtestError("no qemu-system-x86_64: apt-get install qemu-system-x86")
    exports = {"host": "path=/,readonly=on", "run": f"path={share}"}
    command = [
        *(qemu, "-accel", f"tcg,thread={shape.threads}", "-cpu", "max"),
        *("-m", shape.memory, "-smp", str(shape.cpus)),
        *("-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{share / 'console'}"),
        *("-kernel", str(kernel.image), "-initrd", str(archive)),
        *("-append", "console=ttyS0 quiet panic=-1 loglevel=4"),
    ]
    for tag, export in exports.items():
        command += ["-virtfs", f"local,{export},mount_tag={tag},security_model=none,multidevs=remap"]
    with (share / "qemu").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - this process has one thread
            start_new_session=True,
        )


def die_with_parent() -> None:
    """A killed vmtest must not leave a machine running: prctl(PR_SET_PDEATHSIG = 1, SIGKILL)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def follow(process: subprocess.Popen[bytes], share: Path, job: Job) -> int:
    """Pass output on until the machine ends; the exit code of the command."""
    tails = [Tail(share / "stdout", sys.stdout.buffer), Tail(share / "stderr", sys.stderr.buffer)]
    deadline, up = time.monotonic() + BOOT_SECONDS, False
    while True:
        ended = wait(process, 0.05)
        for tail in tails:
            tail.copy()
        if not up and (share / "started").exists():
            deadline, up = time.monotonic() + job.timeout, True
        code = share / "exit"
        if code.exists():
            for tail in tails:
                tail.copy()
            wait(process, 10)  # it is powering off
            return int(code.read_text())
        if ended:
            raise MachineLost(why(share, "it ended without an exit code"))
        if time.monotonic() > deadline:
            if not up:
                raise MachineLost(why(share, f"it was not up after {BOOT_SECONDS:.0f} s"))
            say(why(share, f"the command did not end within {job.timeout:.0f} s"))
            return TIMED_OUT


def wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


class Tail:
    """A file that grows, copied to a stream."""

    def __init__(self, path: Path, to: BinaryIO) -> None:
        self._path = path
        self._to = to
        self._done = 0

    def copy(self) -> None:
        try:
            with self._path.open("rb") as file:
                file.seek(self._done)
                data = file.read()
        except FileNotFoundError:
            return
        if data:
            self._done += len(data)
            self._to.write(data)
            self._to.flush()


def why(share: Path, what: str) -> str:
    """What happened, with the last words of QEMU and of the guest's kernel."""
    words = [what]
    for name in ("qemu", "console"):
        path = share / name
        if path.exists():
            words += [
                f"  {name}: {line}" for line in path.read_text(errors="replace").splitlines()[-15:] if line.strip()
            ]
    return "\n".join(words)


def collect(share: Path, results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    for path in share.iterdir():
        if path.name not in {"main", "started", "exit"}:
            shutil.copy(path, results / path.name) if path.is_file() else shutil.copytree(path, results / path.name)
