"""USDT notes: places, semaphores, base addresses, and the operands of both architectures."""

from __future__ import annotations

import pytest
from debuginfo_elfmaker import ElfMaker, Section

from probescope.debuginfo import usdt, usdt_args
from probescope.debuginfo.elf import ElfFile
from probescope.model.arch import AARCH64, X86_64
from probescope.model.site import Constant, Field, Location, Reg, RegMem
from probescope.model.types import I16, I32, I64, U8, U32, U64, Int

PC = 0x1000
SYMBOLS = {"counter": 0x4010, "table": 0x4100}


def one(text: str, arch: object = X86_64) -> Field | None:
    (found,) = usdt_args.parse(text, usdt_args.Operands(arch, PC, SYMBOLS.get))  # type: ignore[arg-type]
    return found


X86: list[tuple[str, Int, Location]] = [
    ("-4@%edi", I32, Reg("di", 4, signed=True)),
    ("8@%rax", U64, Reg("ax", 8)),
    ("1@%dil", U8, Reg("di", 1)),
    ("1@%r11b", U8, Reg("r11", 1)),
    ("-2@%ax", I16, Reg("ax", 2, signed=True)),
    ("4@$5", U32, Constant(5)),
    ("-4@$-1", I32, Constant(-1)),
    ("4@$-1", U32, Constant(0xFFFFFFFF)),
    ("8@$0xdeadbeef", U64, Constant(0xDEADBEEF)),
    ("8@-20(%rbp)", U64, RegMem("bp", -20, 8)),
    ("-4@112(%rsp)", I32, RegMem("sp", 112, 4, signed=True)),
    ("8@(%rsi)", U64, RegMem("si", 0, 8)),
    ("8@(%rax,%rbx,4)", U64, RegMem("ax", 0, 8, index="bx", scale=4)),
    ("8@16(%rax,%r12)", U64, RegMem("ax", 16, 8, index="r12", scale=1)),
    ("-8@counter(%rip)", I64, RegMem("ip", 0x4010 - PC, 8, signed=True)),
    ("8@counter+8(%rip)", U64, RegMem("ip", 0x4018 - PC, 8)),
    ("8@8+counter(%rip)", U64, RegMem("ip", 0x4018 - PC, 8)),
    ("8@counter-16(%rip)", U64, RegMem("ip", 0x4000 - PC, 8)),
    ("4@counter", U32, RegMem("ip", 0x4010 - PC, 4)),
    ("8@$table+16", U64, Constant(0x4110)),
    ("8@table(,%rbx,1)", U64, RegMem("bx", 0x4100, 8)),
    ("8f@%rax", U64, Reg("ax", 8)),  # a double that the compiler keeps in an integer register: its bits
    ("4f@-8(%rbp)", U32, RegMem("bp", -8, 4)),
]


@pytest.mark.parametrize(("text", "kind", "place"), X86, ids=[x[0] for x in X86])
def test_operands_of_x86(text: str, kind: Int, place: Location) -> None:
    """A wrong register or sign shows a wrong value that nobody would doubt."""
    assert one(text) == Field("arg0", kind, place)


ARM: list[tuple[str, Int, Location]] = [
    ("8@x0", U64, Reg("x0", 8)),
    ("-4@w1", I32, Reg("x1", 4, signed=True)),
    ("8@sp", U64, Reg("sp", 8)),
    ("8@x29", U64, Reg("x29", 8)),
    ("4@[sp, 12]", U32, RegMem("sp", 12, 4)),
    ("-4@[x29, -4]", I32, RegMem("x29", -4, 4, signed=True)),
    ("8@[x19, #16]", U64, RegMem("x19", 16, 8)),
    ("8@[x0]", U64, RegMem("x0", 0, 8)),
    ("8@[x1, x2, lsl 3]", U64, RegMem("x1", 0, 8, index="x2", scale=8)),
    ("8@[x1, x2]", U64, RegMem("x1", 0, 8, index="x2", scale=1)),
    ("-4@5", I32, Constant(5)),
    ("-4@-3", I32, Constant(-3)),
    ("8@#7", U64, Constant(7)),
    ("4@wzr", U32, Constant(0)),
]


@pytest.mark.parametrize(("text", "kind", "place"), ARM, ids=[x[0] for x in ARM])
def test_operands_of_aarch64(text: str, kind: Int, place: Location) -> None:
    """Blanks stand inside the brackets there."""
    assert one(text, AARCH64) == Field("arg0", kind, place)


@pytest.mark.parametrize(
    "text",
    [
        "8f@%xmm0",
        "1@%ah",
        "8@%fs:16",
        "8@unknown(%rip)",
        "8@16(%rip)",
        "8@(%rip",
        "8@",
        "@%rax",
        "16@%rax",
        "8%rax",
        "8@(,%rbx,8)",
    ],
)
def test_what_cannot_be_read_has_no_place(text: str) -> None:
    """Vector registers, %ah, thread-local memory, symbols of stripped files, nonsense: rather none than a wrong one."""
    assert one(text) is None


@pytest.mark.parametrize("text", ["8@d0", "8@[x1, w2, sxtw 3]", "8@[x0, #:lo12:sym]", "8@[", "8@[foo]", "8@v0"])
def test_what_cannot_be_read_on_aarch64(text: str) -> None:
    """Floating point registers and extended indexes."""
    assert one(text, AARCH64) is None


def test_several_arguments_keep_their_places() -> None:
    """One that cannot be read must not shift the others."""
    text = "8@%rdi 8f@%xmm0 -4@$3"
    found = usdt_args.parse(text, usdt_args.Operands(X86_64, PC, SYMBOLS.get))
    assert [f and f.name for f in found] == ["arg0", None, "arg2"]
    assert usdt_args.split("4@[sp, 12] 8@x0  -4@(%rax,%rbx,4)") == ["4@[sp, 12]", "8@x0", "-4@(%rax,%rbx,4)"]
    assert usdt_args.split("") == []
    assert len(usdt_args.split("1@$1 " * 10_000)) == usdt_args.MAX_ARGS


def sample(machine: int = 62, bits: int = 64) -> ElfMaker:
    m = ElfMaker(bits=bits, base=0x400000, machine=machine)
    m.symbol("counter", 0x400080, 8, type=1)
    return m


def test_places_are_file_offsets() -> None:
    """uprobes and reference counters want offsets in the file, notes have addresses."""
    m = sample()
    m.stapsdt(0x400010, 0, 0x400020, "app", "hello", "-4@%edi 8@counter(%rip)")
    m.stapsdt(0x400014, 0, 0, "app", "hello", "")
    m.stapsdt(0x400018, 0, 0, "app", "bye", "8@%rax")
    probes = usdt.read(ElfFile(m.build()))
    assert [(p.pc, p.address, p.semaphore) for p in probes] == [
        (0x10, 0x400010, 0x20),
        (0x14, 0x400014, 0),
        (0x18, 0x400018, 0),
    ]
    second = probes[0].args[1]
    assert second is not None
    assert second.where == RegMem("ip", 0x70, 8)
    groups = usdt.group(probes)
    assert {k: len(v) for k, v in groups.items()} == {("app", "hello"): 2, ("app", "bye"): 1}


def test_prelinked_files() -> None:
    """If .stapsdt.base moved since the notes were written, probes and semaphores move with it."""
    m = sample()
    m.sections.append(Section(".stapsdt.base", address=0x400100))
    m.stapsdt(0x10, 0x80, 0x20, "app", "hello", "")
    (probe,) = usdt.read(ElfFile(m.build()))
    assert (probe.address, probe.pc, probe.semaphore) == (0x400090, 0x90, 0xA0)


def test_malformed_notes_are_left_out() -> None:
    """Cut descriptors, places outside of the file, names without an end; the sound one stays."""
    m = sample()
    m.notes = [
        m.note(b"stapsdt", 3, b"short"),
        m.note(b"stapsdt", 3, bytes(24) + b"noend"),
        m.note(b"other", 3, bytes(40)),
    ]
    m.stapsdt(1 << 60, 0, 0, "app", "far", "")
    m.stapsdt(0x400010, 0, 1 << 60, "app", "far_semaphore", "")
    m.stapsdt(0x400010, 0, 0, "", "nameless", "")
    m.stapsdt(0x400010, 0, 0, "app", "fine", "")
    assert [p.name for p in usdt.read(ElfFile(m.build()))] == ["fine"]


def test_other_architectures_have_probes_without_arguments() -> None:
    """i386 is not known, but its probes are still counted and listed."""
    m = sample(machine=3, bits=32)
    m.stapsdt(0x400010, 0, 0, "app", "hello", "4@%eax 4@$1")
    (probe,) = usdt.read(ElfFile(m.build()))
    assert probe.args == (None, None)
    assert probe.text == "4@%eax 4@$1"


def test_aarch64_file() -> None:
    """The architecture of the file decides, not that of this machine."""
    m = sample(machine=183)
    m.stapsdt(0x400010, 0, 0, "app", "hello", "8@x0")
    (probe,) = usdt.read(ElfFile(m.build()))
    assert probe.args == (Field("arg0", U64, Reg("x0", 8)),)
