"""Types that a script declares, and tables asked in turn. (Offsets are compared with gcc in tests/oracle.)"""

from __future__ import annotations

from types import SimpleNamespace as N

import pytest
from debuginfo_btfmaker import BtfMaker

from probescope.debuginfo import cbase
from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_types import BtfTypes
from probescope.debuginfo.ctype_table import ChainTable, LazyTable, ScriptTypes
from probescope.errors import LimitError, UsageError
from probescope.model.types import BOOL, CHAR, I32, I64, U8, U16, U32, U64, VOID, Array, Enum, Member, Pointer, Struct


def base(name: str) -> N:
    return N(name=name)


def tagged(keyword: str, name: str) -> N:
    return N(keyword=keyword, name=name)


def member(name: str, t: N, bits: int | None = None, inline: N | None = None) -> N:
    return N(name=name, type=t, bits=bits, inline=inline, align=0)


def struct(name: str, *members: N, keyword: str = "struct") -> N:
    return N(keyword=keyword, name=name, members=members, packed=False, align=0)


def enum(name: str, *values: tuple[str, int], base: str = "", packed: bool = False) -> N:
    return N(name=name, values=[N(name=n, value=v) for n, v in values], base=base, packed=packed)


def typedef(name: str, t: N) -> N:
    return N(name=name, type=t, inline=None)


def kernel() -> BtfTypes:
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    n = b.int("long int", 8, signed=True)
    b.struct("file", 16, [("f_mode", i, 0), ("f_pos", n, 64)])
    b.typedef("fmode_t", i)
    b.enum("color", [("RED", 1)])
    return BtfTypes(Btf.parse(b.build()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unsigned", U32),
        ("long long unsigned int", U64),
        ("short unsigned", U16),
        ("signed char", CHAR),
        ("unsigned char", U8),
        ("long", I64),
        ("signed", I32),
        ("_Bool", BOOL),
        ("void", VOID),
        ("__int128", Array(U64, 2)),
        ("unsigned foo", None),
        ("", None),
    ],
)
def test_builtin_spellings(name: str, expected: object) -> None:
    """C lets the words of an integer type stand in any order."""
    assert cbase.builtin(name) == expected


def test_script_types_build_on_those_of_the_kernel() -> None:
    """A script's struct may hold the kernel's, by value and by pointer, and its typedefs."""
    types = ScriptTypes(
        [
            struct(
                "mine",
                member("c", base("char")),
                member("f", tagged("struct", "file")),
                member("mode", base("fmode_t")),
                member("p", N(target=tagged("struct", "unknown"), tags=("user",))),
                member("fn", N(target=N(result=base("int"), params=()))),
                member("tail", N(element=base("char"), count=None)),
            ),
        ],
        kernel(),
    )
    layout = types.layout("struct mine")
    assert layout is not None
    assert layout.members == (
        Member("c", CHAR, 0),
        Member("f", Struct("struct file"), 8),
        Member("mode", I32, 24),
        Member("p", Pointer(Struct("struct unknown"), "user"), 32),
        Member("fn", Pointer(VOID, "none"), 40),
        Member("tail", Array(CHAR, 0), 48),
    )
    assert layout.size == 48
    assert layout.tags == (("p", "user"),)


def test_names_of_script_types() -> None:
    """Typedefs to structs, pointers to them, enumerations of the width that their values need."""
    types = ScriptTypes(
        [
            struct("s", member("x", base("int"))),
            typedef("s_t", tagged("struct", "s")),
            enum("small", ("A", 0), ("B", 200), packed=True),
            enum("negative", ("M", -1)),
            enum("wide", ("W", 1 << 40)),
            enum("based", ("U", 1), base="u16"),
        ]
    )
    assert types.named("s_t **") == Pointer(Pointer(Struct("struct s"), "none"), "none")
    assert types.named("const struct s") == Struct("struct s")
    assert types.named("int") is None  # builtin names are for whoever asks after this table
    layout = types.layout("s_t")
    assert layout is not None
    assert layout.size == 4
    assert types.enumerator("B") == (Enum("small", 1, False), 200)
    assert types.enumerator("M") == (Enum("negative", 4, True), -1)
    assert types.enumerator("W") == (Enum("wide", 8, False), 1 << 40)
    assert types.enumerator("U") == (Enum("based", 2, False), 1)
    assert types.enum_values("small") == (("A", 0), ("B", 200))
    assert types.enumerator("nope") is None


def test_later_declarations_win_and_forward_ones_do_not() -> None:
    """As the compiler's own rules for a header read twice."""
    types = ScriptTypes(
        [struct("s", member("x", base("int"))), N(keyword="struct", name="s", members=None, packed=False, align=0)]
    )
    layout = types.layout("struct s")
    assert layout is not None
    assert layout.size == 4


def test_types_that_have_no_size() -> None:
    """Messages, no tracebacks: a struct in itself, an unknown struct by value or typedef, a wide bit field."""
    types = ScriptTypes(
        [
            struct("self", member("x", tagged("struct", "self"))),
            struct("a", member("x", tagged("struct", "b"))),
            struct("b", member("x", tagged("struct", "a"))),
            struct("unknown_member", member("x", tagged("struct", "nowhere"))),
            struct("unknown_typedef", member("x", base("nowhere_t"))),
            struct("wide", member("x", base("char"), bits=9)),
            struct("bits_of_struct", member("x", tagged("struct", "wide"), bits=1)),
            struct("nothing", member("x", base("void"))),
        ]
    )
    for name in ("self", "a", "unknown_member", "unknown_typedef", "wide", "bits_of_struct", "nothing"):
        with pytest.raises(UsageError):
            types.layout(f"struct {name}")


def test_depth_and_size_are_bounded() -> None:
    """A thousand structs in each other, an array of terabytes, a typedef of itself."""
    nested = [struct("s0", member("x", base("int")))]
    nested += [struct(f"s{i}", member("x", tagged("struct", f"s{i - 1}"))) for i in range(1, 1000)]
    with pytest.raises(LimitError):
        ScriptTypes(nested).layout("struct s999")
    huge = struct("huge", member("x", N(element=N(element=base("long"), count=1 << 20), count=1 << 20)))
    with pytest.raises(LimitError):
        ScriptTypes([huge]).layout("struct huge")
    with pytest.raises(LimitError):
        ScriptTypes([typedef("t", base("t"))]).named("t")


def test_chain_asks_in_turn() -> None:
    """What a script declares hides the kernel's type of that name."""
    mine = ScriptTypes([struct("file", member("x", base("char"))), enum("mine", ("RED", 7))])
    chain = ChainTable(mine, kernel())
    layout = chain.layout("struct file")
    assert layout is not None
    assert layout.size == 1
    assert chain.named("fmode_t") == I32
    assert chain.named("nowhere") is None
    red = chain.enumerator("RED")
    assert red is not None
    assert red[1] == 7
    assert chain.enum_values("color") == (("RED", 1),)
    assert {"struct file", "fmode_t", "enum mine", "enum color"} <= set(chain.names())


def test_lazy_table_loads_once_and_only_when_asked() -> None:
    """A script that names no type of the kernel must not read its BTF."""
    loads = 0

    def load() -> BtfTypes | None:
        nonlocal loads
        loads += 1
        return kernel()

    lazy = LazyTable(load)
    assert loads == 0
    assert lazy.layout("struct file") is not None
    assert lazy.named("fmode_t") == I32
    assert lazy.enumerator("RED") is not None
    assert lazy.enum_values("color") == (("RED", 1),)
    assert "struct file" in lazy.names()
    assert loads == 1
    nothing = LazyTable(lambda: None)
    assert (
        nothing.layout("x"),
        nothing.named("x"),
        nothing.enumerator("x"),
        nothing.enum_values("x"),
        nothing.names(),
    ) == (
        None,
        None,
        None,
        (),
        [],
    )
