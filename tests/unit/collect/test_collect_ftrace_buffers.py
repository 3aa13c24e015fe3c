"""Plans written into tracefs, on a fake host: which words go into which file, and what takes them back."""

from __future__ import annotations

import json

import pytest

from probescope.collect.ftrace.about import _cmdlines
from probescope.collect.ftrace.buffers import Buffers, loss_of
from probescope.collect.ftrace.record_plan import BufferPlan, CpuLoss, EventChoice, TracePlan
from probescope.errors import SessionError, UsageError
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host

T = "/sys/kernel/tracing"
INSTANCE = f"{T}/instances/mine"
FILES = {
    "available_events": "sched:sched_switch\nsched:sched_waking\nirq:irq_handler_entry\n",
    "available_tracers": "function_graph function nop\n",
    "current_tracer": "nop\n",
    "set_ftrace_filter": "#### all functions enabled ####\n",
    "set_ftrace_notrace": "#### no functions disabled ####\n",
    "set_graph_function": "#### all functions enabled ####\n",
    "set_graph_notrace": "#### no functions disabled ####\n",
    "max_graph_depth": "0\n",
    "set_ftrace_pid": "no pid\n",
    "set_event_pid": "",
    "set_event_notrace_pid": "",
    "set_ftrace_notrace_pid": "no pid\n",
    "trace_options": "noevent-fork\nnofuncgraph-tail\nnofunction-fork\nnostacktrace\n",
    "trace_clock": "[local] global mono\n",
    "buffer_size_kb": "7 (expanded: 1408)\n",
    "tracing_cpumask": "3\n",
    "tracing_on": "1\n",
    "trace": "# tracer: nop\n",
    "events/enable": "0\n",
    "events/sched/enable": "0\n",
    "events/sched/sched_switch/enable": "0\n",
    "events/sched/sched_switch/filter": "none\n",
    "events/sched/sched_switch/trigger": "",
    "events/irq/enable": "0\n",
    "error_log": "",
}


def machine(tracers="function nop\n", **changed):
    files = {f"{T}/{name}": text for name, text in (FILES | changed).items()}
    files |= {f"{INSTANCE}/{name}": text for name, text in FILES.items()}
    files[f"{INSTANCE}/available_tracers"] = tracers
    host = FakeHost(files, inodes={"/proc/self/ns/pid": 1})
    host.cache["tracefs"] = T
    return host


def written(host, base=T):
    """In order: (file, text)."""
    return [
        (path.removeprefix(base + "/"), text.decode()) for path, text in host.written if path.startswith(base + "/")
    ]


def made(host, plan):
    host.inodes[INSTANCE] = 7
    return Buffers(plan, lambda _: INSTANCE)


PLAN = TracePlan(
    (
        BufferPlan(
            "",
            "function_graph",
            (EventChoice("sched:sched_switch", "prev_prio < 9", ("stacktrace",)),),
            ("vfs_*",),
            graph=("vfs_read",),
            options=("funcgraph-tail",),
            clock="mono",
            size_kb=4096,
        ),
    ),
    pids=(42,),
    follow=True,
    depth=3,
)


def test_an_instance_is_left_alone_with_what_is_in_it():
    """Only roots, depth and the options of its tracer are anybody else's; they are written down, and put back."""
    host = machine("function_graph function nop\n")
    with use_host(host):
        buffers = made(host, PLAN)
        ours = written(host, INSTANCE)
        assert ours == [
            ("tracing_on", "0"),
            ("trace_clock", "mono"),
            ("events/enable", "0"),  # old kernels' top buffer grows; else it would stay small for whoever is next
            ("buffer_size_kb", "4096"),
            ("set_ftrace_filter", "vfs_*\n"),
            ("set_event_pid", "42"),
            ("set_ftrace_pid", "42"),
            ("trace_options", "event-fork"),
            ("trace_options", "function-fork"),
            ("events/sched/sched_switch/filter", "prev_prio < 9"),
            ("events/sched/sched_switch/trigger", "stacktrace"),
            ("events/sched/sched_switch/enable", "1"),
            ("current_tracer", "function_graph"),
            ("trace_options", "funcgraph-tail"),
        ]
        top = [(file, text) for file, text in written(host) if not file.startswith("instances")]
        assert top == [("set_graph_function", "vfs_read\n"), ("max_graph_depth", "3")]
        (note,) = [path for path in host.files if path.startswith("/run/probescope/borrowed_")]
        undone = json.loads(host.files[note])
        assert undone[:2] == [["set_graph_function", "", True], ["max_graph_depth", "0", False]]
        assert undone[-1] == ["instances/mine/trace_options", "nofuncgraph-tail", False]
        assert buffers.enabled == {"sched": {"sched_switch"}}
        host.written.clear()
        buffers.close()
        closing = written(host)
        assert closing[-2:] == [("max_graph_depth", "0"), ("set_graph_function", "")]
        assert ("instances/mine/current_tracer", "nop") in closing
        assert closing.index(("instances/mine/trace_options", "nofuncgraph-tail")) < closing.index(
            ("instances/mine/current_tracer", "nop")
        )
        assert INSTANCE not in host.inodes
        assert note not in host.files


def test_the_top_buffer_is_given_back_file_by_file():
    """Where the tracer exists there only: the last thing first, nothing recorded meanwhile, and empty."""
    host = machine()
    with use_host(host):
        buffers = made(host, PLAN)
        assert INSTANCE not in host.inodes
        assert not buffers.places[0].private
        host.written.clear()
        buffers.close()
        assert written(host) == [
            ("tracing_on", "0"),
            ("tracing_on", "0"),
            ("trace_options", "nofuncgraph-tail"),
            ("current_tracer", "nop"),
            ("events/sched/sched_switch/enable", "0"),
            ("events/sched/sched_switch/trigger", "!stacktrace"),
            ("events/sched/sched_switch/filter", "0"),
            ("trace_options", "nofunction-fork"),
            ("trace_options", "noevent-fork"),
            ("set_ftrace_pid", ""),
            ("set_event_pid", ""),
            ("max_graph_depth", "0"),
            ("set_graph_function", ""),
            ("set_ftrace_filter", ""),
            ("buffer_size_kb", "1408"),
            ("trace_clock", "local"),
            ("events/enable", "0"),
            ("tracing_on", "1"),
            ("trace", ""),
        ]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"current_tracer": "function\n"}, "in use"),
        ({"events/enable": "X\n"}, "in use"),
        ({"trace": "# tracer: nop\n  bash-1 [000] 1.0: sched_switch: x\n"}, "somebody's trace"),
        ({"set_ftrace_filter": "schedule\n"}, "set_ftrace_filter of tracefs is in use"),
    ],
)
def test_the_top_buffer_of_somebody_else_is_not_taken(changed, word):
    host = machine(**changed)
    with use_host(host):
        with pytest.raises(SessionError, match=word):
            made(host, PLAN)
        kept = {file for file, text in written(host) if file in changed}
        assert not kept


def test_a_named_buffer_cannot_be_the_top_one():
    host = machine()
    plan = TracePlan((BufferPlan("two", "function_graph", functions=("x",)),))
    with use_host(host), pytest.raises(UsageError, match="top buffer only"):
        made(host, plan)
    assert INSTANCE not in host.inodes


def test_whole_systems_are_switched_at_once_and_ours_left_out():
    host = machine()
    events = (EventChoice("sched"), EventChoice("sched:sched_switch", on=False), EventChoice("no:such"))
    plan = TracePlan((BufferPlan(events=events),), without=(4242,), lenient=True)
    with use_host(host):
        buffers = made(host, plan)
        assert written(host, INSTANCE) == [
            ("tracing_on", "0"),
            ("set_event_notrace_pid", "4242"),
            ("events/sched/enable", "1"),
            ("events/sched/sched_switch/enable", "0"),
        ]
        assert buffers.enabled == {"sched": {"sched_switch", "sched_waking"}}


def test_a_thread_has_one_name():
    """Names may have blanks; the last of two is what it is called now."""
    text = b"217 probescope\n  5 kworker/0:0 x\n217 cat\n9 a\xff\n\n"
    assert _cmdlines(text) == b"217 cat\n  5 kworker/0:0 x\n9 a\xff\n"


def test_a_name_with_a_newline_spoils_no_other():
    """trace-cmd 3.1.6 leaves all names out where a line is not PID COMM."""
    assert _cmdlines(b"7 a\nb\n8 cat\n9 \n\n") == b"7 a\n8 cat\n"


def test_losses_of_a_cpu():
    text = "entries: 5\noverrun: 70\ncommit overrun: 1\noldest event ts: 1.0\ndropped events: 2\nread events: 3\n"
    assert loss_of("x", 1, text) == CpuLoss("x", 1, 70, 3)
    assert not loss_of("x", 1, "garbage").any


def test_the_size_of_what_stands_is_changed_and_nothing_else():
    """A buffer that somebody traces into: its events stay on, though the top buffer was never used."""
    host = machine("function nop\n")
    with use_host(host):
        host.inodes[INSTANCE] = 7
        Buffers(TracePlan((BufferPlan("", size_kb=64),)), lambda _: INSTANCE, owned=False)
        assert written(host, INSTANCE) == [("buffer_size_kb", "64")]
