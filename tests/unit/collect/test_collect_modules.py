"""Where the files of a recording are looked for, and that no other one's names are shown."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from debuginfo_elfmaker import ElfMaker

from probescope.collect.recorded.missing import lines, missing
from probescope.collect.recorded.search import Here, Kind, Search
from probescope.collect.recorded.symbols import KERNEL, Frame, Symbols, shown_name
from probescope.debuginfo.symbolize import AddressSpace
from probescope.formats.symbolfile import SavedSymbols, SymbolFile, write_symbols
from probescope.model.recording import MappedFile

ID = bytes(range(20))
OTHER = bytes(range(1, 21))


def elf(name: str, build_id: bytes = ID) -> bytes:
    maker = ElfMaker()
    maker.build_id(build_id)
    if name:
        maker.symbol(name, 0x40, 16)
    return maker.build()


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def frame(s: Symbols, path: str, *, build_id: bytes = ID, inode: int = 0, pid: int = 7, address: int = 0x1044) -> Frame:
    m = MappedFile(pid=pid, start=0x1000, size=0x1000, path=path, build_id=build_id, inode=inode)
    return s.frame(AddressSpace([m], pid=pid), address, kernel=False)


def nobody(_: object) -> dict[str, str]:
    return {}


def test_the_file_itself(tmp_path: Path) -> None:
    path = str(put(tmp_path / "prog", elf("f")))
    assert frame(Symbols(Here(), {}), path) == Frame(0x1044, "f", 4, path, start=0x40)
    inode = Path(path).stat().st_ino
    assert frame(Symbols(Here(), {}), path, build_id=b"", inode=inode).name == "f"
    assert frame(Symbols(Here(), {path: ID.hex()}), path, build_id=b"").name == "f"  # told in the file's header


def test_another_build_has_no_say(tmp_path: Path) -> None:
    """Installed anew since: its functions lie elsewhere. No name, and the reason is told."""
    path = str(put(tmp_path / "prog", elf("wrong", OTHER)))
    s = Symbols(Here(), {})
    assert frame(s, path).name == ""
    found = missing(s, nobody)
    assert [(m.module, m.places) for m in found] == [(path, 1)]
    assert OTHER.hex() in found[0].why
    assert "--symfs" in lines(found)[0]
    s = Symbols(Here(), {})
    assert frame(s, path, build_id=b"", inode=1).name == ""
    assert "replaced" in missing(s, nobody)[0].why


def test_places(tmp_path: Path) -> None:
    """perf's cache, --symfs, the root of a process's mount namespace: each has the right file while the path has
    another."""
    path = str(put(tmp_path / "prog", elf("wrong", OTHER)))
    home = tmp_path / "home"
    put(home / f".debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}/elf", elf("cached"))
    assert frame(Symbols(Here(home=str(home)), {}), path).name == "cached"
    symfs = tmp_path / "sysroot"
    put(Path(f"{symfs}{path}"), elf("there"))
    assert frame(Symbols(Here(), {}, search=Search(symfs=str(symfs))), path).name == "there"
    root = tmp_path / "root"
    put(Path(f"{root}{path}"), elf("inside"))
    here = Here(root=lambda pid: str(root) if pid == 7 else "")
    assert frame(Symbols(here, {}), path).name == "inside"
    assert frame(Symbols(here, {}), path, pid=8).name == ""


def test_debug_files(tmp_path: Path) -> None:
    """A stripped file's functions are in perf's cache of debug files, or come from a server: the right one only."""
    path = str(put(tmp_path / "prog", elf("")))
    put(tmp_path / f"home/.debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}/debug", elf("from_cache"))
    assert frame(Symbols(Here(home=f"{tmp_path}/home"), {}), path).name == "from_cache"
    served = str(put(tmp_path / "served", elf("from_server")))
    asked: list[tuple[str, Kind]] = []

    def fetch(build_id: str, kind: Kind) -> str:
        asked.append((build_id, kind))
        return served

    assert frame(Symbols(Here(), {}, search=Search(fetch=fetch)), path).name == "from_server"
    assert frame(Symbols(Here(), {}, search=Search(fetch=fetch)), "/gone").name == "from_server"
    assert asked == [(ID.hex(), "debuginfo"), (ID.hex(), "executable")]
    put(tmp_path / "served", elf("wrong", OTHER))
    assert frame(Symbols(Here(), {}, search=Search(fetch=fetch)), path).name == ""
    assert frame(Symbols(Here(), {}, search=Search(fetch=fetch)), "/gone").name == ""


def test_stripped_files_are_told(tmp_path: Path) -> None:
    path = str(put(tmp_path / "prog", elf("")))
    s = Symbols(Here(), {})
    assert frame(s, path).name == ""
    found = missing(s, lambda paths: dict.fromkeys(paths, "apt install prog-dbgsym"))
    assert [(m.module, m.why, m.help) for m in found] == [(path, "is stripped", "apt install prog-dbgsym")]


def saved(*tables: SavedSymbols) -> SymbolFile:
    out = io.BytesIO()
    write_symbols(out, tables)
    out.seek(0)
    return SymbolFile(out)


def test_tables_saved_beside_the_recording(tmp_path: Path) -> None:
    """On another machine: files, the kernel and JITs, of the recorded build only; what is here comes first."""
    file = saved(
        SavedSymbols("file", "/prog", ID, starts=[0x40], sizes=[16], names=["_ZN2ns1fEi"]),
        SavedSymbols("kernel", KERNEL, OTHER, starts=[0xFFFFFFFF81001000], sizes=[0], names=["do_it"]),
        SavedSymbols("jit", "/tmp/perf-7.map", pid=7, starts=[0x9000], sizes=[16], names=["js"]),
    )
    search = Search(saved=file, demangle="short")
    s = Symbols(Here(), {KERNEL: OTHER.hex()}, search=search)
    assert frame(s, "/prog") == Frame(0x1044, "ns::f", 4, "/prog", start=0x40)
    assert frame(s, "/prog", build_id=OTHER).name == ""
    assert s.frame(None, 0xFFFFFFFF81001008, kernel=True).name == "do_it"
    space = AddressSpace([MappedFile(pid=7, start=0x9000, size=64, path="//anon")], pid=7)
    assert s.frame(space, 0x9004, kernel=False) == Frame(0x9004, "js", 4, "/tmp/perf-7.map", start=0x9000)
    path = str(put(tmp_path / "prog", elf("here")))
    assert frame(Symbols(Here(), {}, search=search), path).name == "here"
    put(tmp_path / "prog", elf(""))  # stripped here
    assert frame(Symbols(Here(), {}, search=search), path).name == "ns::f"


def test_kernels(tmp_path: Path) -> None:
    """A copy of kallsyms; a vmlinux, moved to where the kernel was; perf's cache by build-id; else nothing, and why."""
    text = b"ffffffff81000000 T _text\nffffffff81001000 T there\n"
    path = str(put(tmp_path / "kallsyms", text))
    core = MappedFile(pid=-1, start=0xFFFFFFFF82000000, size=1 << 28, offset=0xFFFFFFFF82000000, path=f"{KERNEL}_text")

    def name(s: Symbols) -> str:
        s.kernel_maps([core])
        return s.frame(None, 0xFFFFFFFF82001004, kernel=True).name

    assert name(Symbols(Here(), {}, search=Search(kallsyms=path))) == "there"
    maker = ElfMaker(base=0xFFFFFFFF81000000)
    maker.symbol("_text", 0xFFFFFFFF81000000, 0)
    maker.symbol("built", 0xFFFFFFFF81001000, 64)
    vmlinux = str(put(tmp_path / "vmlinux", maker.build()))
    assert name(Symbols(Here(), {}, search=Search(vmlinux=vmlinux))) == "built"
    put(tmp_path / f".debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}/kallsyms", text)
    assert name(Symbols(Here(home=str(tmp_path)), {KERNEL: ID.hex()})) == "there"
    s = Symbols(Here(home=str(tmp_path)), {KERNEL: OTHER.hex()})
    assert name(s) == ""
    assert "--vmlinux" in missing(s, nobody)[0].help


def test_maps_of_jits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the very process, in its own /tmp while it lives; nothing that could command a terminal is shown."""
    root = tmp_path / "root"
    put(root / "tmp/perf-3.map", b"9000 40 evil\x1b]0;title\n")
    here = Here(root=lambda _: str(root), pid_inside=lambda pid: 3 if pid == 7 else pid)
    for pid, expected in ((7, "evil\\x1b]0;title"), (8, "")):
        space = AddressSpace([MappedFile(pid=pid, start=0x9000, size=64, path="//anon")], pid=pid)
        assert Symbols(here, {}).frame(space, 0x9010, kernel=False).name == expected


def test_names_for_people() -> None:
    """Expected of ``short``: what perf prints, and c++filt -p."""
    assert shown_name("_ZN2ns1fIiEEvT_", "full") == "void ns::f<int>(int)"
    assert shown_name("_ZN2ns1fIiEEvT_", "short") == "ns::f<int>"
    assert shown_name("_ZN2ns1fIiEEvT_", "none") == "_ZN2ns1fIiEEvT_"
    assert shown_name("_ZNK1AclEiPFvcE.part.0", "short") == "A::operator()"
    assert shown_name("_RNvC7mycrate3foo", "short") == "mycrate::foo"
    assert shutil.which("main") is None or shown_name("main", "short") == "main"
