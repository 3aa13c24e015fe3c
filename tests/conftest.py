"""What every test gets: marks by folder, honest skips, and the proof that nothing of ours stays in the kernel.

Skips. A skip says why. On a developer's machine that is enough. In CI (``CI=true`` or ``PROBESCOPE_STRICT_SKIPS=1``) a
test that could have run must run, so there a skip whose reason does not start with one of ``ALLOWED_SKIPS`` fails.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# a deadline for each example fails on a busy machine and in a virtual one, and says nothing about the code
settings.register_profile("probescope", deadline=None, print_blob=True)
settings.load_profile("probescope")

# ignored in background jobs of scripts and under nohup, and then in every program that a test starts and ends
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)

# what the caller's shell says of terminals is not what is tested: a test that wants a setting sets it
for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "PAGER"):
    os.environ.pop(name, None)
os.environ["TERM"] = "xterm-256color"

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS / "support"))

#: Folders of tests/ whose tests carry the mark of the same name.
FOLDER_MARKS = ("live", "kernels", "oracle", "fuzz")

#: With ``pytest -n``: what traces this machine is in one process, comparisons with others first, as they take longest:
#: two at once would see each other's probes, programs and samples. Beside it pages are driven, and then runs what
#: shares nothing, each file in one process.
PAGES = "browser"
FIRST = (PAGES, "oracle")
ALONE = ("conformance", "fuzz", "golden", "property", "unit")

#: Beginnings of reasons that are honest in CI as well: what CI's kernel or machine really cannot do. What one kernel
#: lacks is tested on another inside a virtual machine, and tests/matrix holds what each must have.
ALLOWED_SKIPS = (
    "this kernel has no kprobes",
    "this kernel has no kprobe_multi",
    "this kernel has no fentry",
    "this kernel has no function tracer",
    "this kernel has no hist triggers",
    "this kernel has no latency tracers",
    "this kernel has hist triggers",
    "this kernel has latency tracers",
    "this kernel has no uprobe_multi",
    "this kernel has no uprobe session",
    "this kernel has no bpf_loop",
    "this machine has no hardware counters",
    "this kernel allows everybody everything",  # kernel.perf_event_paranoid below 1
    "not on this architecture",
    "PROBESCOPE_BPFTRACE_SRC names no checkout",  # another project's sources: for those who have them
    "npm's registry was out of reach",  # tried by scripts/viewers.sh
    "PROBESCOPE_SAMPLES names no folder of recordings",  # recordings of many kernels, likewise
    "PROBESCOPE_TRACE_CMD names no other trace-cmd",  # of another version than the distribution's, likewise
)


def strict_skips() -> bool:
    wanted = os.environ.get("PROBESCOPE_STRICT_SKIPS", os.environ.get("CI", ""))
    return wanted.lower() in {"1", "true", "yes"}


def folder_of(path: Path) -> str:
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root_needed = pytest.mark.skip(reason="needs root")
    for item in items:
        folder = folder_of(item.path)
        if folder in FOLDER_MARKS:
            item.add_marker(folder)
        if folder in {"live", "kernels"} and os.geteuid() != 0:
            item.add_marker(root_needed)
    order = (*FIRST, *ALONE)
    items.sort(key=lambda i: order.index(folder_of(i.path)) if folder_of(i.path) in order else len(order))


def pytest_collection_finish() -> None:
    """Thousands of tests are a million objects: no search for garbage in a test has to look at them again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Which tests one process runs, one after the other; in the order in which they were found."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = folder_of(config.rootpath / file)
            return folder if folder == PAGES else file if folder in ALONE else "this machine"

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and strict_skips():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not reason.startswith(ALLOWED_SKIPS):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped, and here it must run: {reason}"
    return report


@pytest.fixture(scope="session")
def repo() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def probescope_command() -> list[str]:
    """The command line of the checkout: prepend it to the arguments of ``probescope``."""
    return [sys.executable, "-m", "probescope.cli.main"]


# --- after all tests the kernel holds no program, map, link or tracefs entry that it did not hold before -------------

BEFORE = pytest.StashKey[Any]()
LEFT = pytest.StashKey[list[str]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.geteuid() == 0 and not hasattr(session.config, "workerinput"):  # one look, by who starts the workers
        import leftovers

        session.config.stash[BEFORE] = leftovers.snapshot()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    before = session.config.stash.get(BEFORE, None)
    if before is not None:
        import leftovers

        found = session.config.stash[LEFT] = leftovers.remaining(before, alone=strict_skips())
        if found:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(LEFT, [])
    if found:
        terminalreporter.section("left in the kernel after the tests", red=True, bold=True)
        terminalreporter.write_line("; ".join(found))
