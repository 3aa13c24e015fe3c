"""One case after the other, each through the real command line in a process of its own.

The suite's programs call their helpers as ``./testprogs/...`` and read ``runtime/...``; a temporary folder of links has
them all, and ``bpftrace``, which is probescope under that name.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runtime_case import JSON, Case
from runtime_expect import check
from runtime_features import features

PASS, FAIL, SKIP = "pass", "fail", "skip"
ATTACHED = "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n"
ATTACH_SECONDS = 10
ENTRY = """import sys
sys.path[:0] = {path!r}
from probescope.cli.main import main
sys.exit(main())
"""
LAUNCHER = """#!/bin/sh
exec {folder}/process/bpftrace {folder}/entry/bpftrace "$@"
"""
"""The process is called ``bpftrace`` in /proc and in its own arguments, where pidof and pkill of the suite look."""


@dataclass(frozen=True)
class Result:
    """``why``: of a skip, the reason; of a failure, what was expected. ``output``: what was said instead."""

    case: Case
    status: str
    why: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Bench:
    """Where cases run. ``slow``: by how much every wait is longer than the suite says (virtual machines)."""

    folder: Path
    slow: float = 1.0

    @property
    def tool(self) -> Path:
        return self.folder / "bin" / "bpftrace"


def make_bench(folder: Path, suite: Path, programs: Path, slow: float = 1.0) -> Bench:
    """``suite`` is the suite's ``tests``; ``programs`` has the built ``testprogs`` and ``testlibs``."""
    (folder / "runtime").symlink_to(suite / "runtime")
    for name in ("testprogs", "testlibs"):
        (folder / name).symlink_to(programs / name)
    bench = Bench(folder, slow)
    for name in ("bin", "process", "entry"):
        (folder / name).mkdir()
    path = [str(Path(__file__).resolve().parents[2] / "src"), *(p for p in sys.path if p.endswith("site-packages"))]
    (folder / "entry" / "bpftrace").write_text(ENTRY.format(path=path))
    (folder / "process" / "bpftrace").symlink_to(Path(sys.executable).resolve())
    bench.tool.write_text(LAUNCHER.format(folder=folder))
    bench.tool.chmod(0o755)
    return bench


def run(case: Case, bench: Bench) -> Result:
    started = time.monotonic()
    reason = why_skipped(case, bench)
    if reason:
        return Result(case, SKIP, reason)
    try:
        status, why, output = _run(case, bench)
    except TimeoutError as e:
        status, why, output = FAIL, str(e), ""
    return Result(case, status, why, output, time.monotonic() - started)


def why_skipped(case: Case, bench: Bench) -> str:
    wanted = [word.strip() for word in case.one("ARCH").split("|") if word.strip()]
    here = {platform.machine(), "le" if sys.byteorder == "little" else "be"}
    if wanted and not _architecture(wanted, here):
        return f"for {' or '.join(wanted)}"
    for directive, sign in (("MIN_KERNEL", 1), ("MAX_KERNEL", -1)):
        bound, here_is = case.one(directive), _version(os.uname().release)
        if bound and (here_is < _version(bound) if sign > 0 else here_is > _version(bound)):
            return f"{directive} {bound}"
    name, _, value = case.one("SKIP_IF_ENV_HAS").partition("=")
    if name and os.environ.get(name, "") == value:
        return f"{name}={value}"
    for command in case.all("REQUIRES"):
        if _shell(command, bench).returncode:
            return f"REQUIRES {command}"
    have = features(str(bench.tool)) if case.all("REQUIRES_FEATURE") else {}
    for word in " ".join(case.all("REQUIRES_FEATURE")).split():
        if have[word.lstrip("!")] == word.startswith("!"):
            return f"REQUIRES_FEATURE {word}"
    return ""


def _architecture(wanted: list[str], here: set[str]) -> bool:
    refused = {w[1:] for w in wanted if w.startswith("!")}
    asked = {w for w in wanted if not w.startswith("!")}
    return not here & refused and (not asked or bool(here & asked))


def _version(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)][:3]


def _run(case: Case, bench: Bench) -> tuple[str, str, str]:
    timeout = int(case.one("TIMEOUT", "5")) * bench.slow
    if case.one("SETUP"):
        done = _shell(case.one("SETUP"), bench)
        if done.returncode:
            return FAIL, f"SETUP failed: {done.stdout}", ""
    try:
        with _before(case, bench, timeout) as (pids, enter):
            command = " ".join([*enter, _command(case, bench, pids)])
            code, output = _session(case, bench, command, enter, timeout)
    finally:
        if case.one("CLEANUP"):
            _shell(case.one("CLEANUP"), bench)
    wrong = check(case, output, bench.folder) or _wrong_code(case, code)
    return (FAIL, wrong, output) if wrong else (PASS, "", output)


def _wrong_code(case: Case, code: int | None) -> str:
    """``None`` is what had to be ended: its code says nothing."""
    if code is None:
        return ""
    if "WILL_FAIL" in case.values:
        return "" if code else "WILL_FAIL, but the exit code is 0"
    wanted = int(case.one("RETURN_CODE", "0"))
    return "" if code == wanted else f"exit code {code} instead of {wanted}"


def _shell(command: str, bench: Bench) -> subprocess.CompletedProcess[str]:
    words, both = [SHELL, "-c", command], {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(words, cwd=bench.folder, text=True, check=False, **both)


def _command(case: Case, bench: Bench, pids: list[int]) -> str:
    if "RUN" in case.values:
        text = case.one("RUN").replace("{{BPFTRACE}}", str(bench.tool))
        return text.replace("{{BEFORE_PID}}", str(pids[0]) if pids else "")
    options = "-q -f json" if case.expectations and case.expectations[0].kind == JSON else ""
    program = case.one("PROG").replace("'", "'\\''")
    return f"{bench.tool} {options} -e '{program}'"


# --------------------------------------------------------------------------------------- processes beside the traced


@contextmanager
def _before(case: Case, bench: Bench, timeout: float) -> Iterator[tuple[list[int], list[str]]]:
    """The commands of BEFORE, running; gives the processes that they became, and what enters their namespaces."""
    commands = case.all("BEFORE")
    children: list[subprocess.Popen[str]] = []
    pids: list[int] = []
    enter: list[str] = []
    try:
        if "NEW_PIDNS" in case.values:
            first = "unshare --fork --pid --mount-proc -r --kill-child --".split()
            children.append(_start([*first, *commands[0].split()], bench))
            inside = _wait_for(lambda: _children(children[0].pid), timeout, "a new pid namespace")
            enter = ["nsenter", "-p", "-m", "-t", str(inside[0])]
            commands = commands[1:]
        for command in commands:
            words = [str((bench.folder / w).resolve()) if enter else w for w in command.split()]
            children.append(_start([*enter, *words], bench))
            pids.append(_named(children[-1].pid, command.split()[-1], timeout))
        yield pids, enter
    finally:
        for child in children:
            _end(child)


def _named(pid: int, program: str, timeout: float) -> int:
    """The process that runs ``program``: the child, or what it started (a wrapper that enters a namespace)."""
    name = os.path.basename(program)[:15]

    def found() -> list[int]:
        return [p for p in [pid, *_descendants(pid)] if _comm(p) == name]

    return _wait_for(found, timeout, f"{name} to start")[0]


def _wait_for(found, timeout: float, what: str) -> list[int]:
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        pids = found()
        if pids:
            return pids
        time.sleep(0.02)
    raise TimeoutError(f"waited in vain for {what}")


def _children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _descendants(pid: int) -> list[int]:
    return [d for child in _children(pid) for d in (child, *_descendants(child))]


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


SHELL = "/bin/bash"
"""Whose ``echo`` leaves backslashes alone, as the suite expects; dash's does not."""


def _start(command: list[str] | str, bench: Bench, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    words = [SHELL, "-c", command] if isinstance(command, str) else command
    return subprocess.Popen(
        words, cwd=bench.folder, env=env, start_new_session=True, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="backslashreplace",
    )  # fmt: skip


def _end(child: subprocess.Popen[str]) -> str:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return child.communicate()[0]


# -------------------------------------------------------------------------------------------------- the traced program


def _session(case: Case, bench: Bench, command: str, enter: list[str], timeout: float) -> tuple[int | None, str]:
    """Its exit code, ``None`` if it had to be ended, and all that it said (from attaching on, if that alone counts)."""
    python = Path(sys.executable).resolve().parent  # whatever stands before it in PATH may take long to find it
    env = {
        "PATH": f"{python}:{os.environ.get('PATH', '')}",
        "__BPFTRACE_NOTIFY_PROBES_ATTACHED": "1",
        "test": case.name,
    }
    for pair in case.one("ENV").split():
        name, _, value = pair.partition("=")
        env[name] = value
    child = _start(command, bench, env)
    said, attached = _listen(child)
    after = None
    ended: int | None = None
    try:
        _until(lambda: attached.is_set() or child.poll() is not None, ATTACH_SECONDS * bench.slow)
        if attached.is_set() and case.one("AFTER"):
            after = _start(_entering(case.one("AFTER"), enter, bench), bench, {**os.environ, "PATH": env["PATH"]})
        with suppress(subprocess.TimeoutExpired):
            ended = child.wait(timeout)
        if ended is None:
            _terminate(child, bench)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        said.join()
        if after is not None:
            _end(after)
    output = "".join(said.lines)
    if case.exact and ATTACHED in output:
        output = output[output.index(ATTACHED) + len(ATTACHED) :]
    return ended, output


def _entering(command: str, enter: list[str], bench: Bench) -> list[str] | str:
    if not enter:
        return command
    return [*enter, *(str((bench.folder / word).resolve()) for word in command.split())]


def _terminate(child: subprocess.Popen[str], bench: Bench) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(2 * bench.slow)


def _until(true, timeout: float) -> None:
    until = time.monotonic() + timeout
    while not true() and time.monotonic() < until:
        time.sleep(0.01)


class Listener(threading.Thread):
    """Keeps what a child says, and tells when it has attached."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self.lines: list[str] = []
        self.attached = threading.Event()
        self._child = child

    def run(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self.lines.append(line)
            if line == ATTACHED:
                self.attached.set()


def _listen(child: subprocess.Popen[str]) -> tuple[Listener, threading.Event]:
    listener = Listener(child)
    listener.start()
    return listener, listener.attached
