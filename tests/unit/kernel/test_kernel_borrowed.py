"""Settings of the whole machine: borrowed only where nobody uses them, put back by whoever comes next."""

from __future__ import annotations

import json

import pytest

from probescope.errors import SessionError
from probescope.kernel.borrowed import FOLDER, Borrowed, abandoned, settle
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
