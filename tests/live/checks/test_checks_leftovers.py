"""The proof that nothing is left behind must see a thing that is left behind."""

from __future__ import annotations

import ctypes
import os
import platform
import struct

import leftovers


def create_array_map() -> int:
    """A descriptor of a fresh BPF array map: bpf_attr of BPF_MAP_CREATE (0) starts with type, key, value, entries."""
    libc = ctypes.CDLL(None, use_errno=True)
    attr = ctypes.create_string_buffer(struct.pack("=IIII", 2, 4, 4, 1), 16)
    number = leftovers.BPF_SYSCALL[platform.machine()]
    fd = libc.syscall(ctypes.c_long(number), ctypes.c_long(0), attr, ctypes.c_ulong(16))
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def test_a_leaked_map_is_seen_and_a_closed_one_is_not():
    """Protects the session-wide check at the end of every test run from being blind."""
    before = leftovers.snapshot()
    fd = create_array_map()
    found = leftovers.remaining(before, everything=False, patience=0)
    assert any(entry.startswith("map ") for entry in found)
    os.close(fd)
    assert not leftovers.remaining(before, everything=False)


def test_an_instance_is_seen():
    before = leftovers.snapshot()
    path = leftovers.TRACEFS / "instances" / f"probescope_{os.getpid()}_test"
    path.mkdir()
    try:
        assert leftovers.remaining(before, everything=False, patience=0) == [f"instance {path.name}"]
    finally:
        path.rmdir()
