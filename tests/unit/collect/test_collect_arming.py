"""What is written into the top buffer of a kernel before 6.11 for a function graph, and what takes it back: by the run
itself, and by whoever comes after one that was killed."""

from __future__ import annotations

import pytest

from probescope.collect.ftrace import arming
from probescope.collect.ftrace.arming import Armed
from probescope.collect.ftrace.setup import EventSetup, Setup
from probescope.errors import SessionError
from probescope.frozen import replace
from probescope.kernel.borrowed import FOLDER, settle
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host

T = "/sys/kernel/tracing"
FILES = {
    "available_tracers": "function_graph function nop",
    "current_tracer": "nop\n",
    "tracing_on": "1\n",
    "trace": "# tracer: nop\n#\n",
    "buffer_size_kb": "7 (expanded: 1408)\n",
    "trace_clock": "[local] global mono\n",
    "trace_options": "print-parent\nnoevent-fork\nnofunction-fork\nsleep-time\n",
    "set_ftrace_filter": "#### all functions enabled ####\n",
    "set_ftrace_notrace": "#### no functions disabled ####\n",
    "set_ftrace_pid": "no pid\n",
    "set_graph_function": "#### all functions enabled ####\n",
    "set_graph_notrace": "#### no functions disabled ####\n",
    "set_event_pid": "",
    "max_graph_depth": "0\n",
    "tracing_thresh": "0\n",
    "dynamic_events": "",
    "events/enable": "0\n",
    "events/sched/sched_switch/enable": "0\n",
    "events/sched/sched_switch/filter": "none\n",
    "events/sched/sched_switch/id": "300\n",
}
INSTANCE = "probescope_4242_abc_ftrace"


class Top(FakeHost):
    """A tracefs whose instances know the function tracer alone."""

    def mkdir(self, path):
        super().mkdir(path)
        for name in ("events/enable", "current_tracer", "tracing_on"):
            self.files[f"{path}/{name}"] = b"0\n"
        self.files[f"{path}/current_tracer"] = b"nop\n"
        self.files[f"{path}/available_tracers"] = b"function nop\n"

    def rmdir(self, path):
        super().rmdir(path)
        self.files = {p: d for p, d in self.files.items() if not p.startswith(path)}

    def top(self):
        """What was written into the top buffer's files."""
        short = [(p.removeprefix(f"{T}/"), d.decode()) for p, d in self.written]
        return [(p, d) for p, d in short if not p.startswith("instances")]


class NoDog:
    def __init__(self, tidy):
        pass

    def dismiss(self):
        pass


@pytest.fixture
def host(monkeypatch):
    monkeypatch.setattr(arming, "Watchdog", NoDog)
    host = Top({f"{T}/{n}": t for n, t in FILES.items()}, inodes={"/proc/self/ns/pid": 0xABC, f"{T}/instances": 1})
    host.files["/proc/4242/stat"] = b""
    host.cache["tracefs"] = T
    return host


WANTED = Setup(
    tracer="function_graph",
    functions=("vfs_*",),
    graph=("vfs_read",),
    depth=2,
    pids=(7,),
    events=(EventSetup("sched:sched_switch", "prev_pid > 1"),),
    options=("nosleep-time",),
)
BACK = [
    ("tracing_on", "0"),
    ("trace_options", "sleep-time"),
    ("current_tracer", "nop"),
    ("events/sched/sched_switch/filter", "0"),
    ("events/sched/sched_switch/enable", "0"),
    ("trace_options", "noevent-fork"),
    ("set_event_pid", ""),
    ("trace_options", "nofunction-fork"),
    ("set_ftrace_pid", ""),
    ("max_graph_depth", "0"),
    ("set_graph_function", ""),
    ("set_ftrace_filter", ""),
    ("trace_clock", "local"),
    ("tracing_on", "1"),
    ("trace", ""),
]
"""Nothing is recorded meanwhile; options of the tracer while it is there; the trace when nothing can come any more."""


def test_the_top_buffer_is_given_back(host):
    with use_host(host):
        armed = Armed(WANTED)
        assert not armed.private
        armed.start()
        done = host.top()
        armed.close()
    assert ("current_tracer", "function_graph") in done
    assert ("events/sched/sched_switch/enable", "1") in done
    assert host.top()[len(done) :] == BACK
    assert not [p for p in host.files if p.startswith((FOLDER, f"{T}/instances/"))]


@pytest.mark.parametrize(
    ("before", "written"), [("7 (expanded: 1408)", ["4096", "1408"]), ("1410", ["4096", "1410"]), ("X", [])]
)
def test_the_top_buffer_has_the_room_that_is_asked_for(host, before, written):
    """And its own again, unless it has as many sizes as there are CPUs."""
    host.files[f"{T}/buffer_size_kb"] = f"{before}\n".encode()
    with use_host(host):
        Armed(replace(WANTED, buffer_kb=4096)).close()
    assert [d for p, d in host.top() if p == "buffer_size_kb"] == written


def test_what_was_switched_off_stays_so(host):
    host.files[f"{T}/tracing_on"] = b"0\n"
    with use_host(host):
        Armed(WANTED).close()
    assert [d for p, d in host.top() if p == "tracing_on"][-1] == "0"


def test_the_next_run_gives_it_back_likewise(host):
    """Of a run that was killed there is no more than what it wrote down."""
    with use_host(host):
        Armed(WANTED).start()
        before = len(host.top())
        (kept,) = [p for p in host.files if p.startswith(FOLDER)]
        assert settle(kept)
    assert host.top()[before:] == BACK


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("current_tracer", "blk\n", "in use"),
        ("events/enable", "X\n", "in use"),
        ("trace", "# tracer: nop\n  bash-1 [000] ..1 1.0: x\n", "somebody's trace"),
        ("set_ftrace_filter", "schedule\n", "set_ftrace_filter"),
        ("set_graph_function", "schedule\n", "set_graph_function"),
        ("set_ftrace_pid", "17\n", "set_ftrace_pid"),
        ("set_event_pid", "17\n", "set_event_pid"),
        ("max_graph_depth", "3\n", "max_graph_depth"),
    ],
)
def test_what_somebody_uses_is_left_alone(host, file, text, said):
    host.files[f"{T}/{file}"] = text.encode()
    with use_host(host), pytest.raises(SessionError, match=said):
        Armed(WANTED)
    written = host.top()
    assert ("current_tracer", "function_graph") not in written
    assert file not in {p for p, _ in written}
    assert not [p for p in host.files if p.startswith((FOLDER, f"{T}/instances/"))]


def test_another_buffers_tracer_is_not_disturbed(host):
    """Roots are one for the machine: empty, they mean all functions to it."""
    host.inodes[f"{T}/instances/theirs"] = 9
    host.files[f"{T}/instances/theirs/current_tracer"] = b"function_graph\n"
    with use_host(host), pytest.raises(SessionError, match="the instance theirs"):
        Armed(WANTED)
    assert ("set_graph_function", "vfs_read\n") not in host.top()
