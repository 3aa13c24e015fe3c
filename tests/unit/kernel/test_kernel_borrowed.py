"""Settings of the whole machine: borrowed only where nobody uses them, put back by whoever comes next."""

from __future__ import annotations

import json

import pytest

from probescope.errors import SessionError
from probescope.kernel.borrowed import FOLDER, Borrowed, abandoned, settle, tracers_at_work
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host

T = "/sys/kernel/tracing"
IDLE = "#### all functions enabled ####\n"


def fake(**files):
    base = {
        f"{T}/available_events": "",
        f"{T}/set_graph_function": IDLE,
        f"{T}/max_graph_depth": "0\n",
        f"{T}/current_tracer": "nop\n",
        f"{T}/tracing_on": "1\n",
    }
    host = FakeHost(files={**base, **files}, inodes={"/proc/self/ns/pid": 0xABC})
    host.cache["tracefs"] = T
    return host


def test_what_undoes_a_change_is_written_down_before_it():
    host = fake()
    with use_host(host):
        with Borrowed() as borrowed:
            borrowed.write("set_graph_function", "vfs_read\n")
            borrowed.write("set_graph_function", "vfs_write\n")
            borrowed.write("max_graph_depth", "3")
            (path,) = [p for p in host.files if p.startswith(FOLDER)]
            kept = json.loads(host.files[path])
        assert kept == [["set_graph_function", "", True], ["max_graph_depth", "0", False]]
        assert path not in host.files
    undone = [(p.removeprefix(f"{T}/"), data) for p, data in host.written][3:]
    assert undone == [("max_graph_depth", b"0"), ("set_graph_function", b"")]


def test_what_somebody_uses_is_not_touched():
    host = fake(**{f"{T}/set_graph_function": "schedule\n"})
    with use_host(host), pytest.raises(SessionError, match="in use by another tracer"):
        Borrowed().write("set_graph_function", "vfs_read\n")
    assert host.written == []


def test_another_probescope_is_named():
    used = {f"{T}/max_graph_depth": "3\n", f"{FOLDER}/borrowed_12_abc.json": "[]", "/proc/12/stat": ""}
    with use_host(fake(**used)), pytest.raises(SessionError, match=r"probescope \(process 12\)"):
        Borrowed().write("max_graph_depth", "2")


def test_a_list_of_processes_is_idle_when_it_is_empty():
    host = fake(**{f"{T}/set_event_pid": "\n"})
    with use_host(host), Borrowed() as borrowed:
        borrowed.write("set_event_pid", "7")
    assert [data for _, data in host.written] == [b"7", b""]
    with use_host(fake(**{f"{T}/set_event_pid": "9\n"})), pytest.raises(SessionError):
        Borrowed().write("set_event_pid", "7")


def test_nothing_is_recorded_while_the_top_buffer_is_given_back():
    host = fake()
    with use_host(host), Borrowed() as borrowed:
        borrowed.note("tracing_on", "1")
        borrowed.write("current_tracer", "function_graph")
    assert [(p.rpartition("/")[2], data) for p, data in host.written][1:] == [
        ("tracing_on", b"0"),
        ("current_tracer", b"nop"),
        ("tracing_on", b"1"),
    ]


def test_buffers_that_tracers_work_in():
    others = {f"{T}/instances/mine/current_tracer": "function\n", f"{T}/instances/x/current_tracer": "wakeup\n"}
    with use_host(fake(**others)):
        assert tracers_at_work({f"{T}/instances/mine"}) == [("the instance x", "wakeup")]


def test_what_the_dead_have_borrowed_is_put_back():
    """Ours, by pid and pid namespace; what stands in the file is not trusted to name anything but settings."""
    name = f"{FOLDER}/borrowed_11_abc.json"
    undo = [["max_graph_depth", "0", False], ["../../proc/sysrq-trigger", "b", False]]
    host = fake(**{name: json.dumps(undo), f"{FOLDER}/borrowed_12_def.json": "[]", "/proc/12/stat": ""})
    with use_host(host):
        assert abandoned() == [(name, 11, False), (f"{FOLDER}/borrowed_12_def.json", 12, True)]
        assert settle(name)
    assert host.written == [(f"{T}/max_graph_depth", b"0")]
    assert name not in host.files


@pytest.mark.parametrize("text", ["", "{", "3", '[["a"]]', '[{"a": 1}]', "[[1, 2, 3]]"])
def test_a_damaged_file_is_thrown_away(text):
    name = f"{FOLDER}/borrowed_11_abc.json"
    host = fake(**{name: text})
    with use_host(host):
        settle(name)
    assert host.written == []
    assert name not in host.files
