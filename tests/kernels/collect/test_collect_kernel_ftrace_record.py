"""`ftrace record` and `start` with the tracers of functions: trace-cmd reads what is written, and nothing stays."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

import pytest

from probescope.cli.ftrace import main
from probescope.cli.ftrace_report import forms
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracing.text import Lines, report
from probescope.kernel import tracefs
from probescope.kernel.leftovers import leftovers, reap
from tests.support.kernels_kills import Command, moments

pytestmark = [
    pytest.mark.skipif("function_graph" not in tracefs.tracers(), reason="this kernel has no function tracer"),
    pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"),
]

FEW = ["-l", "do_sys_openat2", "-l", "getname*", "-l", "do_filp_open", "-l", "alloc_fd", "-l", "vfs_open"]
GRAPH = ["-p", "function_graph", *FEW, "-g", "do_sys_openat2"]
TEXT = (
    "set_event",
    "trace_options",
    "trace_clock",
    "tracing_on",
    "tracing_thresh",
    "max_graph_depth",
    "set_graph_function",
    "set_graph_notrace",
    "current_tracer",
    "set_ftrace_filter",
    "set_ftrace_notrace",
    "set_ftrace_pid",
    "set_event_pid",
    "set_event_notrace_pid",
    "buffer_size_kb",
    "saved_cmdlines_size",
    "trace",
)

RETURNED = re.compile(r" \(ret=-?(?:0x)?[0-9a-f]+\)(?=$| )", re.MULTILINE)
"""What functions return, which trace-cmd 3.1 does not print."""


def state():
    """Everything of the top buffer that a tracer changes, byte for byte; and the instances there are."""
    out = {name: tracefs.read(name) for name in TEXT}
    # a buffer that was never used grows when it is, and to a little more than it says
    out["buffer_size_kb"] = re.sub(r"^7 \(expanded: 1408\)|^1410$", "1408", out["buffer_size_kb"])
    # options of a tracer exist as long as it does
    out["trace_options"] = "\n".join(o for o in out["trace_options"].splitlines() if "func" not in o)
    out["trace"] = "\n".join(line for line in out["trace"].splitlines() if not line.startswith("#"))
    out["events"] = tracefs.read("events/enable")
    out["instances"] = " ".join(sorted(os.listdir(tracefs.find_root() + "/instances")))
    return out


def ours(path, options=()):
    with open_tracedat(str(path)) as recording:
        names = tuple(b.name for b in recording.buffers)
        context = recording.context()
        context.forms = forms(options)
        lines = Lines(recording.events, context, flags=False, buffers=names if len(names) > 1 else ())
        text = b"".join(report(lines, recording.batches(), recording.machine.cpus)).decode("utf-8", "surrogateescape")
        return RETURNED.sub("", text)


def theirs(path, *options):
    done = subprocess.run(["trace-cmd", "report", "-i", str(path), *options], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("options", "word", "shown"),
    [
        (["-p", "function", *FEW], "do_sys_openat2", ("parent", "indent=0")),
        ([*GRAPH, "--max-graph-depth", "2"], "funcgraph_entry", ("tailprint", "depth")),
        ([*GRAPH, "-F", "-c", "-e", "sched:sched_process_exec", "--file-version", "6"], "do_sys_openat2() {", ()),
        (["-p", "function", *FEW, "--func-stack", "-F", "--compression", "none"], "=> do_sys_openat2", ("offset",)),
    ],
    ids=["function", "depth", "graph-6", "stacks"],
)
def test_what_trace_cmd_reads_is_what_we_read(tmp_path, options, word, shown):
    """Also with functions ``shown`` otherwise, by the options of trace-cmd's plugins."""
    before = state()
    path = tmp_path / "trace.dat"
    assert main(["record", "-q", *options, "-o", str(path), "cat", "/etc/passwd", "/etc/group"]) == 0
    assert word in theirs(path)
    assert ours(path) == theirs(path)
    if shown:
        assert ours(path, shown) == theirs(path, *(f"-O{name}" for name in shown))
    assert state() == before


def test_a_trace_that_stands_is_left_until_reset(tmp_path, capsys):
    """The roots of graphs are one for the machine: reset gives them back."""
    before = state()
    try:
        assert main(["start", "-q", *GRAPH, "-e", "sched:sched_process_exec"]) == 0
        subprocess.run(["cat", "/etc/passwd"], stdout=subprocess.DEVNULL, check=True)
        main(["show"])
        assert "do_sys_openat2" in capsys.readouterr().out
        path = tmp_path / "trace.dat"
        assert main(["extract", "-q", "-o", str(path)]) == 0
        assert "funcgraph_entry" in theirs(path)
        assert ours(path) == theirs(path)
    finally:
        main(["reset", "-q", "-a"])
    assert state() == before


def test_snapshots(capfdbinary):
    """Taken, printed, freed: in the kernel's own words."""
    if not os.path.exists(tracefs.find_root() + "/snapshot"):
        pytest.skip("this kernel has no snapshots")
    try:
        main(["start", "-q", "-e", "sched:sched_process_exec"])
        subprocess.run(["true"], check=True)
        assert main(["snapshot", "-s"]) == 0
        assert main(["snapshot"]) == 0
        assert b"sched_process_exec" in capfdbinary.readouterr().out
        assert main(["snapshot", "-f"]) == 0
        assert main(["snapshot"]) == 0
        assert b"Snapshot is freed" in capfdbinary.readouterr().out
    finally:
        main(["reset", "-q", "-a"])


def test_every_function_needs_a_word():
    from probescope.errors import UsageError

    before = state()
    with pytest.raises(UsageError, match="freeze"):
        main(["record", "-p", "function", "true"])
    assert state() == before


def test_a_misspelt_function_is_told_with_what_is_near():
    from probescope.errors import ProbeError

    before = state()
    with pytest.raises(ProbeError) as caught:
        main(["record", "-p", "function", "-l", "do_sys_openat3", "true"])
    assert "do_sys_openat2" in " ".join(caught.value.hints)
    assert state() == before


ROUNDS = int(os.environ.get("PROBESCOPE_KILLS", "4"))


def test_killed_at_any_moment_nothing_stays(tmp_path):
    """SIGKILL, later each time; then what the next run finds, and leaves."""
    before = state()
    argv = ["record", *GRAPH, "--max-graph-depth", "3", "-O", "funcgraph-tail", "-e", "sched"]
    argv += ["-B", "other", "-e", "irq", "-o", str(tmp_path / "trace.dat"), "sleep", "60"]
    for turn, process in moments(lambda: Command(main, argv), ROUNDS):
        process.kill()
        # the watchdog may be at it as well: whoever comes first
        deadline = time.monotonic() + 30
        while any(not item.alive for item in leftovers()) or (state() != before and time.monotonic() < deadline):
            reap()
        assert state() == before, turn
