"""tests/kernels inside each kernel: one boot and one pytest process a kernel, a line of result for each."""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmtest import machine, packages
from vmtest.errors import VmtestError
from vmtest.kernels import Kernel

ROOT = Path(__file__).resolve().parent.parent
NO_TESTS = 5  # pytest's own exit code
OUTPUT = "output.txt"
OUTCOME = "outcome.txt"


@dataclass(frozen=True, slots=True)
class Outcome:
    kernel: str
    code: int
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""

    @property
    def good(self) -> bool:
        return self.code == 0 and self.failed == 0 and self.passed > 0

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{self.kernel:8} {counts} in {self.seconds:.0f} s{f' ({self.note})' if self.note else ''}"


def run(kernels: Sequence[Kernel], arguments: Sequence[str], *, results: Path, timeout: float) -> int:
    """Run the tests in each kernel, side by side where processors allow. 0 when all passed in all of them."""
    if len(kernels) > 1 and machine.slots() > 1:
        return beside(kernels, arguments, results=results, timeout=timeout)
    outcomes = [one(kernel, arguments, results / kernel.name, timeout) for kernel in kernels]
    print("\nkernels:", *outcomes, sep="\n  ", flush=True)
    return 0 if all(outcome.good for outcome in outcomes) else 1


def beside(kernels: Sequence[Kernel], arguments: Sequence[str], *, results: Path, timeout: float) -> int:
    """A process for each kernel. One is read while it runs, the others' output follows when it has ended."""
    for kernel in kernels:  # one after the other: they share lists of packages
        packages.ensure(kernel)
    command = [sys.executable, "-m", "vmtest", "test", "--timeout", str(timeout), "--results", str(results)]
    running: list[tuple[Kernel, Path, subprocess.Popen[bytes]]] = []
    try:
        for kernel in kernels:
            place = results / kernel.name
            place.mkdir(parents=True, exist_ok=True)
            (place / OUTCOME).write_text(f"{kernel.name:8} no result")
            with (place / OUTPUT).open("wb") as file:
                said = file if running else None
                words = [*command, "--kernel", kernel.name, "--", *arguments]
                process = subprocess.Popen(
                    words,
                    cwd=ROOT,
                    stdout=said,
                    stderr=said,
                    preexec_fn=machine.die_with_parent,  # noqa: PLW1509 - this process has one thread
                )
                running.append((kernel, place / OUTPUT, process))
        codes: list[int] = []
        for _, output, process in running:
            codes.append(process.wait())
            print(output.read_text(errors="replace"), end="", flush=True)
    finally:
        for _, _, process in running:
            process.kill()
            process.wait()
    told = [(results / kernel.name / OUTCOME).read_text() for kernel in kernels]
    print("\nkernels:", *told, sep="\n  ", flush=True)
    return 0 if not any(codes) else 1


def one(kernel: Kernel, arguments: Sequence[str], results: Path, timeout: float) -> Outcome:
    outcome = tested(kernel, arguments, results, timeout)
    results.mkdir(parents=True, exist_ok=True)
    (results / OUTCOME).write_text(str(outcome))
    machine.say(str(outcome))
    return outcome


def tested(kernel: Kernel, arguments: Sequence[str], results: Path, timeout: float) -> Outcome:
    began = time.monotonic()
    report = results / "junit.xml"
    report.unlink(missing_ok=True)
    # sys.executable and not its target: the name inside .venv is what brings the environment along
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=/run/vmtest/junit.xml"]
    chosen = list(arguments) if any(a.startswith("tests/") for a in arguments) else ["tests/kernels", *arguments]
    job = machine.Job(
        command=[*pytest, *chosen], cwd=ROOT, timeout=timeout, environment={"PROBESCOPE_VM_KERNEL": kernel.name}
    )
    try:
        unpacked = packages.ensure(kernel)
        machine.say(f"{kernel.name}: booting {unpacked.release}")
        code = machine.run(kernel, job, results=results)
    except VmtestError as error:
        machine.say(f"{kernel.name}: {error}")
        return Outcome(kernel.name, 1, time.monotonic() - began, note="no result")
    return read(kernel.name, code, time.monotonic() - began, report)


def read(kernel: str, code: int, seconds: float, report: Path) -> Outcome:
    """The counts of a junit report. A run without a report counts as failed, whatever its exit code was."""
    if code == NO_TESTS:
        return Outcome(kernel, code, seconds, note="no tests ran")
    try:
        suite = next(ET.parse(report).getroot().iter("testsuite"))
    except (OSError, ET.ParseError, StopIteration):
        note = "did not end in time" if code == machine.TIMED_OUT else "no report"
        return Outcome(kernel, code or 1, seconds, note=note)
    total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    return Outcome(kernel, code, seconds, total - failed - skipped, failed, skipped)
