"""function_graph in a kernel that has it: the tree is the kernel's own, and nothing of ours stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from probescope.cli.graph import main
from probescope.collect.ftrace.arming import Armed
from probescope.collect.ftrace.live import LiveTrace
from probescope.collect.ftrace.names import Names
from probescope.collect.ftrace.setup import Setup
from probescope.errors import ProbeError, SessionError, UsageError
from probescope.formats.tracing.calls import CallReader
from probescope.frozen import replace
from probescope.kernel import tracefs
from probescope.kernel.leftovers import leftovers, reap
from probescope.kernel.machine import online_cpus
from probescope.views.graph.rows import rows
from probescope.views.graph.tree import Look, Tree
from tests.support.kernels_kills import Command, moments

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
    "set_event_pid",
    "events/enable",
)


def state():
    """All settings of tracefs that a tracer changes, and the instances there are."""
    out = {name: tracefs.read(name) for name in STATE}
    # a buffer that was never used grows when it is, and to a little more than it says
    out["buffer_size_kb"] = re.sub(r"^7 \(expanded: 1408\)|^1410$", "1408", tracefs.read("buffer_size_kb").strip())
    # options of a tracer exist as long as it does
    out["trace_options"] = "\n".join(o for o in out["trace_options"].splitlines() if "funcgraph" not in o)
    out["instances"] = " ".join(sorted(os.listdir(tracefs.find_root() + "/instances")))
    return out


def opens(count=5):
    for _ in range(count):
        os.close(os.open("/etc/passwd", os.O_RDONLY))


def setup(**more):
    return Setup(tracer="function_graph", functions=FEW, graph=("do_sys_openat2",), pids=(os.getpid(),), **more)


def read(live):
    return CallReader(live.events).columns(live.read())


LOOKS = {
    "": Look(),
    "funcgraph-tail": Look(tail=True),
    "funcgraph-proc funcgraph-abstime": Look(proc=True, abstime=True),
    "nofuncgraph-overhead nofuncgraph-cpu": Look(overhead=False, cpu=False),
    "nofuncgraph-duration": Look(duration=False),
    "funcgraph-overrun": Look(overrun=True),
}


def test_the_tree_is_the_kernels_own():
    """Line by line what `trace` of the same buffer reads as, with each of the tracer's options of how it prints."""
    before = state()
    theirs = {}
    with Armed(setup()) as armed:
        live = LiveTrace(armed.base, [], online_cpus())
        armed.start()
        opens()
        armed.stop()
        for options in LOOKS:
            for option in options.split():
                tracefs.write("trace_options", option, armed.base)
            theirs[options] = tracefs.read("trace", armed.base)
            for option in options.split():
                back = option[2:] if option.startswith("no") else f"no{option}"
                tracefs.write("trace_options", back, armed.base)
        columns = read(live)
        live.close()
    names = Names()
    names.learn(set(columns.tid.tolist()))
    for options, look in LOOKS.items():
        tree = Tree(names.function, names.comm, max(online_cpus()) + 1, replace(look, irq=names.interrupts()))
        ours = tree.header() + "".join(tree.feed(list(rows(columns, [])), final=True))
        assert ours == theirs[options], options
    assert theirs[""].count("do_sys_openat2") >= 5
    assert state() == before


def test_depth_is_borrowed_and_given_back():
    before = state()
    with Armed(setup(depth=1)) as armed:
        assert tracefs.read("max_graph_depth").strip() == "1"
        live = LiveTrace(armed.base, [], online_cpus())
        armed.start()
        opens()
        armed.stop()
        columns = read(live)
        live.close()
    assert set(columns.depth.tolist()) == {0}
    assert state() == before


def test_the_buffer_has_the_size_that_is_asked_for():
    """Also the top one, where function_graph is in no other."""
    before = state()
    with Armed(setup(buffer_kb=4096)) as armed:
        assert int(tracefs.told_size(tracefs.read("buffer_size_kb", armed.base))) >= 4096
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


def test_another_tracer_at_work_is_not_disturbed():
    """Empty, set_graph_function still means something to it: all functions."""
    with tracefs.Instance("other") as other:
        tracer = "function_graph" if "function_graph" in other.read("available_tracers").split() else "function"
        other.write("set_ftrace_filter", "vfs_statx\n")
        other.write("current_tracer", tracer)
        before = state()
        wanted = setup() if tracer == "function_graph" else setup(threshold_us=10)
        with pytest.raises(SessionError, match="the instance"):
            Armed(wanted)
        assert (state(), other.read("current_tracer").strip()) == (before, tracer)
        other.write("current_tracer", "nop")


def command(*argv):
    return [str(Path(sys.executable).parent / "probescope"), "graph", *argv]


def run(*argv):
    done = subprocess.run(command(*argv), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    return done


LEAF = re.compile(r"funcgraph_entry: +(?:[+!#*@$] )?([\d.]+) us +\|  +([\w.]+)\(\);")
CLOSED = re.compile(r"funcgraph_exit: +(?:[+!#*@$] )?([\d.]+) us +\|  +\} /\* ([\w.]+) \*/")


def test_totals_are_those_that_trace_cmd_prints(tmp_path):
    """Of the same run, kept as a trace.dat: durations in its report, added up by function."""
    path = str(tmp_path / "run.dat")
    done = run("do_sys_openat2", "--depth", "6", "--summary", "-f", "json", "-o", path, "--", "true")
    ours = {
        d["function"].partition(" [")[0]: (d["calls"], d["total_ns"]) for d in map(json.loads, done.stdout.splitlines())
    }
    report = ["trace-cmd", "report", "-O", "fgraph:tailprint=1", path]
    theirs: dict[str, tuple[int, int]] = {}
    for line in subprocess.run(report, capture_output=True, text=True, check=True).stdout.splitlines():
        found = LEAF.search(line) or CLOSED.search(line)
        if found:
            calls, total = theirs.get(found[2], (0, 0))
            theirs[found[2]] = calls + 1, total + round(float(found[1]) * 1000)
    assert ours["do_sys_openat2"][0] >= 2
    assert ours == theirs


READER = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) int parse_number(int fd) { char b[8]; __asm__ volatile("nop"); return read(fd, b, 8); }
__attribute__((noinline)) int parse_line(const char *name)
{
	int fd = open(name, O_RDONLY), n = parse_number(fd);
	close(fd);
	return n;
}
int main(int argc, char **argv) { getppid(); return parse_line(argv[0]) + parse_line(argv[0]) != 16; }
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    (folder / "reader.c").write_text(READER)
    subprocess.run(["gcc", "-O1", "-o", folder / "reader", folder / "reader.c"], check=True)
    return str(folder / "reader")


def shapes(text):
    return [re.sub(r"^.*\|  ", "", line) for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("way", ["ftrace", "kprobe"])
def test_the_kernel_below_a_program(reader, way):
    """What the source calls, in its order, at its depth; by two mechanisms whose clocks are one."""
    call = "__x64_sys" if os.uname().machine == "x86_64" else "__arm64_sys"
    before = state()
    argv = ["--via", way, "--depth", "1"]
    for name in ("openat", "read", "close"):
        argv += ["--kernel", f"{call}_{name}"]
    done = run("-x", reader, "parse_*", *argv, "--", reader)
    once = [
        "parse_line() {",
        f"  {call}_openat();",
        "  parse_number() {",
        f"    {call}_read();",
        "  }",
        f"  {call}_close();",
        "}",
    ]
    assert [line.rstrip() for line in shapes(done.stdout)] == once * 2
    assert state() == before


ROUNDS = int(os.environ.get("PROBESCOPE_KILLS", "5"))


def children(pid):
    """Kernels need not have /proc/PID/task/PID/children."""
    out = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == pid:
                out.append(int(file.parent.name))
    return out


def killed(pid, how):
    if how == 2:
        os.kill(pid, signal.SIGSTOP)
        for child in children(pid):
            os.kill(child, signal.SIGKILL)
    (os.killpg if how == 1 else os.kill)(pid, signal.SIGKILL)


def test_killed_at_any_moment_nothing_stays():
    """SIGKILL, later each time, of the process, of its group, and of its watchdog first; then what the next run finds,
    and leaves."""
    before = state()
    argv = ["do_sys_openat2", "--depth", "3", "-e", "sched:sched_switch", "--seconds", "600"]
    for word in FEW:
        argv += ["-l", word]
    for turn, process in moments(lambda: Command(main, argv), ROUNDS):
        killed(process.pid, turn % 3)
        process.gone()
        # the watchdog may be at it as well: whoever comes first
        while any(not item.alive for item in leftovers()):
            reap()
        assert state() == before, turn
