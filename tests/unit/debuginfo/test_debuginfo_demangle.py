"""Demangling: facts by hand for Rust, limits against hostile names, and what stays as it is."""

from __future__ import annotations

import pytest
from work import instructions

from probescope.debuginfo.demangle import demangle, without_parameters

# by the rules of rustc's legacy mangling, and from RFC 2603
RUST = {
    "_ZN4core3ptr13drop_in_place17h0123456789abcdefE": "core::ptr::drop_in_place",
    "_ZN40_$LT$T$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE": "<T as core::fmt::Display>::fmt",
    "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE": "std::rt::lang_start::{{closure}}",
    "_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE.llvm.123": "alloc::vec::Vec<T>::push",
    "_ZN57_$LT$$RF$str$u20$as$u20$a..B$LT$$LP$$RP$$C$$BP$u8$GT$$GT$1f17h0123456789abcdefE": "<&str as a::B<(),*u8>>::f",
    "_RNvC6_123foo3bar": "123foo::bar",
    "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y": "utf8_idents::საჭმელად_გემრიელი_სადილი",
    "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_": "cc::spawn::{closure#0}::{closure#0}",
    "_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std": (
        "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>"
    ),
    "_RMC0INtC8arrayvec8ArrayVechKj7b_E": "<arrayvec::ArrayVec<u8, 123>>",
    "_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E": "<const_generic::Unsigned<11>>",
    "_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKs98_E": "<const_generic::Signed<152>>",
    "_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKanb_E": "<const_generic::Signed<-11>>",
    "_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb1_E": "<const_generic::Bool<true>>",
    "_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc76_E": "<const_generic::Char<'v'>>",
    "_RNvMs0_NtCs5l0EXMQXRMU_21rustc_data_structures17obligation_forestINtB5_3FoolE3new": (
        "<rustc_data_structures::obligation_forest::Foo<i32>>::new"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(RUST))
def test_rust(name: str) -> None:
    """Names of Rust as its own demangler writes them without hashes."""
    assert demangle(name) == RUST[name]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "main",
        "_",
        "_Z",
        "_R",
        "_RNv",
        "_ZN",
        "_ZN1aE1",
        "Z3foov",
        "_ZN3fooE17h",
        "_RNvC3foo",
        "\0",
        "_Zé",
        "_RNvCs_",
        "?f@@YAXXZ",
    ],
)
def test_what_does_not_demangle_stays(name: str) -> None:
    """A cut or foreign name is shown as it is."""
    assert demangle(name) == name


HOSTILE = [
    "_Z1f" + "P" * 10_000 + "i",
    "_Z1f" + "I" * 5_000,
    "_ZN" + "1a" * 8_000 + "E",
    "_Z" + "Z" * 5_000,
    "_Z1fIX" + "nt" * 5_000 + "Li1EEEvv",
    "_Z1fDT" + "cl" * 4_000,
    "_Z1fA" + "1_A" * 4_000 + "1_i",
    "_R" + "NvC1a" * 3_000,
    "_RIC1a" + "T" * 8_000 + "E",
    "_RINvC1a1f" + "B4_" * 5_000 + "E",
    "_RNvC1a" + "9" * 5_000,
    "_Z" + "9" * 10_000 + "a",
    "_Z1fIiE" + "S_" * 8_000,
    "_ZN" + "St" * 8_000 + "E",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_deep_and_long_names_end_soon(name: str) -> None:
    """No recursion error, and work in proportion to the name: 270 instructions for each character is the most today."""
    assert instructions(lambda: isinstance(demangle(name), str) or pytest.fail("no text")) < 600 * len(name)


def test_names_that_grow_without_end() -> None:
    """Each type holds the one before twice: sixty substitutions would be 2^60 characters."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    name = "_Z1f1AIiiE"
    for n in range(60):
        ref = (
            "S_"
            if n == 0
            else f"S{digits[n - 1]}_"
            if n < 37
            else f"S{digits[(n - 1) // 36 - 0]}{digits[(n - 1) % 36]}_"
        )
        name += f"S_I{ref}{ref}E" if n else "S_IS0_S0_E"
    rust = "_RINvC1a1f" + "T" * 3 + "".join(f"TB{d}_B{d}_E" for d in "abcdefghijklmnop") + "E" * 4
    assert instructions(lambda: (demangle(name), demangle(rust))) < 10_000_000


def test_go() -> None:
    """The linker escapes dots behind the last slash of an import path; nothing else of Go is mangled."""
    expected = {
        "gopkg.in/yaml%2ev3.(*Decoder).Decode": "gopkg.in/yaml.v3.(*Decoder).Decode",
        "example.com/a%22b%2ec.F": 'example.com/a"b.c.F',
        "example.com/na%c3%afve%2ev1.F": "example.com/na\u00efve.v1.F",
        "main.(*Shop[go.shape.int]).Total": "main.(*Shop[go.shape.int]).Total",
        "type:.eq.main.T": "type:.eq.main.T",
        "strange%zz%2e%": "strange%zz.%",
    }
    assert {name: demangle(name) for name in expected} == expected


def test_without_parameters() -> None:
    """uprobe:bin:cpp:"ns::f" names all overloads of ns::f."""
    expected = {
        "ns::f(int)": "ns::f",
        "void ns::f<int>(char const*)": "ns::f<int>",
        "A::operator()(int) const": "A::operator()",
        "bool operator> <int>(A const&, A const&)": "operator> <int>",
        "A::operator->() const": "A::operator->",
        "std::ostream& std::operator<< <char>(std::ostream&)": "std::operator<< <char>",
        "(anonymous namespace)::f(int)": "(anonymous namespace)::f",
        "int ns::(anonymous namespace)::f<int>(int)": "ns::(anonymous namespace)::f<int>",
        "std::vector<int, std::allocator<int> >::size() const": "std::vector<int, std::allocator<int> >::size",
        "A::operator new(unsigned long)": "A::operator new",
        "A::operator unsigned long() const": "A::operator unsigned long",
        "core::ptr::drop_in_place": "core::ptr::drop_in_place",
        "main": "main",
    }
    assert {text: without_parameters(text) for text in expected} == expected
