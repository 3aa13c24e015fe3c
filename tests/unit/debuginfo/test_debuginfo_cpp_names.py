"""Names of C++ and Rust as people write them: where they end, and which functions are meant by them. The symbols are
those that g++ 12 and rustc 1.63 made; what they stand for is what ``c++filt`` says of them."""

from __future__ import annotations

import pytest

from probescope.debuginfo.cpp_names import Wanted, canonical, scan

PLUS_ASSIGN, CALL = "_ZN4shop1VpLEi", "_ZNK4shop1VclEii"
TO_TEXT, TO_INT = "_ZNK4shop1VcvPKcEv", "_ZNK4shop1VcviEv"
LEFT = "_ZN4shop1VlsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
LAMBDA = "_ZZN4shop7lambdasEiENKUliE_clEi"
MANY = "_ZN4shop4manyIjEEiRKSt6vectorIT_SaIS2_EE"
PAIRS = "_ZN4shop4manyISt4pairIiiEEEiRKSt6vectorIT_SaIS4_EE"
PUT = "_ZN4shop3BoxImiE3putERKmi"
KILO = "_Zli3_kgy"
HIDDEN = "_ZN12_GLOBAL__N_16hiddenEi"
RUST = "_ZN40_$LT$T$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE"


@pytest.mark.parametrize(
    ("text", "name", "parts"),
    [
        ("V::operator+=+4", "V::operator+=", ("V", "operator+=")),
        ("V::operator++4", "V::operator+", ("V", "operator+")),
        ("operator%%return", "operator%", ("operator%",)),
        ("V::operator()(int) const a", "V::operator()(int) const", ("V", "operator()")),
        ("V::operator int this->x", "V::operator int", ("V", "operator int")),
        ("V::operator char const*() const", "V::operator char const*() const", ("V", "operator char const*")),
        ("V::operator int *p", "V::operator int", ("V", "operator int")),
        ("M::operator new[] n", "M::operator new[]", ("M", "operator new[]")),
        ("operator< <int> a", "operator< <int>", ("operator<",)),
        ("B<unsigned long, A<1> >::put k", "B<unsigned long, A<1> >::put", ("B", "put")),
        ("f(int)::{lambda(char)#2}::operator() c", "f(int)::{lambda(char)#2}::operator()",
         ("f", "{lambda(char)#2}", "operator()")),
        ("(anonymous namespace)::f q", "(anonymous namespace)::f", ("(anonymous namespace)", "f")),
        ("<a::B as c::D>::sum x", "<a::B as c::D>::sum", ("<a::B as c::D>", "sum")),
        ("ns::f:12", "ns::f", ("ns", "f")),
        ("f[abi:cxx11](int)", "f[abi:cxx11](int)", ("f",)),
        ("~A::f", "~A::f", ("~A", "f")),
    ],
)  # fmt: skip
def test_where_a_name_ends(text: str, name: str, parts: tuple[str, ...]) -> None:
    found = scan(text)
    assert found is not None
    assert (text[: found.end], found.parts) == (name, parts)


@pytest.mark.parametrize(
    "text", ["", "vfs_read", "vfs_read:3", "main.c:1", "tcp_*", "x@f.c", "0x12", "operator", "operator_of", "f(", "a::"]
)
def test_words_of_c_are_no_such_names(text: str) -> None:
    assert scan(text) is None


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("shop::V::operator+=", PLUS_ASSIGN),
        ("shop::V::operator+=(int)", PLUS_ASSIGN),
        ("V::operator+=", PLUS_ASSIGN),
        ("operator+=", PLUS_ASSIGN),
        ("shop::V::operator()", CALL),
        ("shop::V::operator()(int, int)", CALL),
        ("shop::V::operator()(int,int) const", CALL),
        ("shop::V::operator const char *", TO_TEXT),
        ("shop::V::operator char const*() const", TO_TEXT),
        ("shop::V::operator int", TO_INT),
        ("shop::V::operator<<(const std::string &)", LEFT),
        ("shop::lambdas(int)::{lambda(int)#1}::operator()", LAMBDA),
        ("shop::lambdas(int)::{lambda(int)#1}::operator()(int)", LAMBDA),
        ("shop::many<unsigned int>", MANY),
        ("shop::many", MANY),
        ("shop::many<unsigned int>(const std::vector<unsigned int> &)", MANY),
        ("shop::many<std::pair<int,int>>", PAIRS),
        ("shop::Box<unsigned long,int>::put", PUT),
        ("shop::Box::put", PUT),
        ("Box::put", PUT),
        ('operator""_kg', KILO),
        ("(anonymous namespace)::hidden", HIDDEN),
        ("<T as core::fmt::Display>::fmt", RUST),
    ],
)
def test_which_functions_are_meant(name: str, symbol: str) -> None:
    symbols = [PLUS_ASSIGN, CALL, TO_TEXT, TO_INT, LEFT, LAMBDA, MANY, PAIRS, PUT, KILO, HIDDEN, RUST, "main"]
    wanted = Wanted(name)
    ranks = {s: r for s in symbols if (r := wanted.rank(s)) is not None}
    best = [s for s in ranks if ranks[s] == min(ranks.values())]
    assert symbol in best
    assert best == [symbol] or name == "shop::many"
    assert symbol.startswith("_Z")
    assert wanted.glob == "_[ZR]*" or all(part in symbol for part in wanted.glob[6:].strip("*").split("*"))


def test_what_is_called_otherwise_is_not_meant() -> None:
    """Neither the function that a lambda is in nor another operator, and a word alone is no end of a name."""
    assert Wanted("shop::lambdas").rank(LAMBDA) is None
    assert Wanted("shop::V::operator+").rank(PLUS_ASSIGN) is None
    assert Wanted("shop::V::operator()(int)").rank(CALL) is None
    assert Wanted("shop::many<int>").rank(MANY) is None
    assert Wanted("put").rank(PUT) is None


def test_one_spelling() -> None:
    text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    by_default = "std::less<int>, std::allocator<std::pair<int const, char> >"
    pairs = [
        ("f(const char *, const unsigned long)", "f(char const*, unsigned long const)"),
        ("f(std::string const&)", f"f({text} const&)"),
        ("f(std::map<int, char>)", f"f(std::map<int, char, {by_default} >)"),
        ("f(const std::vector<int> &)", "f(std::vector<int, std::allocator<int> > const&)"),
    ]
    assert [canonical(a) for a, _ in pairs] == [canonical(b) for _, b in pairs]
    assert canonical("f(unsigned int)") != canonical("f(unsignedint)")
