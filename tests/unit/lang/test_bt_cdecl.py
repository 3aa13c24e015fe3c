"""C declarations: what is declared, in the words of C; printing them gives C again."""

from __future__ import annotations

import pytest
from lang_shape import program

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt.cdecl import CDeclaration, CEnum, CStruct, CTypedef
from probescope.lang.bt.parser import parse
from probescope.lang.bt.printer_c import declaration_text


def declared(text: str) -> tuple[CDeclaration, ...]:
    return program(text).declarations


def members(text: str) -> str:
    """The members of the only struct, as printed C without the line structure."""
    (struct,) = declared(text)
    return " ".join(declaration_text(struct).split())


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("struct S { int x, *y; char z[4]; }", "struct S { int x; int *y; char z[4]; };"),
        (
            "struct S { unsigned long int a; long unsigned b; short c; }",
            "struct S { unsigned long a; unsigned long b; short c; };",
        ),
        (
            "struct S { signed char a; unsigned b; _Bool c; u32 d; }",
            "struct S { signed char a; unsigned int b; bool c; u32 d; };",
        ),
        ("struct S { int a:3, :2, b : 1 + 1; }", "struct S { int a : 3; int : 2; int b : 2; };"),
        ("struct S { int m[2][3], *p[4], (*q)[4]; }", "struct S { int m[2][3]; int *p[4]; int (*q)[4]; };"),
        (
            "struct S { int (*f)(int, char *); void (*g)(void); }",
            "struct S { int (*f)(int, char *); void (*g)(void); };",
        ),
        (
            "struct S { int (*(*h)(int))[3]; int (*t[2])(int, ...); }",
            "struct S { int (*(*h)(int))[3]; int (*t[2])(int, ...); };",
        ),
        ("struct S { char data[]; }", "struct S { char data[]; };"),
        ("struct S { struct S *next; struct T t; enum E e; }", "struct S { struct S *next; struct T t; enum E e; };"),
        ("struct S { const volatile int *const p; char __user *u; }", "struct S { int *p; char __user *u; };"),
        ("struct S { int x; } __attribute__((packed))", "struct S { int x; } __attribute__((packed));"),
        (
            "struct __attribute__((packed, aligned(8))) S { int x; }",
            "struct S { int x; } __attribute__((packed, aligned(8)));",
        ),
        ("struct S { int x __attribute__((aligned(16))); }", "struct S { int x __attribute__((aligned(16))); };"),
        ("union U { int x; char c; }", "union U { int x; char c; };"),
        ("struct S { union { int a; }; struct { int b; } c; }", "struct S { union { int a; }; struct { int b; } c; };"),
        ("struct S { struct T { int y; } t, *u; }", "struct S { struct T { int y; } t; struct T *u; };"),
        ("struct S { enum { A = 1 }; int x[A + 1]; }", "struct S { enum { A = 1 }; int x[2]; };"),
        ("struct S { int x; /* } */ int y; // }\n }", "struct S { int x; int y; };"),
        ("struct S;", "struct S;"),
        ("struct S { }", "struct S { };"),
        ("struct S { int a[sizeof(long) * 2]; }", "struct S { int a[16]; };"),
    ],
)
def test_structs(text: str, printed: str) -> None:
    """Types in canonical words; declarators, bit fields, attributes and nested definitions as C has them."""
    assert members(text) == printed
    assert members(printed) == printed


def test_enums() -> None:
    """Values count on from the last one, and may use earlier ones, casts and character codes."""
    (first, second) = declared(
        "enum A { X, Y = 5, Z, W = X - 1, V = Y << 2 | 1, };\nenum B : u8 { P = Z, Q = ~0, R = (char)255 }"
    )
    assert isinstance(first, CEnum)
    assert isinstance(second, CEnum)
    assert [(v.name, v.value) for v in first.values or ()] == [("X", 0), ("Y", 5), ("Z", 6), ("W", -1), ("V", 21)]
    assert (second.base, [(v.name, v.value) for v in second.values or ()]) == ("u8", [("P", 6), ("Q", -1), ("R", -1)])


def test_typedefs() -> None:
    (one,) = declared("typedef unsigned long long u64_t;")
    assert isinstance(one, CTypedef)
    assert declaration_text(one) == "typedef unsigned long long u64_t;"
    first, second = declared("typedef struct { int x; } pair, *pair_p;")
    assert isinstance(first, CTypedef)
    assert isinstance(first.inline, CStruct)
    assert isinstance(second, CTypedef)
    assert (first.name, second.name, second.inline) == ("pair", "pair_p", None)
    assert second.type.target == first.type  # type: ignore[union-attr]
    (function,) = declared("typedef int (*handler)(struct S *, int);")
    assert declaration_text(function) == "typedef int (*handler)(struct S *, int);"


def test_semicolons_may_be_missing_behind_a_brace() -> None:
    """As in this language, not in C: the next item may follow at once."""
    made = program("struct S { int x; } enum E { A } union U { int y; };; k:f { }".replace(";; ", "; "))
    assert len(made.declarations) == 3
    assert len(made.probes) == 1


def test_unnamed_structs_have_names_of_their_own() -> None:
    (struct,) = declared("struct S { struct { int a; }; union { int b; } c; }")
    assert isinstance(struct, CStruct)
    names = [m.inline.name for m in struct.members or () if m.inline]
    assert len(set(names)) == 2
    assert all(n.startswith("(anonymous") for n in names)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("struct S { int; }", "expected the name of a member"),
        ("struct S { x; }", "expected the name of a member"),
        ("struct S { int x[y]; }", "not a constant"),
        ("struct S { int x[-1]; }", "cannot have -1 elements"),
        ("struct S { int x:99; }", "cannot have 99 bits"),
        ("struct S { int x:0; }", "cannot have 0 bits"),
        ("struct S x { int y; }", "expected ';' or a definition"),
        ("enum E { 1 }", "expected the name of a value"),
        ("enum E { A = f() }", "not a constant"),
        ("struct foo {} __attribute__ begin {}", "'((' after __attribute__"),
        ("struct foo {} __attribute__ (packed) begin {}", "'((' after __attribute__"),
        ("struct foo {} __attribute__ ((packed) begin {}", "'))' at the end of __attribute__"),
        ("struct S { int " + "(" * 200 + "x; }", "nests deeper"),
        ("struct S { int " + "*" * 200 + "x; }", "stars or brackets"),
        ("struct S { " + "struct { " * 200, "nests deeper"),
    ],
)
def test_wrong_declarations(text: str, what: str) -> None:
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", text))
    assert what in e.value.diagnostics[0].message


def test_the_last_member_may_leave_out_its_semicolon() -> None:
    """Compilers forgive it, and published one-liners rely on it."""
    with_it = parse(Source("t", "struct S { int x; int y; } begin { }"))
    without = parse(Source("t", "struct S { int x; int y } begin { }"))
    assert [m.name for m in without.declarations[0].members] == [m.name for m in with_it.declarations[0].members]
