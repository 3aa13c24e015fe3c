"""Formats of tracepoints: fields, places and types from the text that tracefs gives, and no harm from any other
text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import FormatError
from probescope.model.site import CtxBytes, CtxLoad, DataLoc, Field
from probescope.model.types import (
    BOOL,
    CHAR,
    I8,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    VOID,
    Array,
    Enum,
    Int,
    Layout,
    Pointer,
    String,
    Struct,
    Type,
)
from probescope.sources.tracepoint_format import MAX_FIELDS, MAX_TEXT, FormatParser, declarations, parse_id

SCHED_SWITCH = """name: sched_switch
ID: 372
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;

print fmt: "prev_comm=%s;\toffset:1;\tsize:2;\tsigned:0;", REC->prev_comm
"""


def line(declaration: str, offset: int = 8, size: int = 4, signed: int = 0) -> str:
    return f"\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"


def one(declaration: str, size: int, signed: int = 0, *, syscall: bool = False, table: object = None) -> Field:
    (field,) = FormatParser(table, 256).fields(line(declaration, 8, size, signed), syscall=syscall)  # type: ignore[arg-type]
    return field


def test_a_whole_format() -> None:
    """Protects names, offsets and types of an everyday event; the print fmt line holds no field."""
    fields = FormatParser(None, 64).fields(SCHED_SWITCH)
    assert fields == (
        Field("common_type", U16, CtxLoad(0, 2)),
        Field("common_flags", U8, CtxLoad(2, 1)),
        Field("common_pid", I32, CtxLoad(4, 4)),
        Field("prev_comm", String(16), CtxBytes(8, 16)),
        Field("prev_pid", I32, CtxLoad(24, 4)),
        Field("prev_state", I64, CtxLoad(32, 8)),
    )
    assert parse_id(SCHED_SWITCH) == 372
    assert declarations(SCHED_SWITCH) == ["char prev_comm[16]", "pid_t prev_pid", "long prev_state"]


@pytest.mark.parametrize(
    ("declaration", "size", "signed", "expected"),
    [
        ("u32 ip", 4, 0, U32),
        ("unsigned long x", 8, 0, U64),
        ("bool x", 1, 0, BOOL),
        ("xfs_ino_t ino", 8, 0, U64),  # a typedef that nobody explains: by size and sign
        ("s8 x", 1, 1, I8),
        ("enum zone_type z", 4, 0, Enum("zone_type", 4, signed=False)),
        ("void * p", 8, 0, Pointer(VOID, "kernel")),
        ("const char * name", 8, 0, Pointer(CHAR, "kernel")),
        ("const char __user * name", 8, 0, Pointer(CHAR, "user")),
        ("const char *const * argv", 8, 0, Pointer(Pointer(CHAR, "kernel"), "kernel")),
        ("struct sock * sk", 8, 0, Pointer(Struct("struct sock"), "kernel")),
        ("void __seg_gs * p", 8, 0, Pointer(VOID, "kernel")),
    ],
)
def test_scalars(declaration: str, size: int, signed: int, expected: Type) -> None:
    """Protects the width, sign and space of every kind of scalar."""
    assert one(declaration, size, signed) == Field(declaration.split()[-1], expected, CtxLoad(8, size))


@pytest.mark.parametrize(
    ("declaration", "size", "expected"),
    [
        ("__u8 saddr[4]", 4, Array(U8, 4)),
        ("unsigned long args[6]", 48, Array(U64, 6)),
        ("char name[TASK_COMM_LEN]", 16, String(16)),  # kernels before 5.17 print the constant's name
        ("unsigned char key[2][3]", 6, Array(U8, 6)),
        ("struct nobody_knows x[2]", 16, Array(U64, 2)),
        ("__u8 prefix[16]", 16, Array(U8, 16)),
    ],
)
def test_arrays(declaration: str, size: int, expected: Type) -> None:
    """Protects arrays: char arrays are strings, others keep their elements."""
    field = one(declaration, size)
    assert (field.type, field.where) == (expected, CtxBytes(8, size))


def test_data_that_lies_elsewhere_in_the_record() -> None:
    """Protects __data_loc and __rel_loc words (kernel 5.19)."""
    assert one("__data_loc char[] name", 4) == Field("name", String(256), DataLoc(8))
    assert one("__rel_loc char[] name", 4) == Field("name", String(256), DataLoc(8, relative=True))
    assert one("__data_loc u64[] v", 4) == Field("v", Pointer(U64, "kernel"), DataLoc(8))


def test_system_call_arguments_have_their_c_width() -> None:
    """Protects a trap: the record holds a whole register, of which the kernel looks at the argument's bytes only."""
    assert one("int dfd", 8, syscall=True) == Field("dfd", I32, CtxLoad(8, 4))
    assert one("umode_t mode", 8, syscall=True) == Field("mode", U16, CtxLoad(8, 2))
    assert one("const char * filename", 8, syscall=True).type == Pointer(CHAR, "user")
    assert one("const enum landlock_rule_type t", 8, syscall=True) == Field(
        "t", Enum("landlock_rule_type", 4), CtxLoad(8, 4)
    )
    assert one("int x", 8, 0).type == Int(8, signed=False)  # not a system call: the record's own word


class Table:
    """What a kernel's BTF would say."""

    def named(self, name: str) -> Type | None:
        return {"fl_owner_t": Pointer(VOID, "none"), "sigset_t": Struct("sigset_t"), "xfs_ino_t": U64}.get(name)

    def layout(self, name: str) -> Layout | None:
        return Layout(name, 8, ()) if name == "struct pair" else None


def test_types_out_of_btf() -> None:
    """Protects what only a type table can tell: typedefs of pointers and structs, sizes of structs."""
    assert one("fl_owner_t owner", 8, table=Table()).type == Pointer(VOID, "kernel")
    assert one("sigset_t * set", 8, syscall=True, table=Table()).type == Pointer(Struct("sigset_t"), "user")
    assert one("struct pair x[3]", 24, table=Table()).type == Array(Struct("struct pair"), 3)
    assert one("struct pair x", 8, table=Table()) == Field("x", Struct("struct pair"), CtxBytes(8, 8))


@pytest.mark.parametrize(
    "text",
    [
        line("int x", 1 << 17, 4),  # outside any record
        line("int x", 8, 0),
        "\tfield:int x;\toffset:8;\tsize:-4;\tsigned:1;\n",
        "\tfield:;\toffset:8;\tsize:4;\tsigned:1;\n",
        "\tfield:" + "x" * 600 + ";\toffset:8;\tsize:4;\tsigned:1;\n",
    ],
)
def test_a_line_without_sense_is_left_out(text: str) -> None:
    """Protects against records that lie: no field may point outside, and nothing fails for the others."""
    assert FormatParser(None, 64).fields(text + line("int good")) == (Field("good", U32, CtxLoad(8, 4)),)


def test_formats_are_bounded() -> None:
    """Protects memory: text without end and fields without number."""
    with pytest.raises(FormatError):
        FormatParser(None, 64).fields(" " * (MAX_TEXT + 1))
    many = "".join(line(f"int x{i}") for i in range(2 * MAX_FIELDS))
    assert len(FormatParser(None, 64).fields(many)) == MAX_FIELDS
    with pytest.raises(FormatError):
        parse_id("format:\n")


@given(st.text(st.sampled_from("field:;\t\n offset12size[]*__data_loc char signed") | st.characters(), max_size=300))
def test_any_text_is_survived(text: str) -> None:
    """Protects against tracebacks on text from outside: it may hold anything."""
    FormatParser(None, 64).fields("\tfield:" + text + ";\toffset:8;\tsize:4;\tsigned:1;\n")
    declarations(line(text.replace(";", "").replace("\n", "")))
