"""Laws that hold for any input: slow and obvious ways to the same answers."""

from __future__ import annotations

import fnmatch
import os
import tempfile
from pathlib import Path

from debuginfo_btfmaker import BtfMaker
from debuginfo_elfmaker import ElfMaker
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.debuginfo import usdt_args
from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_types import BtfTypes
from probescope.debuginfo.cbits import place_bits
from probescope.debuginfo.demangle import demangle, without_parameters
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_symbols import glob_matcher
from probescope.debuginfo.kallsyms import Kallsyms
from probescope.debuginfo.locate import in_root
from probescope.debuginfo.symbolize import AddressSpace
from probescope.kernel.procfs import MapEntry
from probescope.model.arch import AARCH64, X86_64
from probescope.model.site import RegMem
from probescope.model.types import U64

SYMBOLS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=12)


@given(SYMBOLS, st.integers(0, 260))
def test_at_agrees_with_looking_at_every_symbol(rows: list[tuple[int, int]], address: int) -> None:
    """Among the symbols with a size that cover an address, one that starts last."""
    m = ElfMaker()
    for i, (start, size) in enumerate(rows):
        m.symbol(f"f{i}", start, size + 1)
    found = ElfFile(m.build()).symbols().at(address)
    covering = [start for start, size in rows if start <= address < start + size + 1]
    assert (found.address if found else None) == max(covering, default=None)
    if found:
        assert found.address <= address < found.address + found.size


@given(st.lists(st.text("abcde_", min_size=1, max_size=6), max_size=12), st.text("abcde_", min_size=1, max_size=6))
def test_find_agrees_with_comparing_every_name(names: list[str], wanted: str) -> None:
    """A name is found if and only if it is there, though names are parts of each other."""
    m = ElfMaker()
    for i, name in enumerate(names):
        m.symbol(name, 16 * i, 4)
    symbols = ElfFile(m.build()).symbols()
    assert [s.address for s in symbols.find_all(wanted)] == [16 * i for i, n in enumerate(names) if n == wanted]


@given(st.lists(st.tuples(st.integers(1, 5000), st.booleans()), min_size=1, max_size=30), st.integers(0, 6000))
def test_kallsyms_agrees_with_a_linear_search(rows: list[tuple[int, bool]], address: int) -> None:
    """Sorted kernel symbols, then modules in any order."""
    core = sorted(a for a, module in rows if not module)
    modules = [a for a, module in rows if module]
    lines = [f"{a:016x} t c{i}\n" for i, a in enumerate(core)] + [
        f"{a:016x} t m{i}\t[x]\n" for i, a in enumerate(modules)
    ]
    found = Kallsyms("".join(lines).encode()).symbol_at(address)
    below = max((a for a, _ in rows if a <= address), default=None)
    assert (found.address if found else None) == below


@given(st.integers(0, 100), st.integers(1, 64), st.sampled_from((1, 2, 4, 8)), st.integers(0, 16))
def test_bit_fields_are_where_they_were_put(at: int, width: int, unit: int, slack: int) -> None:
    """The unit covers the field, and lies inside the struct wherever some unit does."""
    width = min(width, 8 * unit)
    size = (at + width + 7) // 8 + slack
    m = place_bits("x", U64, at, width, unit, size)
    assert 8 * m.offset + m.bit_offset == at
    if m.bit_size == width:
        assert m.bit_offset + width <= 8 * (m.type.size if hasattr(m.type, "size") else 8)
    else:
        assert at % 8 + width > 64  # nine bytes: no unit covers that
    if at // (8 * unit) == (at + width - 1) // (8 * unit) and (at // (8 * unit) + 1) * unit <= size:
        assert m.offset + unit <= size


@given(st.text("ab*?[!]-", max_size=8), st.text("ab-", max_size=8))
def test_globs_match_as_fnmatch_does(glob: str, name: str) -> None:
    """Stars are matched without regular expressions; the answer is the same."""
    assert bool(glob_matcher(glob)(name)) == fnmatch.fnmatchcase(name, glob)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=12))
def test_mappings_cover_as_if_painted_one_after_the_other(rows: list[tuple[int, int]]) -> None:
    """The owner of each address is the last mapping that was made over it."""
    owner: dict[int, int] = {}
    for i, (start, size) in enumerate(rows):
        owner.update(dict.fromkeys(range(start, start + size), i))
    space = AddressSpace([MapEntry(a, a + n, "r-xp", 0, 0, i, f"/{i}", deleted=False) for i, (a, n) in enumerate(rows)])
    found = {a: m.inode for a in range(-1, 70) if (m := space.find(a)) is not None}
    assert found == owner
    assert space.visible() == sorted(set(owner.values()))


PATHS = st.lists(st.sampled_from(["a", "b", "..", ".", "", "loop", "abs", "up"]), max_size=8).map(
    lambda p: "/" + "/".join(p)
)


@settings(max_examples=60)
@given(PATHS)
def test_no_path_leaves_its_root(path: str) -> None:
    """Whatever links a container holds, its files are looked for inside of it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        (root / "a/b").mkdir(parents=True)
        (root / "loop").symlink_to("loop/../loop")
        (root / "abs").symlink_to("/a/../../a")
        (root / "a/up").symlink_to("../../../..")
        found = in_root(str(root), path)
        assert found == str(root) or found.startswith(f"{root}/")
        assert ".." not in found.split("/")
        if os.path.exists(found):
            assert os.path.realpath(found).startswith(str(root))


@given(st.text(max_size=60))
def test_any_text_is_a_name(text: str) -> None:
    """Demangling never raises, and what is not mangled is not touched."""
    for prefix in ("", "_Z", "_ZN", "_R", "_RNv"):
        assert isinstance(demangle(prefix + text), str)
    if not text.startswith("_"):
        assert demangle(text) == text
    without_parameters(text)


@given(
    st.integers(-(1 << 31), 1 << 31),
    st.sampled_from("rax rbx r8 r15 rsp".split()),
    st.sampled_from((1, 2, 4, 8)),
    st.booleans(),
)
def test_memory_operands_keep_their_numbers(offset: int, reg: str, size: int, signed: bool) -> None:
    """Offset, register, size and sign of a USDT operand come out as they went in."""
    text = f"{'-' if signed else ''}{size}@{offset}(%{reg})"
    (field,) = usdt_args.parse(text, usdt_args.Operands(X86_64, 0, lambda _: None))
    assert field is not None
    assert field.where == RegMem(X86_64.aliases.get(reg, reg), offset, size, signed)


@given(st.text("-0123456789@%$()[],# abcdefrsipx+*", max_size=40))
def test_any_argument_text_is_parsed(text: str) -> None:
    """As many fields as arguments, whatever they are."""
    for arch in (X86_64, AARCH64):
        fields = usdt_args.parse(text, usdt_args.Operands(arch, 0x1000, len))
        assert len(fields) == len(usdt_args.split(text))


@given(
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.integers(0, 3)), max_size=20),
    st.text("abc", min_size=1, max_size=3),
)
def test_btf_finds_the_first_of_a_name_and_kind(rows: list[tuple[str, int]], wanted: str) -> None:
    """Structs, unions, typedefs and functions may share a name; ids count from 1 in order."""
    b = BtfMaker()
    proto = b.proto(0, [])
    kinds = []
    for name, kind in rows:
        if kind == 0:
            b.struct(name, 0, [])
        elif kind == 1:
            b.struct(name, 0, [], union=True)
        elif kind == 2:
            b.typedef(name, 0)
        else:
            b.func(name, proto)
        kinds.append((name, (4, 5, 8, 12)[kind]))
    btf = Btf.parse(b.build())
    for kind in (4, 5, 8, 12):
        expected = kinds.index((wanted, kind)) + 2 if (wanted, kind) in kinds else 0
        assert btf.find(wanted, kind) == expected
    assert sorted(btf.names(4, 5, 8, 12)) == sorted(n for n, _ in rows)
    assert (BtfTypes(btf).named(f"struct {wanted}") is not None) == ((wanted, 4) in kinds)
