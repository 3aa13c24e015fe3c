"""This kernel and processes of this machine: kallsyms, BTF, a running program, its vDSO, its USDT notes."""

from __future__ import annotations

import bisect
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from work import instructions

from probescope.debuginfo import btf_cache, libraries, usdt
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.btf_funcs import BtfFunctions
from probescope.debuginfo.btf_types import BtfTypes
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.symbolize import AddressSpace, KernelSymbols, UserSymbols
from probescope.kernel import procfs
from probescope.model.site import Constant, Reg, RegMem

VMLINUX = "/sys/kernel/btf/vmlinux"


def kallsyms() -> bytes:
    return Path("/proc/kallsyms").read_bytes()


# --- the kernel -------------------------------------------------------------------------------------------------------


def test_bisection_agrees_with_a_full_search() -> None:
    """20,000 random addresses of this kernel: the first symbol at the greatest address below."""
    k = Kallsyms(kallsyms())
    if k.restricted:
        pytest.skip("needs root: addresses are hidden")
    symbols = sorted(k.symbols(), key=lambda s: s.address)  # stable: aliases stay in the order of the text
    starts = [s.address for s in symbols]
    rng = random.Random(1)
    for _ in range(20_000):
        address = rng.choice(starts) + rng.randrange(64)
        at = bisect.bisect_right(starts, address) - 1
        expected = symbols[bisect.bisect_left(starts, starts[at])]
        found = k.symbol_at(address)
        assert found == expected or expected.address == 0


def test_first_kernel_symbol_is_found_fast() -> None:
    """A stack is printed at once: no loop of Python over 120,000 symbols before it (11,000 instructions today)."""
    text = kallsyms()

    def first() -> None:
        k = KernelSymbols(lambda: text)
        address = k.table.address("vfs_read")
        if not address:
            pytest.skip("needs root: addresses are hidden")
        (place,) = k.symbolize([address + 4])
        assert place[1:] == ("vfs_read", 4, "")

    assert instructions(first) < 30_000


def test_btf_answers_fast_and_faster_from_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """struct file of 126,000 types: 2,500,000 instructions of Python cold, a twentieth of that cached."""
    if not os.path.exists(VMLINUX):
        pytest.skip("this kernel has no BTF")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def look() -> None:
        layout = BtfTypes(btf_cache.load(VMLINUX)).layout("struct file")
        assert layout is not None
        assert layout.member("f_op") is not None

    cold = instructions(look)
    cached = instructions(look)
    assert cold < 5_000_000
    assert cached < cold / 8


def test_tracepoints_of_btf_are_those_of_tracefs() -> None:
    """Every typedef btf_trace_X can be attached to by the name X; sched_switch has its three tasks and states."""
    if not os.path.exists(VMLINUX):
        pytest.skip("this kernel has no BTF")
    f = BtfFunctions(BtfTypes(btf_cache.load(VMLINUX)))
    names = set(f.tracepoint_names())
    assert {"sched_switch", "sys_enter", "sys_exit"} <= names
    switch = f.tracepoint("sched_switch")
    assert switch is not None
    assert [p.name for p in switch.params][:3] == ["preempt", "prev", "next"]
    assert {"task", "task_file", "bpf_map"} <= set(f.iterators())


# --- a running program ------------------------------------------------------------------------------------------------

PROGRAM = r"""
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) static int hidden(int x) { return x * 3; }
int visible(int x) { return hidden(x) + 1; }
int main(int argc, char **argv) {
    printf("%p %p %p\n", (void *)visible, (void *)hidden, (void *)main);
    fflush(stdout);
    getchar();
    return visible(argc) & 0;
}
"""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def build(tmp_path: Path, source: str, *flags: str) -> Path:
    (tmp_path / "p.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "p", tmp_path / "p.c", *flags], check=True)
    return tmp_path / "p"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path, list[int]]]:
    path = build(tmp_path, PROGRAM, "-pie", "-fPIE")
    process = subprocess.Popen([str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    addresses = [int(a, 16) for a in process.stdout.readline().split()]
    yield process, path, addresses
    process.kill()
    process.communicate()


def test_names_of_a_running_program_and_after_its_end(running: tuple[subprocess.Popen[str], Path, list[int]]) -> None:
    """Addresses that the program told itself get the compiler's names; still so when it is gone."""
    process, path, addresses = running
    users = UserSymbols()
    space = AddressSpace(procfs.maps(process.pid), pid=process.pid)
    users.capture(space)
    expected = [("visible", 1), ("hidden", 1), ("main", 1)]
    assert [p[1:3] for p in users.symbolize(space, [a + 1 for a in addresses])] == expected
    process.send_signal(signal.SIGKILL)
    process.wait()
    path.unlink()
    assert [p[1:3] for p in users.symbolize(space, [a + 1 for a in addresses])] == expected


def test_offsets_for_uprobes_are_the_code_that_runs(running: tuple[subprocess.Popen[str], Path, list[int]]) -> None:
    """The bytes of the file at a function's offset are those in the memory of the process at its address."""
    process, path, addresses = running
    binary = Binary(str(path))
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        for name, address in zip(("visible", "hidden", "main"), addresses, strict=True):
            memory.seek(address)
            assert binary.elf.source.read(binary.place(name), 16) == memory.read(16)
    binary.close()


def test_libc_of_a_running_program(running: tuple[subprocess.Popen[str], Path, list[int]]) -> None:
    """The bare name libc leads to the file that the process has mapped."""
    process, _, _ = running
    mapped = {os.path.realpath(m.path) for m in procfs.maps(process.pid) if m.path.startswith("/")}
    assert os.path.realpath(libraries.find_library("libc", os.uname().machine)[0]) in mapped


def test_vdso_of_this_machine(running: tuple[subprocess.Popen[str], Path, list[int]]) -> None:
    """Our own vDSO names the addresses of another process's."""
    from probescope.debuginfo.elf import ElfFile

    process, _, _ = running
    ours = next((m for m in procfs.maps(os.getpid()) if m.path == "[vdso]"), None)
    theirs = next((m for m in procfs.maps(process.pid) if m.path == "[vdso]"), None)
    if ours is None or theirs is None:
        pytest.skip("not on this architecture: no vDSO")
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        memory.seek(ours.start)
        image = memory.read(ours.end - ours.start)
    symbols = ElfFile(image).symbols()
    symbol = symbols.find("__vdso_clock_gettime") or symbols.find("__kernel_clock_gettime")
    assert symbol is not None
    space = AddressSpace(procfs.maps(process.pid))
    (place,) = UserSymbols(lambda: image).symbolize(space, [theirs.start + symbol.address + 2])
    assert place.symbol in {symbol.name, symbol.name.removeprefix("__vdso_")}
    assert place.offset == 2


USDT = r"""
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__attribute__((section(".probes"))) unsigned short app_hello_semaphore, other_bare_semaphore;
long counter = 7;
int main(int argc, char **argv) {
    STAP_PROBE3(app, hello, argc, argv[0], (short)5);
    STAP_PROBE2(app, hello, counter, (unsigned char)argc);
    STAP_PROBE(other, bare);
    return 0;
}
"""


def test_usdt_of_a_compiled_program(tmp_path: Path) -> None:
    """Sites, and arguments of each kind, as this machine's compiler and sys/sdt.h write them."""
    if not any(Path(d, "sys/sdt.h").exists() for d in ("/usr/include", f"/usr/include/{os.uname().machine}-linux-gnu")):
        pytest.skip("needs sys/sdt.h (package systemtap-sdt-dev)")
    path = build(tmp_path, USDT)
    probes = usdt.read_path(str(path))
    assert [(p.provider, p.name) for p in probes] == [("app", "hello"), ("app", "hello"), ("other", "bare")]
    first, second, bare = (p.args for p in probes)
    assert bare == ()
    assert [a and (a.type.size, a.type.signed) for a in first] == [(4, True), (8, False), (2, True)]  # type: ignore[attr-defined]
    assert first[2] is not None
    assert first[2].where == Constant(5)
    assert all(a is not None and isinstance(a.where, Reg | RegMem) for a in (*first[:2], *second))
    places = [p.semaphore for p in probes]
    with Binary(str(path)).elf as elf:
        for name, place in (("app_hello_semaphore", places[0]), ("other_bare_semaphore", places[2])):
            symbol = elf.symbols().find(name)
            assert symbol is not None
            assert elf.to_offset(symbol.address) == place
    assert places[0] == places[1] != places[2]
