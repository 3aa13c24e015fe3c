"""Addresses of processes to names, with mappings made by hand."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from debuginfo_elfmaker import ElfMaker

from probescope.debuginfo import symbolize
from probescope.debuginfo.perf_map import PerfMap
from probescope.debuginfo.symbolize import AddressSpace, Place, UserSymbols
from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Map:
    start: int
    end: int
    offset: int
    path: str
    inode: int = 0


def library(path: Path, name: str, base: int = 0x1000) -> Path:
    m = ElfMaker(base=base)
    m.symbol(name, base + 0x100, 16)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(m.build())
    return path


def space_of(path: Path, *, root: str = "", pid: int = 0, inode: int = 0) -> AddressSpace:
    shown = str(path).removeprefix(root)
    return AddressSpace([Map(0x7F0000000000, 0x7F0000001000, 0, shown, inode)], root, pid)


def test_an_address_goes_through_mapping_offset_and_segment(tmp_path: Path) -> None:
    """The name, the offset from it, the file; and the offset in the file where nothing is named."""
    path = library(tmp_path / "lib.so", "work")
    users = UserSymbols()
    space = space_of(path)
    places = users.symbolize(space, [0x7F0000000104, 0x7F0000000080, 0x7F0000002000, 0x7F0000000104])
    assert places == [
        Place(0x7F0000000104, "work", 4, str(path)),
        Place(0x7F0000000080, "", 0x80, str(path)),
        Place(0x7F0000002000, "", 0, ""),
        Place(0x7F0000000104, "work", 4, str(path)),
    ]


def test_offset_of_a_mapping_in_the_middle_of_a_file(tmp_path: Path) -> None:
    """Code segments are mapped from some offset on."""
    path = library(tmp_path / "lib.so", "work")
    space = AddressSpace([Map(0x5000, 0x6000, 0x100, str(path))])
    assert UserSymbols().symbolize(space, [0x5004])[0][1:3] == ("work", 4)


def test_later_mappings_replace_earlier_ones() -> None:
    """Mappings as they were made one after the other: a program that was replaced by another, a library mapped over."""
    old, new, inner = Map(0x2000, 0x6000, 0, "old"), Map(0x1000, 0x3000, 0, "new"), Map(0x4000, 0x5000, 0, "inner")
    space = AddressSpace([old, new, inner, Map(0x9000, 0x9000, 0, "empty")])
    found = {
        a: m.path if (m := space.find(a)) else None for a in (0, 0x1000, 0x2FFF, 0x3000, 0x4800, 0x5000, 0x6000, 0x9000)
    }
    assert found == {
        0: None,
        0x1000: "new",
        0x2FFF: "new",
        0x3000: "old",
        0x4800: "inner",
        0x5000: "old",
        0x6000: None,
        0x9000: None,
    }


def test_captured_files_answer_after_they_are_gone(tmp_path: Path) -> None:
    """A process ended and its program was removed: what was captured still has names."""
    path = library(tmp_path / "lib.so", "work")
    users, late = UserSymbols(), UserSymbols()
    space = space_of(path)
    users.capture(space)
    path.unlink()
    assert users.symbolize(space, [0x7F0000000104])[0].symbol == "work"
    assert late.symbolize(space, [0x7F0000000104]) == [Place(0x7F0000000104, "", 0x104, str(path))]


def test_a_replaced_file_gives_no_wrong_names(tmp_path: Path) -> None:
    """After an upgrade the path leads to other code than the process runs."""
    path = library(tmp_path / "lib.so", "work")
    inode = path.stat().st_ino
    library(tmp_path / "new", "other").replace(path)
    assert path.stat().st_ino != inode
    place = UserSymbols().symbolize(space_of(path, inode=inode), [0x7F0000000104])[0]
    assert place.symbol == ""


def test_files_inside_another_root(tmp_path: Path) -> None:
    """The same path in a container is another file."""
    library(tmp_path / "root/lib.so", "inside")
    users = UserSymbols()
    space = space_of(tmp_path / "root/lib.so", root=str(tmp_path / "root"))
    (place,) = users.symbolize(space, [0x7F0000000104])
    assert (place.symbol, place.module) == ("inside", "/lib.so")


def test_one_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    """Hard links and bind mounts share an identity."""
    path = library(tmp_path / "a.so", "work")
    os.link(path, tmp_path / "b.so")
    users = UserSymbols()
    for name in ("a.so", "b.so"):
        assert users.symbolize(space_of(tmp_path / name), [0x7F0000000104])[0].symbol == "work"
    assert len(users._objects) == 1


def test_open_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of libraries must not use up the descriptors; evicted ones are opened again."""
    monkeypatch.setattr(symbolize, "MAX_OBJECTS", 4)
    users = UserSymbols()
    before = len(os.listdir("/proc/self/fd"))
    paths = [library(tmp_path / f"{i}.so", f"work_{i}") for i in range(20)]
    for _ in range(2):
        for i, path in enumerate(paths):
            assert users.symbolize(space_of(path), [0x7F0000000104])[0].symbol == f"work_{i}"
    assert len(os.listdir("/proc/self/fd")) <= before + 5


def test_files_that_are_no_elf(tmp_path: Path) -> None:
    """Data files, cut ones and folders are mapped too."""
    users = UserSymbols()
    (tmp_path / "data").write_bytes(b"data")
    cut = library(tmp_path / "cut.so", "work")
    cut.write_bytes(cut.read_bytes()[:200])
    for path in (tmp_path / "data", cut, tmp_path, tmp_path / "gone"):
        place = users.symbolize(space_of(path), [0x7F0000000104])[0]
        assert (place.symbol, place.module) == ("", str(path))


def test_jit_code_from_the_map_of_its_process(tmp_path: Path) -> None:
    """Anonymous memory is named by /tmp/perf-PID.map of the process's own root; a map that grew is read again."""
    file = tmp_path / "tmp/perf-42.map"
    file.parent.mkdir()
    file.write_text("1000 40 Function:~add /srv/app.js:12\n")
    users = UserSymbols()
    space = AddressSpace([Map(0x1000, 0x3000, 0, ""), Map(0x4000, 0x5000, 0, "/memfd:jit")], str(tmp_path), 42)
    assert users.symbolize(space, [0x1004])[0][1:3] == ("Function:~add /srv/app.js:12", 4)
    assert users.symbolize(space, [0x2000])[0].symbol == ""
    with file.open("a") as f:
        f.write("2000 10 later\n4000 10 in_memfd\n")
    assert [p.symbol for p in users.symbolize(space, [0x2000, 0x4001])] == ["later", "in_memfd"]
    file.unlink()  # with its process; what was read stays
    assert users.symbolize(space, [0x2001])[0].symbol == "later"


def test_jit_map_that_is_a_link_or_fifo_is_not_read(tmp_path: Path) -> None:
    """Anybody may write to /tmp."""
    (tmp_path / "tmp").mkdir()
    os.mkfifo(tmp_path / "tmp/perf-1.map")
    users = UserSymbols()
    assert users.symbolize(AddressSpace([], str(tmp_path), 1), [0x1000])[0].symbol == ""


def test_perf_map_lines() -> None:
    """Names may hold blanks; nonsense is skipped; of two lines for one start the later one counts."""
    m = PerfMap(b"10 8 a b c\nzz 1 x\n20\n20 8 old\n20 10 new\n-5 1 x\n30 0 empty\n" + b"9" * 30 + b" 1 x\n")
    assert len(m) == 3
    assert [m.at(a) for a in (0x10, 0x17, 0x18, 0x2F, 0x30, 0)] == [
        ("a b c", 0),
        ("a b c", 7),
        None,
        ("new", 15),
        None,
        None,
    ]


def test_perf_map_of_a_hostile_writer() -> None:
    """Half a million lines cost a few times their own size; a name of megabytes is cut, and neither numbers of
    megabytes nor underscores, which Python would take, are numbers."""
    text = b"".join(b"%x 10 function_%d\n" % (0x7F0000000000 + 16 * i, i) for i in range(500_000))
    tracemalloc.start()
    m = PerfMap(text)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert m.at(0x7F0000000000 + 16 * 499_999 + 5) == ("function_499999", 5)
    assert now < 24 * 500_000 + 1_000_000
    assert peak < 6 * len(text)
    long = PerfMap(b"10 10 " + b"x" * 10_000_000 + b"\n" + b"1" * 1_000_000 + b" 10 y\n20 10 z\n3_0 1_0 u\n")
    assert long.at(0x10) == ("x" * 4096, 0)
    assert long.at(0x2F) == ("z", 15)
    assert len(long) == 2


def test_perf_maps_are_kept_as_far_as_memory_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many processes with great maps: the first ones are let go and read again when they are asked for."""
    monkeypatch.setattr(symbolize, "MAX_PERF_MAP_BYTES", 3000)
    (tmp_path / "tmp").mkdir()
    spaces = [AddressSpace([], str(tmp_path), pid) for pid in range(1, 6)]
    for space in spaces:
        (tmp_path / "tmp" / f"perf-{space.pid}.map").write_bytes(b"1000 10 f%d\n" % space.pid + b"#" * 1000)
    symbols = UserSymbols()
    for _ in range(2):
        assert [symbols.symbolize(s, [0x1000])[0].symbol for s in spaces] == ["f1", "f2", "f3", "f4", "f5"]
    assert len(symbols._perf_maps) == 2


def test_vdso_and_vsyscall() -> None:
    """Kernel code in user space: the vDSO is an ELF file in memory, the vsyscall page has three fixed entries."""
    m = ElfMaker()
    m.symbol("__vdso_gettimeofday", 0x100, 16)
    space = AddressSpace(
        [Map(0x7FFF0000, 0x7FFF2000, 0, "[vdso]"), Map(0xFFFFFFFFFF600000, 0xFFFFFFFFFF601000, 0, "[vsyscall]")]
    )
    users = UserSymbols(m.build)
    assert users.symbolize(space, [0x7FFF0104])[0] == Place(0x7FFF0104, "__vdso_gettimeofday", 4, "[vdso]")
    assert users.symbolize(space, [0xFFFFFFFFFF600402])[0][1:3] == ("time", 2)
    for broken in (lambda: b"", lambda: b"no elf"):
        assert UserSymbols(broken).symbolize(space, [0x7FFF0104])[0].symbol == ""
