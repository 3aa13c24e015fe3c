"""function_graph in a kernel that has it: the tree is the kernel's own, and nothing of ours stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from probescope.collect.ftrace.arming import Armed
from probescope.collect.ftrace.live import LiveTrace
from probescope.collect.ftrace.names import Names
from probescope.collect.ftrace.setup import Setup
from probescope.errors import ProbeError, SessionError, UsageError
from probescope.formats.tracing.calls import CallReader
from probescope.kernel import tracefs
from probescope.kernel.leftovers import leftovers, reap
from probescope.kernel.machine import online_cpus
from probescope.views.graph.tree import Look, Row, Tree

pytestmark = pytest.mark.skipif("function_graph" not in tracefs.tracers(), reason="this kernel has no function tracer")

FEW = ("do_sys_openat2", "getname*", "do_filp_open", "fd_install", "alloc_fd", "vfs_open", "kmem_cache_*")
STATE = (
    "current_tracer",
    "set_graph_function",
    "set_graph_notrace",
    "max_graph_depth",
    "set_ftrace_filter",
    "set_ftrace_notrace",
    "set_ftrace_pid",
    "set_event",
    "trace_options",
    "trace_clock",
    "tracing_on",
    "tracing_thresh",
)


def state():
    """All settings of tracefs that a tracer changes, and the instances there are."""
    out = {name: tracefs.read(name) for name in STATE}
    # options of a tracer exist as long as it does
    out["trace_options"] = "\n".join(o for o in out["trace_options"].splitlines() if "funcgraph" not in o)
    out["instances"] = " ".join(sorted(os.listdir(tracefs.find_root() + "/instances")))
    return out


def opens(count=5):
    for _ in range(count):
        os.close(os.open("/etc/passwd", os.O_RDONLY))


def setup(**more):
    return Setup(tracer="function_graph", functions=FEW, graph=("do_sys_openat2",), pids=(os.getpid(),), **more)


def rows(columns):
    parts = (columns.cpu, columns.tid, columns.func, columns.depth, columns.kind, columns.duration)
    return [Row(c, t, f, d, bool(k), n) for c, t, f, d, k, n in zip(*(p.tolist() for p in parts), strict=True)]


def test_the_tree_is_the_kernels_own():
    """Line by line what `trace` of the same buffer reads as."""
    before = state()
    with Armed(setup()) as armed:
        live = LiveTrace(armed.base, [], online_cpus())
        armed.start()
        opens()
        armed.stop()
        theirs = tracefs.read("trace", armed.base).splitlines(keepends=True)
        columns = CallReader(live.events).columns(live.read())
        live.close()
    names = Names()
    names.learn(set(columns.tid.tolist()))
    tree = Tree(names.function, names.comm, max(online_cpus()) + 1, Look(irq=names.interrupts()))
    ours = list(tree.feed(rows(columns), final=True))
    assert "".join(ours) == "".join(line for line in theirs if not line.startswith("#") and line.strip("\n"))
    assert sum("do_sys_openat2" in line for line in ours) >= 5
    assert state() == before


def test_depth_is_borrowed_and_given_back():
    before = state()
    with Armed(setup(depth=1)) as armed:
        assert tracefs.read("max_graph_depth").strip() == "1"
        live = LiveTrace(armed.base, [], online_cpus())
        armed.start()
        opens()
        armed.stop()
        columns = CallReader(live.events).columns(live.read())
        live.close()
    assert set(columns.depth.tolist()) == {0}
    assert state() == before


@pytest.mark.parametrize(
    ("made", "error", "word"),
    [
        (Setup(tracer="function_grap"), UsageError, "function_graph"),
        (Setup(tracer="function_graph", graph=("do_sys_openat3",)), ProbeError, "do_sys_openat2"),
        (Setup(tracer="function_graph", functions=FEW, options=("funcgraph-tall",)), UsageError, "funcgraph-tail"),
        (Setup(functions=FEW, clock="mona"), UsageError, "mono"),
    ],
)
def test_what_is_misspelt_is_told_with_what_is_near(made, error, word):
    before = state()
    with pytest.raises(error) as caught:
        Armed(made)
    assert word in " ".join(caught.value.hints)
    assert state() == before


def test_the_settings_of_others_are_left_alone():
    """There is one set_graph_function for the whole machine, and somebody uses it."""
    tracefs.write("set_graph_function", "vfs_read\n")
    try:
        before = state()
        with pytest.raises(SessionError):
            Armed(setup())
        assert state() == before
    finally:
        tracefs.write("set_graph_function", "", truncate=True)


ROUNDS = int(os.environ.get("PROBESCOPE_KILLS", "5"))


def test_killed_at_any_moment_nothing_stays():
    """SIGKILL, later each time; then what the next run finds, and leaves."""
    before = state()
    command = [str(Path(sys.executable).parent / "probescope"), "graph", "do_sys_openat2", "--depth", "3"]
    for word in FEW:
        command += ["-l", word]
    for turn in range(ROUNDS):
        process = subprocess.Popen(
            [*command, "--seconds", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(0.3 + 3.0 * turn / ROUNDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait()
        # the watchdog may be at it as well: whoever comes first
        while any(not item.alive for item in leftovers()):
            reap()
        assert state() == before, turn
