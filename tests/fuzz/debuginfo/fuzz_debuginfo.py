"""Feeds mutated bytes to every reader of debuginfo: `python tests/fuzz/debuginfo/fuzz_debuginfo.py [SECONDS] [SEED]`.

Each target calls all that a reader offers, and lets pass only the typed errors that it documents. A failure prints
the target and the seed of its input, with which it can be repeated. For coverage-guided fuzzers: ``one(data)``.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from debuginfo_btfmaker import BtfMaker
from debuginfo_elfmaker import SHT_DYNSYM, ElfMaker, Section
from debuginfo_frames import cie, elf_with, section

from probescope.debuginfo import elf_notes, libraries, perf_map, usdt, usdt_args
from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_funcs import BtfFunctions
from probescope.debuginfo.btf_types import BtfTypes
from probescope.debuginfo.demangle import demangle, without_parameters
from probescope.debuginfo.eh_frame import FrameSection
from probescope.debuginfo.eh_pointer import Pointers
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.insn import cost
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.unwind import Registers, unwind
from probescope.debuginfo.unwind_table import table_of
from probescope.errors import BtfError, ElfError
from probescope.model.arch import AARCH64, X86_64

# --- seeds ------------------------------------------------------------------------------------------------------------


def elf_seed(bits: int, little: bool, machine: int = 62) -> bytes:
    import lzma

    m = ElfMaker(
        bits=bits, little=little, machine=machine, interpreter="/lib/ld.so", dynamic=[(1, "libc.so.6"), (14, "me")]
    )
    for i in range(6):
        m.symbol(f"function_{i}", 16 * i, 16 if i % 2 else 0)
    m.symbol("memcpy@@GLIBC_2.14", 0x40, 8, table=SHT_DYNSYM)
    m.build_id(bytes(range(20)))
    m.sections.append(Section(".gnu_debuglink", data=b"x.debug\0\1\2\3\4"))
    m.sections.append(Section(".stapsdt.base", data=b"\0", address=0x100))
    inner = ElfMaker(bits=bits, little=little)
    inner.symbol("hidden", 0x20, 4)
    m.sections.append(Section(".gnu_debugdata", data=lzma.compress(inner.build())))
    m.stapsdt(0x60, 0x100, 0x70, "app", "hello", "-4@%edi 8@-20(%rbp) 4@$5 8@function_1+8(%rip) 4@[sp, 12] x0")
    return m.build()


def btf_seed(little: bool = True) -> bytes:
    b = BtfMaker(little=little)
    i = b.int("int", 4, signed=True)
    c = b.int("char", 1, signed=True)
    inner = b.struct("", 8, [("a", i, 0), ("b", i, 32)])
    s = b.struct("file", 32, [("f_count", i, 0), ("", inner, 32), ("name", b.array(c, 16), 96)])
    p = b.ptr(b.tag("user", b.const(s)))
    b.struct("bits", 8, [("x", i, 3 << 24), ("y", i, 5 << 24 | 3)], kflag=1)
    b.typedef("file_t", s)
    b.enum("color", [("RED", 1), ("GREEN", -2)], signed=True)
    b.enum64("big", [("BIG", 1 << 40)])
    proto = b.proto(i, [("f", p), ("", 0)])
    b.decl_tag("bpf_kfunc", b.func("vfs_read", proto))
    b.typedef("btf_trace_x", b.ptr(b.proto(0, [("__data", p), ("f", p)])))
    b.func("bpf_iter_task", proto)
    b.struct("bpf_iter__task", 8, [("task", p, 0)])
    return b.build()


def stripped_seed(tag: int) -> bytes:
    """Without section headers, so that symbols are found by way of a hash table: DT_HASH (4) or DT_GNU_HASH."""
    m = ElfMaker()
    rows = bytes(24) + m.pack("IBBHQQ", 1, 0x12, 0, 1, 0x10, 8) + m.pack("IBBHQQ", 6, 0x12, 0, 1, 0x20, 8)
    hashes = m.pack("6I", 1, 3, 1, 0, 2, 0) if tag == 4 else m.pack("IIIIQIII", 1, 1, 1, 0, 0, 1, 2, 3)
    m.sections = [Section(".text", data=rows + hashes + bytes(8))]
    start = 0
    for _ in range(2):  # the first time only to see where things come to lie
        m.dynamic = [(14, "func"), (14, "other"), (6, start), (tag, start + len(rows))]
        data = m.build()
        found = ElfFile(data).section(".text")
        assert found is not None
        start = found.offset
    return data[:40] + bytes(8) + data[48:60] + bytes(4) + data[64:]


KALLSYMS = b"".join(
    b"%016x %c name_%d%s\n" % (0x1000 * i, b"tTdD"[i % 4], i, b"\t[mod]" if i > 40 else b"") for i in range(60)
)
PERF_MAP = b"".join(b"%x %x jit_%d\n" % (4096 * i, 512, i) for i in range(40))
NAMES = [
    "_ZNKSt6vectorIiSaIiEE4sizeEv",
    "_ZZN1A1fEvENKUlT_E_clIiEEDaS_",
    "_Z1fIJidEEvDpT_",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
    "_ZN9__gnu_cxxmiIPKcS2_SsEEDTmicldtfp_4baseEcldtfp0_4baseEERKNS_17__normal_iteratorIT_T1_EERKNS4_IT0_S6_EE",
    "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
    "_RNvMs_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVecpE8grow_oneCsdadwybgsbvk_12rustc_middle",
    "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
    "_RNCNCINvNtCs4nK_5utils10needs_drop15drop_tys_helperNCNvB6_12adt_drop_tys0E00B8_",
    "_Z1fPFPFvvEiERA3_A4_iM3FooKFviE",
]
CACHE = (
    libraries.MAGIC
    + (2).to_bytes(4, "little")
    + bytes(24)
    + b"".join(v.to_bytes(4, "little") for v in (0x303, 96, 106, 0, 0, 0, 0x303, 96, 106, 0, 0, 0))
    + b"libc.so.6\0/lib/libc.so.6\0"
)

# --- targets ----------------------------------------------------------------------------------------------------------


def elf(data: bytes) -> None:
    def quiet(call: Callable[[], object]) -> object:
        try:
            return call()
        except ElfError:
            return None

    e = quiet(lambda: ElfFile(data))
    if not isinstance(e, ElfFile):
        return
    for call in (
        e.sections,
        e.segments,
        e.dynamic,
        e.needed,
        e.soname,
        e.interpreter,
        e.notes,
        e.build_id,
        e.debuglink,
    ):
        quiet(call)
    quiet(lambda: [e.section_data(s) for s in e.sections()])
    quiet(lambda: [e.to_offset(a) or e.to_vaddr(a) for a in (0, 0x40, 1 << 40, (1 << 64) - 1)])
    quiet(lambda: (e.is_executable, e.machine))
    for call in (e.symtab, e.dynsym, e.mini_symtab, e.symbols):
        table = quiet(call)
        if table is not None:
            _symbols(table)
    quiet(lambda: usdt.group(usdt.read(e)))


def _symbols(table: object) -> None:
    t: object = table
    for name in ("function_1", "memcpy", "", "\ud800x"):
        t.find(name)  # type: ignore[attr-defined]
    t.match("*_[0-3]")  # type: ignore[attr-defined]
    for address in (0, 0x17, 0x41, 1 << 63):
        t.at(address)  # type: ignore[attr-defined]
    assert len(list(t)) == len(t)  # type: ignore[arg-type, call-overload]


def btf(data: bytes) -> None:
    try:
        types = BtfTypes(Btf.parse(data))
    except BtfError:
        return
    functions = BtfFunctions(types)
    calls: list[Callable[[], object]] = [
        types.names,
        functions.names,
        functions.iterators,
        functions.kfuncs,
        functions.tracepoint_names,
    ]
    calls += [lambda i=i: types.type_of(i) for i in range(types.btf.end_id + 2)]
    calls += [lambda i=i: types.layout(f"struct (anonymous {i})") for i in range(types.btf.end_id + 2)]
    for name in ("struct file", "file_t", "struct bits", "union u", "enum color", "int", "struct file **", "struct "):
        calls += [lambda n=name: types.named(n), lambda n=name: types.layout(n), lambda n=name: types.enum_values(n)]
    calls += [lambda n=n: types.enumerator(n) for n in ("RED", "BIG", "int", "")]
    calls += [lambda n=n: functions.find(n) or functions.tracepoint(n) for n in ("vfs_read", "x", "")]
    for call in calls:
        try:
            call()
        except BtfError:
            continue


def kallsyms(data: bytes) -> None:
    k = Kallsyms(data)
    assert isinstance(k.restricted, bool)
    for a in (0, 1, 0x1001, 0x2A000, 0xFFFFFFFF81000000, 1 << 64, -1):
        k.lookup(a)
    for name in ("name_3", "name_50", "", "\udcff"):
        k.find(name)
        k.address(name)
    list(k.symbols())
    k.functions()


def texts(data: bytes) -> None:
    text = data.decode("latin-1")
    shown = demangle(text)
    assert isinstance(shown, str)
    without_parameters(shown)
    for arch in (X86_64, AARCH64):
        usdt_args.parse(text, usdt_args.Operands(arch, 0x1000, lambda n: len(n) or None))
    for machine in ("x86_64", "aarch64", "riscv"):
        cost(data, machine)


def small_files(data: bytes) -> None:
    libraries.pick("libc", libraries.parse_cache(data))
    m = perf_map.PerfMap(data)
    for a in (0, 4096, 5000, 1 << 63):
        m.at(a)
    for align in (4, 8):
        elf_notes.parse(data, align=align)
    elf_notes.build_id(data)
    elf_notes.debuglink(data)


FRAMES = section(
    cie(bytes([0x0C, 7, 8, 0x90, 1])),
    [
        (0x1000, 64, bytes([0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x0A, 0x50, 0x0C, 7, 8, 0x02, 9, 0x0B])),
        (0x1040, 64, bytes([0x0F, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x44, 0x07, 16])),
        (0x1080, 64, bytes([0x0F, 11, *bytes.fromhex("770880003f1a3b2a332422"), 0x44, 0x12, 7, 0x7F, 0x15, 6, 0x7F])),
    ],
)


def frames(data: bytes) -> None:
    """As the section of an ELF file, and bare with other pointers than its own; tables stay in order."""
    for pointers in (Pointers(data, 0x1000), Pointers(data, 1 << 63, little=False, bits=32)):
        for frame in FrameSection(pointers, "x86_64", little=pointers.address == 0x1000):
            assert frame.start < frame.end
            assert [at for at, _ in frame.rows] == sorted({at for at, _ in frame.rows})
        list(FrameSection(pointers, "aarch64", debug=True))
    try:
        table = table_of(ElfFile(elf_with(data)))
    except ElfError:
        return
    assert list(table.pcs) == sorted(set(table.pcs))
    assert len(table.content()) == table.blocks * 128
    memory = data.ljust(1 << 12, b"\x10")
    stack = unwind(
        Registers(0x1010, 0, 0x100),
        lambda _: (table, 0),
        lambda a: int.from_bytes(memory[a : a + 8], "little") if a < len(memory) else None,
    )
    assert 1 <= len(stack.frames) <= 127


TARGETS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "elf": (
        elf,
        [
            elf_seed(b, le, m)
            for b, le, m in ((64, True, 62), (64, True, 183), (32, True, 3), (64, False, 62), (32, False, 40))
        ],
    ),
    "stripped": (elf, [stripped_seed(4), stripped_seed(0x6FFFFEF5)]),
    "btf": (btf, [btf_seed(True), btf_seed(False)]),
    "frames": (frames, [FRAMES]),
    "kallsyms": (kallsyms, [KALLSYMS, KALLSYMS[:100]]),
    "texts": (texts, [n.encode() for n in NAMES] + [b"-4@%edi 8@-20(%rbp) 4@$5 8@sym+8(%rip)", b"4@[sp, 12] 8@x0"]),
    "small_files": (small_files, [CACHE, PERF_MAP, ElfMaker().note(b"GNU", 3, bytes(20))]),
}


def one(data: bytes) -> None:
    """For coverage-guided fuzzers: the first byte chooses the target."""
    if data:
        list(TARGETS.values())[data[0] % len(TARGETS)][0](data[1:])


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 3, 8, 30))):
        if not data:
            break
        at = rng.randrange(len(data))
        what = rng.randrange(7)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 2:
            data[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\1\0\0\0"))
        elif what == 3:
            del data[at : at + rng.randrange(1, 16)]
        elif what == 4:
            data[at:at] = data[max(0, at - rng.randrange(1, 24)) : at]
        elif what == 5:
            other = rng.choice(seeds)
            data[at : at + 8] = other[at : at + 8]
        else:
            del data[at:]
    return bytes(data)


def run(name: str, seconds: float, seed: int) -> int:
    """Cases run. Raises what a target raises, with the seed in a note; a minute for one case counts as a hang."""
    target, seeds = TARGETS[name]
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = mutated(random.Random(seed + count), seeds)
        start = time.process_time()
        try:
            target(data)
        except Exception as e:
            e.add_note(f"target {name}, seed {seed + count}")
            raise
        assert time.process_time() - start < 60, f"target {name}, seed {seed + count} took too long"
        count += 1
    return count


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    for name in TARGETS:
        print(f"{name}: {run(name, seconds / len(TARGETS), seed)} cases from seed {seed}")


if __name__ == "__main__":
    main()
