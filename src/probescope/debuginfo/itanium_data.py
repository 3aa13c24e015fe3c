"""Tables of the Itanium C++ ABI, section 5.1 "External Names": builtin types, operators, standard abbreviations."""

from __future__ import annotations

_BUILTINS = (
    "v=void|w=wchar_t|b=bool|c=char|a=signed char|h=unsigned char|s=short|t=unsigned short|i=int|j=unsigned int|"
    "l=long|m=unsigned long|x=long long|y=unsigned long long|n=__int128|o=unsigned __int128|f=float|d=double|"
    "e=long double|g=__float128|z=...|Dd=decimal64|De=decimal128|Df=decimal32|Dh=half|Di=char32_t|Ds=char16_t|"
    "Du=char8_t|Da=auto|Dc=decltype(auto)|Dn=decltype(nullptr)"
)
BUILTINS: dict[str, str] = {code: text for code, _, text in (p.partition("=") for p in _BUILTINS.split("|"))}

_STRING = "basic_string<char, std::char_traits<char>, std::allocator<char> >"
STANDARD: dict[str, tuple[str, str]] = {
    "t": ("std", "std"),
    "a": ("std::allocator", "allocator"),
    "b": ("std::basic_string", "basic_string"),
    "s": (f"std::{_STRING}", "basic_string"),
    "i": ("std::basic_istream<char, std::char_traits<char> >", "basic_istream"),
    "o": ("std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"),
    "d": ("std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"),
}
"""After S: (as written, what its constructors repeat)."""

# code -> (sign, number of operands); signs of words end in a blank where the operand follows
OPERATORS: dict[str, tuple[str, int]] = {
    "nw": ("new", 3), "na": ("new[]", 3), "dl": ("delete", 1), "da": ("delete[]", 1), "aw": ("co_await", 1),
    "ps": ("+", 1), "ng": ("-", 1), "ad": ("&", 1), "de": ("*", 1), "co": ("~", 1), "nt": ("!", 1),
    "pl": ("+", 2), "mi": ("-", 2), "ml": ("*", 2), "dv": ("/", 2), "rm": ("%", 2), "an": ("&", 2), "or": ("|", 2),
    "eo": ("^", 2), "aS": ("=", 2), "pL": ("+=", 2), "mI": ("-=", 2), "mL": ("*=", 2), "dV": ("/=", 2),
    "rM": ("%=", 2), "aN": ("&=", 2), "oR": ("|=", 2), "eO": ("^=", 2), "ls": ("<<", 2), "rs": (">>", 2),
    "lS": ("<<=", 2), "rS": (">>=", 2), "eq": ("==", 2), "ne": ("!=", 2), "lt": ("<", 2), "gt": (">", 2),
    "le": ("<=", 2), "ge": (">=", 2), "ss": ("<=>", 2), "aa": ("&&", 2), "oo": ("||", 2), "pp": ("++", 1),
    "mm": ("--", 1), "cm": (",", 2), "pm": ("->*", 2), "pt": ("->", 2), "cl": ("()", 2), "ix": ("[]", 2),
    "qu": ("?", 3), "st": ("sizeof ", 1), "sz": ("sizeof ", 1), "at": ("alignof ", 1), "az": ("alignof ", 1),
    "nx": ("noexcept", 1), "te": ("typeid ", 1), "ti": ("typeid ", 1), "tw": ("throw ", 1), "tr": ("throw", 0),
    "dt": (".", 2), "ds": (".*", 2), "sc": ("static_cast", 2), "dc": ("dynamic_cast", 2), "cc": ("const_cast", 2),
    "rc": ("reinterpret_cast", 2), "gs": ("::", 1), "sZ": ("sizeof...", 1), "sP": ("sizeof...", 1),
}  # fmt: skip

SPECIAL: dict[str, str] = {
    "TV": "vtable for ",
    "TT": "VTT for ",
    "TI": "typeinfo for ",
    "TS": "typeinfo name for ",
    "TF": "typeinfo fn for ",
    "TJ": "java Class for ",
    "TA": "template parameter object for ",
    "GV": "guard variable for ",
    "TH": "TLS init function for ",
    "TW": "TLS wrapper function for ",
}
"""Prefixes whose operand is a name (after a G, TH or TW), a template argument (TA) or a type."""

INTEGER_SUFFIX: dict[str, str] = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
QUALIFIERS: dict[str, str] = {"r": " restrict", "V": " volatile", "K": " const"}
