"""Which of several names an address has, and the files of just-in-time compilers."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest
from debuginfo_elfmaker import FUNC, GLOBAL, LOCAL, WEAK, ElfMaker

from probescope.debuginfo import jitdump, perf_map
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_names import FunctionNames
from probescope.debuginfo.kallsyms import Kallsyms

Alias = tuple[str, int, int]
CHOICES: list[tuple[list[Alias], str]] = [
    ([("sized", 8, LOCAL), ("unsized", 0, GLOBAL)], "sized"),
    ([("weak", 8, WEAK), ("local", 8, LOCAL)], "local"),
    ([("local", 8, LOCAL), ("global", 8, GLOBAL)], "global"),
    ([("__libc_free", 8, GLOBAL), ("free", 8, GLOBAL)], "free"),
    ([("free", 8, GLOBAL), ("cfree@GLIBC_2.2.5", 8, GLOBAL)], "cfree@GLIBC_2.2.5"),
    ([("one", 8, GLOBAL), ("two", 8, GLOBAL)], "one"),
    ([("label", 0, GLOBAL), ("last", 0, LOCAL)], "last"),
]


@pytest.mark.parametrize(("aliases", "chosen"), CHOICES, ids=[c for _, c in CHOICES])
def test_the_name_that_perf_chooses(aliases: list[Alias], chosen: str) -> None:
    """Each rule decides only where those before it do not. Expected: what perf's own rules say."""
    maker = ElfMaker()
    for name, size, bind in aliases:
        maker.symbol(name, 0x40, size, type=FUNC, bind=bind)
    elf = ElfFile(maker.build())
    table = elf.symtab()
    assert table is not None
    assert FunctionNames(elf, [table]).at(0x43) == (chosen, 0x40)


def test_aliases_of_the_kernel() -> None:
    """The last one, as perf; %pS of the kernel itself has the first. Data of other kinds are no code."""
    text = b"ffffffff81000000 T _text\n" + b"".join(
        b"ffffffff81001000 %s\n" % s
        for s in (b"t __do_sys_gettid", b"T __ia32_sys_gettid", b"T __x64_sys_gettid", b"r x")
    )
    k = Kallsyms(text)
    assert k.lookup(0xFFFFFFFF81001004) == ("__do_sys_gettid", 4, "")
    assert k.lookup(0xFFFFFFFF81001004, last=True) == ("__x64_sys_gettid", 4, "")


# --- JITs


def dump(*records: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "IIIIIIQQ", jitdump.MAGIC, 1, 40, 62, 0, 7, 1, 0) + b"".join(records)


def record(kind: int, body: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "IIQ", kind, 16 + len(body), 5) + body


def load(start: int, size: int, name: str, order: str = "<") -> bytes:
    body = struct.pack(order + "IIQQQQ", 7, 7, start, start, size, 1) + name.encode() + b"\0" + bytes(size)
    return record(jitdump.LOAD, body, order)


def written(tmp_path: Path, data: bytes) -> jitdump.JitDump | None:
    (tmp_path / "jit-7.dump").write_bytes(data)
    return jitdump.load(str(tmp_path / "jit-7.dump"))


@pytest.mark.parametrize("order", "<>")
def test_jitdump(tmp_path: Path, order: str) -> None:
    """Loaded, loaded anew in the same place, moved; lines; a cut record at the end. By the specification."""
    lines = struct.pack(order + "QQ", 0x1000, 2)
    lines += struct.pack(order + "QII", 0x1000, 3, 0) + b"a.js\0" + struct.pack(order + "QII", 0x1008, 9, 0) + b"\xff\0"
    move = struct.pack(order + "IIQQQQQ", 7, 7, 0x1000, 0x1000, 0x5000, 32, 1)
    records = (
        load(0x1000, 16, "old", order),
        record(jitdump.DEBUG_INFO, lines, order),
        load(0x1000, 32, "new", order),
        record(jitdump.MOVE, move, order),
        record(99, b"from the future", order),
        load(0x2000, 8, "last", order),
        load(0x3000, 8, "cut", order)[:-4],
    )
    found = written(tmp_path, dump(*records, order=order))
    assert found is not None
    places = (0xFFF, 0x1000, 0x101F, 0x1020, 0x5004, 0x2001, 0x3000)
    assert [found.at(a) for a in places] == [None, ("new", 0), ("new", 31), None, ("new", 4), ("last", 1), None]
    assert [found.line(a) for a in (0x1004, 0x1008, 0x2000)] == [("a.js", 3), ("a.js", 9), None]


def test_jitdump_of_anybody(tmp_path: Path) -> None:
    """Random changes of sound files, and what is none: a table or nothing, never an exception."""
    rng = random.Random(5)
    sound = dump(*(load(0x1000 * i, 16, f"f{i}") for i in range(1, 9)), record(jitdump.DEBUG_INFO, bytes(40)))
    for _ in range(600):
        data = bytearray(sound[: rng.randrange(len(sound) + 1)])
        for _ in range(rng.randrange(4)):
            if data:
                data[rng.randrange(len(data))] = rng.choice((0, 1, 0xFF, rng.randrange(256)))
        found = written(tmp_path, bytes(data))
        assert found is None or len(found) <= 9
    (tmp_path / "link").symlink_to(tmp_path / "jit-7.dump")
    assert jitdump.load(str(tmp_path / "link")) is None
    assert jitdump.load(str(tmp_path)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to somebody else takes root")
def test_files_of_others_are_not_read(tmp_path: Path) -> None:
    """Everybody may write in /tmp, and name their functions as they like."""
    path = tmp_path / "perf-7.map"
    path.write_text("1000 10 f\n")
    assert perf_map.load(str(path), force=False) is not None
    os.chown(path, 65534, 65534)
    assert perf_map.load(str(path), force=False) is None
    assert perf_map.load(str(path), force=True) is not None
