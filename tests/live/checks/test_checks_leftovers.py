"""The proof that nothing is left behind must see a thing that is left behind."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import leftovers
import pytest

#: bpf_attr of BPF_MAP_CREATE (command 0) starts with type, key size, value size, entries: an array of one u32
MAKE_MAP = (
    "import ctypes, struct; attr = ctypes.create_string_buffer(struct.pack('=IIII', 2, 4, 4, 1), 16); "
    f"fd = ctypes.CDLL(None).syscall(ctypes.c_long({leftovers.BPF_SYSCALL[platform.machine()]}), "
    "ctypes.c_long(0), attr, ctypes.c_ulong(16)); assert fd >= 0"
)


def create_array_map() -> int:
    """A descriptor of a fresh BPF map."""
    names: dict[str, int] = {}
    exec(MAKE_MAP, names)
    return names["fd"]


def test_a_leaked_map_is_seen_and_a_closed_one_is_not():
    """Protects the session-wide check at the end of every test run from being blind."""
    before = leftovers.snapshot()
    fd = create_array_map()
    found = leftovers.remaining(before, alone=False, patience=0)
    assert any(entry.startswith("map ") for entry in found)
    os.close(fd)
    assert not leftovers.remaining(before, alone=False)


def test_an_instance_is_seen():
    before = leftovers.snapshot()
    path = leftovers.TRACEFS / "instances" / f"probescope_{os.getpid()}_test"
    path.mkdir()
    try:
        assert leftovers.remaining(before, alone=False, patience=0) == [f"instance {path.name}"]
    finally:
        path.rmdir()


@pytest.fixture
def stranger(monkeypatch):
    """A process taken for none of ours: it makes a map when a byte comes, and holds it until the pipe closes."""
    monkeypatch.setattr(leftovers, "descendants", lambda _: {os.getpid()})
    code = f"import os; os.read(0, 1); {MAKE_MAP}; os.write(1, b'x'); os.read(0, 1)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process


def test_what_a_stranger_holds_counts_only_where_the_tests_are_alone(stranger):
    """In CI a tracer that outlived its test is a finding, and what a service of the machine loads is not."""
    older = leftovers.snapshot()
    younger = leftovers.Snapshot(older.objects, older.processes - {stranger.pid})
    stranger.stdin.write(b"x")
    stranger.stdin.flush()
    assert stranger.stdout.read(1) == b"x"
    assert not leftovers.remaining(younger, alone=False)
    assert not leftovers.remaining(older, alone=True)
    assert any(entry.startswith("map ") for entry in leftovers.remaining(younger, alone=True, patience=0))
