"""Functions and USDT probes of binaries, as nm, readelf and objdump see them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import sources_programs

from probescope.model.probe import ProbeSpec
from probescope.model.site import Reg, RegMem, Site, UprobeAttach
from probescope.sources import registry
from probescope.sources.boundaries import length
from probescope.sources.context import ResolveContext

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("nm", "readelf", "objdump"))), reason="needs nm, readelf and objdump"
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sources_programs.demo(tmp_path_factory.mktemp("demo"))


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def code_symbols(path: str) -> dict[str, int]:
    """Name to address of what nm calls text (and indirect functions)."""
    rows = re.findall(r"^([0-9a-f]+) [TtWi] (\S+)$", output("nm", path), re.MULTILINE)
    return {name: int(address, 16) for address, name in rows}


def file_offset(path: str, address: int) -> int:
    """By readelf's table of segments."""
    for offset, vaddr, size in re.findall(
        r"LOAD\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", output("readelf", "-lW", path)
    ):
        if int(vaddr, 16) <= address < int(vaddr, 16) + int(size, 16):
            return address - int(vaddr, 16) + int(offset, 16)
    raise AssertionError(hex(address))


def resolve(spec: ProbeSpec, **ctx: object) -> list[Site]:
    return registry.resolve(spec, ResolveContext(max_probes=100_000, **ctx))  # type: ignore[arg-type]


def offsets(sites: list[Site]) -> list[int]:
    return [s.attach.offset for s in sites if isinstance(s.attach, UprobeAttach)]


@pytest.mark.parametrize("name", ["add", "add_alias", "hidden", "main", "choose"])
def test_functions_lie_where_nm_says(demo: str, name: str) -> None:
    """Protects the place in the file: a probe anywhere else overwrites something."""
    (site,) = resolve(ProbeSpec("uprobe", demo, name))
    assert site.name == f"uprobe:{demo}:{name}"
    assert offsets([site]) == [file_offset(demo, code_symbols(demo)[name])]


def test_addresses_and_offsets(demo: str) -> None:
    """Protects FUNCTION+OFFSET and bare addresses, for each instruction that objdump shows."""
    text = output("objdump", "-d", "--no-show-raw-insn", demo)
    body = text.split("<looped>:\n")[1].split("\n\n")[0]
    addresses = [int(a, 16) for a in re.findall(r"^\s+([0-9a-f]+):", body, re.MULTILINE)]
    start = addresses[0]
    assert len(addresses) > 4
    for address in addresses[1:]:
        (by_offset,) = resolve(ProbeSpec("uprobe", demo, "looped", offset=address - start))
        (by_address,) = resolve(ProbeSpec("uprobe", demo, address=address))
        assert offsets([by_offset]) == offsets([by_address]) == [file_offset(demo, address)]
        assert by_address.func == "looped"
        assert by_address.notes == by_offset.notes  # that parameters have names at the entry only


def test_every_function_of_a_program(demo: str) -> None:
    """Protects globs and `list`: the functions of nm, all and nothing else (nm -f sysv says which are functions)."""
    rows = re.findall(
        r"^(\S+)\s*\|[0-9a-f]+\|\s*[Tti]\s*\|\s*(?:FUNC|<OS specific>: 10|GNU_IFUNC|IFUNC)",
        output("nm", "-f", "sysv", demo),
        re.MULTILINE,
    )
    ours = [n.rsplit(":", 1)[1] for n in registry.list_probes(f"uprobe:{demo}:*", ResolveContext())]
    assert {"add", "hidden", "main"} <= set(rows)
    assert set(rows) <= set(ours)
    assert not set(ours) - set(code_symbols(demo))
    sites = resolve(ProbeSpec("uprobe", demo, "add*"))
    assert [s.func for s in sites] == ["add", "add_alias"]


def test_the_dynamic_symbols_of_a_library() -> None:
    """Protects libraries: bare names, and every function of the dynamic table."""
    path = next(p for p in map(Path, ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6")) if p.exists())
    rows = re.findall(r"^[0-9a-f]+ [TWi] (\w+)@", output("nm", "-D", str(path)), re.MULTILINE)
    ours = {n.rsplit(":", 1)[1] for n in registry.list_probes("uprobe:libc:*", ResolveContext())}
    assert set(rows) <= ours
    assert len(rows) > 1000


def readelf_notes(path: str) -> list[tuple[str, str, int, int, str]]:
    """(provider, name, address, semaphore, arguments) of each note."""
    return [
        (provider, name, int(pc, 16), int(semaphore, 16), args)
        for provider, name, pc, semaphore, args in re.findall(
            r"Provider: (\S+)\s+Name: (\S+)\s+Location: 0x([0-9a-f]+), Base: 0x[0-9a-f]+, Semaphore: 0x([0-9a-f]+)\s+"
            r"Arguments: ?([^\n]*)",
            output("readelf", "-nW", path),
        )
    ]


def python_with_usdt() -> str:
    return "/usr/bin/python3.11"


def test_usdt_probes_lie_where_readelf_says(demo: str) -> None:
    """Protects places, semaphores and the number of arguments of every USDT probe."""
    for path in (demo, *filter(lambda p: Path(p).exists(), [python_with_usdt()])):
        notes = readelf_notes(path)
        assert len(notes) > 4
        sites = resolve(ProbeSpec("usdt", path, "*"))
        assert [s.name for s in sites] == [f"usdt:{path}:{p}:{n}" for p, n, *_ in notes]
        assert offsets(sites) == [file_offset(path, pc) for _, _, pc, _, _ in notes]
        for site, (_, _, _, semaphore, args) in zip(sites, notes, strict=True):
            assert isinstance(site.attach, UprobeAttach)
            assert site.attach.ref_ctr == (file_offset(path, semaphore) if semaphore else 0)
            assert len(site.args or ()) == len(args.split())


def test_one_usdt_probe_at_several_places(demo: str) -> None:
    """Protects probes that stand more than once: all places, one name, each with its own operands."""
    sites = resolve(ProbeSpec("usdt", demo, "place", namespace="demo"))
    assert len(sites) == 2
    assert {s.name for s in sites} == {f"usdt:{demo}:demo:place"}
    assert len(set(offsets(sites))) == 2
    for site in sites:
        assert site.args is not None
        assert [str(f.type) for f in site.args] == ["int32", "uint64"] or next(
            str(f.type) for f in site.args
        ) == "int32"
        assert all(isinstance(f.where, Reg | RegMem) for f in site.args)


def test_namespaces_and_globs_of_usdt(demo: str) -> None:
    """Protects the selection by provider and by name."""
    assert [s.name.split(":", 2)[2] for s in resolve(ProbeSpec("usdt", demo, "loop"))] == ["other:loop", "demo:loop"]
    assert [s.func for s in resolve(ProbeSpec("usdt", demo, "loop", namespace="other"))] == ["loop"]
    assert {s.func for s in resolve(ProbeSpec("usdt", demo, "*", namespace="d*"))} == {"place", "bare", "loop"}
    assert list(registry.list_probes(f"usdt:{demo}:demo:*", ResolveContext())) == [
        f"usdt:{demo}:demo:bare",
        f"usdt:{demo}:demo:loop",
        f"usdt:{demo}:demo:place",
    ]


def test_a_stripped_program_with_its_debug_file(tmp_path: Path) -> None:
    """Protects symbols that lie in a separate debug file (.gnu_debuglink)."""
    path = sources_programs.demo(tmp_path)
    expected = offsets(resolve(ProbeSpec("uprobe", path, "hidden")))
    output("objcopy", "--only-keep-debug", path, path + ".debug")
    output("strip", path)
    subprocess.run(["objcopy", "--add-gnu-debuglink", path + ".debug", path], cwd=tmp_path, check=True, timeout=300)
    assert offsets(resolve(ProbeSpec("uprobe", path, "hidden"))) == expected
    assert [s.func for s in resolve(ProbeSpec("uprobe", path, "hid*"))] == ["hidden"]


def test_code_that_begins_with_endbr64(tmp_path: Path) -> None:
    """Protects the cheaper place behind endbr64, and that it is taken only where the next instruction is emulated."""
    path = sources_programs.demo(tmp_path, "-fcf-protection=full", "-fno-omit-frame-pointer", "-O0")
    text = output("objdump", "-d", path)
    assert re.search(r"<twice>:\n.*endbr64 *\n.*push ", text)
    (site,) = resolve(ProbeSpec("uprobe", path, "twice"))
    assert offsets([site]) == [file_offset(path, code_symbols(path)["twice"]) + 4]
    assert isinstance(site.attach, UprobeAttach)
    assert not site.attach.slow
    assert site.name == f"uprobe:{path}:twice"


def test_lengths_of_instructions() -> None:
    """Protects the decoder of lengths: every instruction of bash, as objdump cuts it."""
    path = shutil.which("bash")
    assert path
    text = output("objdump", "-dw", "-j", ".text", path)
    rows = re.findall(r"^\s+[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*\t?(\S*)", text, re.MULTILINE)
    wrong = []
    for raw, name in rows:
        code = bytes.fromhex(raw.replace(" ", ""))
        if name and not name.startswith(("(bad)", ".byte")) and length(code + bytes(15), 0) != len(code):
            wrong.append((raw, name))
    assert len(rows) > 100_000
    assert not wrong[:5]


def test_cpp_names(tmp_path: Path) -> None:
    """Protects names of C++, with and without parameters, by glob and in lists: c++filt says what they are."""
    path = sources_programs.build(tmp_path, "server", sources_programs.CPP_SOURCE)
    mangled = {n for n in code_symbols(path) if n.startswith("_ZN3app")}
    shown = dict(zip(sorted(mangled), output("c++filt", *sorted(mangled)).splitlines(), strict=True))
    assert len(shown) == 3
    both = resolve(ProbeSpec("uprobe", path, "app::Server::handle", language="cpp"))
    assert {s.func for s in both} == {n for n, text in shown.items() if "Server::handle" in text}
    (exact,) = resolve(ProbeSpec("uprobe", path, "app::Server::handle(int)", language="cpp"))
    assert exact.name == f"uprobe:{path}:cpp:app::Server::handle(int)"
    assert offsets([exact]) == [file_offset(path, code_symbols(path)[exact.func])]
    assert {s.func for s in resolve(ProbeSpec("uprobe", path, "app::*", language="cpp"))} == mangled
    listed = list(registry.list_probes(f"uprobe:{path}:cpp:app::*", ResolveContext()))
    assert listed == sorted(f'uprobe:{path}:cpp:"{text}"' for text in shown.values())
