"""The two tools as commands, and a tool that is running, with its programs in the kernel."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness import HERE, BenchError, build, environment

TRACER_CPU, LOAD_CPU = 0, 1
PROG_ID = re.compile(r"^prog_id:\s*(\d+)$", re.MULTILINE)

VERIFIED = re.compile(r"^verified_insns:\s*(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A name, and a command to which a script is appended as one argument."""

    name: str
    prefix: tuple[str, ...]

    def command(self, script: str) -> list[str]:
        return [*self.prefix, script]


def default_tools() -> tuple[Tool, Tool]:
    """The checkout's own probescope as a user starts it, and the bpftrace on PATH."""
    ours = Path(sys.executable).parent / "probescope"
    return Tool("probescope", (str(ours), "run", "-e")), Tool("bpftrace", ("bpftrace", "-e"))


#: The peer refuses more than 512 probes by default; ours does not read this.
MANY_PROBES = {"BPFTRACE_MAX_PROBES": "4096"}


def load() -> Path:
    return build((HERE / "load.c").read_text(), "load", flags=("-O2",))


def on_cpu(cpu: int) -> Callable[[], None]:
    """For preexec_fn: stay on one processor, where there is more than one."""
    return lambda: os.sched_setaffinity(0, {cpu % (os.cpu_count() or 1)})


def wait_for(what: str, condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Poll a condition. Raises BenchError when it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise BenchError(f"waited {seconds:.0f} s for {what} in vain")
        time.sleep(0.01)


class Running:
    """A tool at work on a script."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self.output = output

    def check(self) -> None:
        if self.process.poll() is not None:
            raise BenchError(f"ended early with {self.process.returncode}:\n{self.text()[-1000:]}")

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def stop(self) -> str:
        """Interrupt it as Ctrl-C does, wait, and return all that it printed."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            raise BenchError("did not end within 120 s of SIGINT") from None
        return self.text()

    def programs(self) -> list[dict[str, int]]:
        """Run counts and times, from the kernel, of the BPF programs that the process holds."""
        ids: set[str] = set()
        folder = f"/proc/{self.process.pid}/fdinfo"
        for fd in os.listdir(folder):
            try:
                ids.update(PROG_ID.findall(Path(folder, fd).read_text()))
            except OSError:
                continue
        shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True).stdout
        return [entry for entry in json.loads(shown) if str(entry["id"]) in ids]

    def verified(self) -> int:
        """Instructions that the verifier walked, in all programs of the process ("bpf: Add verified_insns to
        bpf_prog_info and fdinfo", 5.16)."""
        folder = Path(f"/proc/{self.process.pid}/fdinfo")
        programs: dict[str, int] = {}
        for info in folder.iterdir():
            text = info.read_text()
            found = PROG_ID.search(text), VERIFIED.search(text)
            if found[0] and found[1]:
                programs[found[0][1]] = int(found[1][1])
        return sum(programs.values())

    def run_time(self) -> int:
        """Nanoseconds spent so far in all its programs; the kernel counts while kernel.bpf_stats_enabled is set."""
        return sum(program.get("run_time_ns", 0) for program in self.programs())

    def run_count(self) -> int:
        return max((program.get("run_cnt", 0) for program in self.programs()), default=0)


@contextmanager
def running(tool: Tool, script: str, *, cpu: int = TRACER_CPU) -> Generator[Running]:
    """Start a tool on a script with its output in a file, and end it, whatever happens."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        with output.open("wb") as file:
            process = subprocess.Popen(
                tool.command(script),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment(MANY_PROBES),
                preexec_fn=on_cpu(cpu),  # noqa: PLW1509 - no other threads here
            )
        try:
            yield Running(process, output)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextmanager
def spinning(per_ms: int = 0, call: str = "spin") -> Generator[Callable[[], int]]:
    """The close() loop (``call``: another one of load.c) on its own processor; gives a function that tells the
    number of calls so far."""
    with tempfile.NamedTemporaryFile() as shown:
        shown.write(bytes(8))
        shown.flush()
        process = subprocess.Popen(
            [str(load()), call, shown.name, str(per_ms)],
            preexec_fn=on_cpu(LOAD_CPU),  # noqa: PLW1509
        )
        try:
            yield lambda: int.from_bytes(Path(shown.name).read_bytes(), sys.byteorder)
        finally:
            process.kill()
            process.wait()


@contextmanager
def bpf_stats() -> Generator[None]:
    """kernel.bpf_stats_enabled on, and as it was afterwards."""
    path = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = path.read_text()
    path.write_text("1")
    try:
        yield
    finally:
        path.write_text(before)


def run_load(arguments: Sequence[str]) -> float:
    """One run of load on its own processor; the number that it prints."""
    done = subprocess.run(
        [str(load()), *arguments],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=on_cpu(LOAD_CPU),
    )
    return float(done.stdout)
