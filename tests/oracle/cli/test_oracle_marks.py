"""What probescope.h and probescope.point leave in files, as binutils and bpftrace read it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from marked_program import NAMES, compiled, missing

from probescope.debuginfo import usdt
from probescope.kernel.point_image import MACHINES, image

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")

WAYS = [
    "gcc -std=c99 -O0",
    "gcc -std=c99 -O2 -pie -fPIE",
    "gcc -std=gnu17 -O3 -no-pie",
    "gcc -std=c11 -O1 -flto",
    "gcc -std=c99 -O2 -fPIC -shared -DLIBRARY",
    "gcc -std=c99 -O2 -ffunction-sections -Wl,--gc-sections -s",
    "g++ -std=c++11 -O0",
    "g++ -std=c++11 -O2 -fPIC -shared -DLIBRARY",
    "g++ -std=c++20 -O3",
    "clang -std=c99 -O0",
    "clang -std=c99 -O2",
    "clang++ -std=c++11 -O0",
    "clang++ -std=c++17 -O3 -fPIC -shared -DLIBRARY",
    "aarch64-linux-gnu-gcc -std=c99 -O0",
    "aarch64-linux-gnu-gcc -std=c99 -O2 -fPIC -shared -DLIBRARY",
    "aarch64-linux-gnu-g++ -std=c++11 -O2",
]
NOTE = re.compile(
    r"Provider: (\S+)\n\s*Name: (\S+)\n\s*Location: (\S+), Base: (\S+), Semaphore: (\S+)\n\s*Arguments: ?(.*)"
)


def notes(path: str) -> list[tuple[str, ...]]:
    done = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True, env={"LC_ALL": "C"})
    assert not done.stderr
    return NOTE.findall(done.stdout)


def sections(path: str) -> dict[str, int]:
    """Addresses by name."""
    done = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True, env={"LC_ALL": "C"})
    return {name: int(at, 16) for name, at in re.findall(r"\] (\.\S+)\s+[A-Z]\S+\s+([0-9a-f]{16})", done.stdout)}


@pytest.mark.parametrize("way", WAYS)
def test_notes_are_those_of_usdt(way: str, tmp_path: Path) -> None:
    """Protects the layout: readelf understands each note; the base is where its section lies; of eight arguments each
    has its size and sign; a lazy probe, and no other, has a semaphore, one for all its places. No warning of a
    compiler, and all of it as our own reader has it."""
    if why := missing(way):
        pytest.skip(why)
    path = compiled(tmp_path, way)
    found = notes(path)
    assert {n[:2] for n in found} >= NAMES
    [base] = {int(n[3], 16) for n in found if n[:2] in NAMES}
    assert base == sections(path).get(".stapsdt.base", 0)  # lld drops it by --gc-sections, and says 0
    [many] = {tuple(a.split("@")[0] for a in n[5].split(" ")) for n in found if n[1] == "many"}
    assert many == ("-4", "-4", "4", "8", "8", "8", many[6], "-4")
    assert many[6] in ("4", "-4")  # bits of an unsigned bit field: C promotes them to int, C++ takes the declared type
    listeners = {n[4] for n in found if n[1] == "lazy"}
    assert len(listeners) == 1
    assert int(*listeners, 16) != 0
    assert all(int(n[4], 16) == 0 for n in found if n[1] != "lazy")
    ours = usdt.read_path(path)
    assert [(p.provider, p.name, p.address, p.text) for p in ours] == [(n[0], n[1], int(n[2], 16), n[5]) for n in found]
    assert all(a is not None for p in ours for a in p.args)


@pytest.mark.parametrize("way", ["gcc -std=c99 -O2", "g++ -std=c++11 -O2"])
def test_a_mark_is_one_byte_of_code(way: str, tmp_path: Path) -> None:
    """Protects the price while nobody listens: a mark without arguments is a nop and nothing else."""
    if why := missing(way):
        pytest.skip(why)
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    source = '#include "probescope.h"\nint f(int x) { PROBESCOPE_POINT(a, b); PROBESCOPE_POINT(a, c, x); return x; }\n'
    path = compiled(tmp_path, f"{way} -fPIC -shared -fno-asynchronous-unwind-tables -fcf-protection=none", source)
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    body = re.search(r"<(?:f|_Z1fi)>:\n((?:.+\n)+)", shown.stdout)
    assert body is not None
    words = [line.split(":\t")[1].split()[0] for line in body[1].splitlines()]
    assert words[: words.index("ret") + 1] == [*["nop"] * 2, "mov", "ret"] or sorted(
        words[: words.index("ret") + 1]
    ) == ["mov", "nop", "nop", "ret"]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_file_of_a_point(machine: str, tmp_path: Path) -> None:
    """Protects what Python's points map: binutils read it as an ELF file with two probes and their counters."""
    page = 4096 if machine == "x86_64" else 65536
    made = image("parse", MACHINES[machine], page)
    path = tmp_path / "point"
    path.write_bytes(made.data)
    found = notes(str(path))
    assert [n[:2] for n in found] == [("probescope", "parse__begin"), ("probescope", "parse__end")]
    assert [int(n[2], 16) for n in found] == [made.begin, made.end]
    assert [int(n[4], 16) for n in found] == [page, page + 2]
    assert {int(n[3], 16) for n in found} == {sections(str(path))[".stapsdt.base"]}
    assert sections(str(path))[".probes"] == page
    ours = usdt.read_path(str(path))
    assert [(p.pc, p.semaphore, len(p.args)) for p in ours] == [(made.begin, page, 6), (made.end, page + 2, 0)]
    lint = subprocess.run(["readelf", "-aW", str(path)], capture_output=True, text=True, check=True)
    assert not lint.stderr


def test_bpftrace_lists_them(tmp_path: Path) -> None:
    """Protects other tracers."""
    if shutil.which("bpftrace") is None or missing("gcc"):
        pytest.skip("needs bpftrace and gcc")
    path = compiled(tmp_path, "gcc -O2")
    done = subprocess.run(["bpftrace", "-l", f"usdt:{path}:*"], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {f"usdt:{path}:{provider}:{name}" for provider, name in NAMES}
