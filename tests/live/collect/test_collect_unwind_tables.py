"""Unwind tables as user space puts them into the kernel's maps: for whom, of which files, what does not fit."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
from collect_programs import build
from collect_run import Waiting, until
from collect_unwind import unwound

from probescope.bpf.pieces import _UNWIND
from probescope.collect import unwind_files
from probescope.collect.execute import _create
from probescope.collect.processes import Processes
from probescope.collect.unwinding import Tables, Unwinding
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.unwind_table import table_of
from probescope.errors import KernelError
from probescope.kernel import procfs
from probescope.kernel.bpf_map import Map
from probescope.kernel.vdso import vdso
from probescope.model import unwind as u

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="unwound by tables on x86-64 only")


@pytest.fixture
def maps() -> Iterator[dict[str, Map]]:
    made = {name: _create(spec) for name, spec in _UNWIND.items()}
    yield made
    for m in made.values():
        m.close()


def inner_map(number: bytes) -> Map:
    """The map in a map of maps, by the id that looking it up gives."""
    from probescope.kernel import bpf
    from probescope.kernel.bpf_map import map_info
    from probescope.kernel.uapi import bpf as k

    fd = bpf.create(k.BPF_MAP_GET_FD_BY_ID, bytearray(number + bytes(8)))
    info = map_info(fd)
    return Map(fd, 2, 4, info.value_size, info.max_entries, "inner")


def mappings(maps: dict[str, Map], pid: int) -> list[tuple[int, ...]]:
    found = maps["unwind_pids"].lookup(struct.pack("=I", pid))
    assert found is not None
    with inner_map(found) as held:
        rows = [held.lookup(struct.pack("=I", i)) or b"" for i in range(held.max_entries)]
    assert struct.unpack_from("=Q", rows[0])[0] == len(rows) - 1
    return [u.MAPPING.unpack(row) for row in rows[1:]]


def test_tables_hold_what_the_files_say(maps: dict[str, Map]) -> None:
    """Ascending mappings; for an address of each executable one the kernel's row is the file's own rule."""
    with Waiting(unwound(), "nested") as target:
        processes = Processes()
        Tables(maps, vdso, always=False).give(target.pid, space := processes.space(target.pid))  # type: ignore[arg-type]
        rows = mappings(maps, target.pid)
    assert [r[0] for r in rows] == sorted(r[0] for r in rows)
    assert len(rows) >= 4  # the program, libc, ld.so, the vDSO
    for start, size, bias, bundle, first, blocks, _ in rows:
        m = space.find(start)  # type: ignore[union-attr]
        if m is None or m.path == "[vdso]":
            continue
        with ElfFile.open(m.path) as elf:
            table = table_of(elf)
        found = maps["unwind_tables"].lookup(struct.pack("=I", bundle))
        assert found is not None
        with inner_map(found) as held:
            content = b"".join(held.lookup(struct.pack("=I", first + i)) or b"" for i in range(blocks))
        assert content == table.content()
        with ElfFile.open(m.path) as elf:
            vaddr = elf.to_vaddr(start - m.start + m.offset)
        assert vaddr is not None
        assert start - bias & (1 << 64) - 1 == vaddr - table.base
        assert size > 0


FRAMED = (
    "#include <unistd.h>\n"
    + "".join(f"__attribute__((noinline)) void f{i}(volatile int *p) {{ *p += {i}; }}\n" for i in range(40))
    + "void _start(void) { volatile int x = 0; for (;;) { "
    + "".join(f"f{i}(&x); " for i in range(40))
    + "} }\n"
)


@pytest.mark.parametrize(("always", "expected"), [(False, 0), (True, 1)])
def test_a_process_with_frame_pointers_has_none_unless_asked(maps: dict[str, Map], always: bool, expected: int) -> None:
    """An empty list says that frame pointers will do: nobody asks again."""
    path = build("framed", FRAMED, "-O0", "-static", "-nostdlib")
    target = subprocess.Popen([path])
    try:
        # descriptors are closed by exec before the program is mapped: its list is empty for a moment
        until(lambda: any(m.path == path for m in procfs.maps(target.pid)), "the program is not mapped")
        space = Processes().space(target.pid)
        assert space is not None
        Tables(maps, vdso, always=always).give(target.pid, space)
        assert bool(mappings(maps, target.pid)) == bool(expected)
    finally:
        target.kill()
        target.wait()


def test_what_does_not_fit_is_told(maps: dict[str, Map], monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget of 64 KB: libc is left out, by name; the program itself has its table."""
    monkeypatch.setattr(unwind_files, "MOST_BYTES", 64 << 10)
    with Waiting(unwound(), "nested") as target:
        unwinding = Unwinding(maps, Processes(), always=False)
        with closing(unwinding):
            unwinding.start([target.pid])
            lost = list(unwinding.losses())
        rows = mappings(maps, target.pid)
    assert any("libc.so.6 does not fit" in o.about for o in lost)
    assert rows


def test_a_kernel_that_refuses_is_told(maps: dict[str, Map], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory for the tables stacks are walked by frame pointers; the session goes on."""

    def refuse(*_: object, **__: object) -> Map:
        raise KernelError("bpf(BPF_MAP_CREATE)", 12)

    monkeypatch.setattr(unwind_files, "map_create", refuse)
    with Waiting(unwound(), "nested") as target:
        unwinding = Unwinding(maps, Processes(), always=False)
        unwinding.start([target.pid])
        (lost,) = unwinding.losses()
        unwinding.close()
    assert f"process {target.pid} has no unwind tables" in lost.about


def test_an_ended_process_is_forgotten(maps: dict[str, Map]) -> None:
    """Its id may be another's soon."""
    tables = Tables(maps, vdso, always=False)
    with Waiting(unwound(), "nested") as target:
        space = Processes().space(target.pid)
        assert space is not None
        tables.give(target.pid, space)
        assert mappings(maps, target.pid)
    tables.forget(target.pid)
    assert maps["unwind_pids"].lookup(struct.pack("=I", target.pid)) is None


def test_processes_without_memory_or_files_are_no_trouble(maps: dict[str, Map]) -> None:
    """A thread of the kernel, and a process id that nobody has."""
    unwinding = Unwinding(maps, Processes(), always=True)
    unwinding.start([2, 4_000_000])
    assert list(unwinding.losses()) == []
    unwinding.close()


def test_many_changes_of_a_process_are_followed_by_the_last_one(maps: dict[str, Map]) -> None:
    """Exchanging a list takes some 10 ms: changes must not pile up. An end takes the list away."""
    with Waiting(unwound(), "nested") as target:
        processes = Processes()
        space = processes.space(target.pid)
        assert space is not None
        unwinding = Unwinding(maps, processes, always=False)
        unwinding.start([])
        for _ in range(500):
            unwinding._ask(target.pid)
        until(lambda: maps["unwind_pids"].lookup(struct.pack("=I", target.pid)) is not None, "no list")
        assert unwinding._jobs.qsize() <= 1
        unwinding._work_on(target.pid, None)
        until(lambda: maps["unwind_pids"].lookup(struct.pack("=I", target.pid)) is None, "the list is still there")
        unwinding.close()


def test_a_thread_that_comes_too_late_touches_nothing(maps: dict[str, Map]) -> None:
    """The session is over while a large file's table is being made: its maps are closed then."""
    with Waiting(unwound(), "nested") as target:
        processes = Processes()
        unwinding = Unwinding(maps, processes, always=False)
        unwinding.start([])
        space = processes.space(target.pid)
        unwinding.close()
        assert space is not None
        unwinding.tables.give(target.pid, space)
        unwinding.tables.forget(target.pid)
        assert unwinding.tables.failed == {}
        assert maps["unwind_pids"].lookup(struct.pack("=I", target.pid)) is None
