"""Functions that ``Call`` may name: parameters, result, meaning. A collector that offers a function offers this
meaning.

Types are described in words here and checked by ``ir/rules.py``. ``pure`` ones depend on their arguments alone.
"""

from __future__ import annotations

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Intrinsic:
    params: str
    result: str
    about: str
    pure: bool = True


INTRINSICS: dict[str, Intrinsic] = {
    "strlen": Intrinsic("String", "U64", "bytes before the first NUL"),
    "strncmp": Intrinsic("String, String, Const U64", "I64", "0 if the first n bytes are equal, else not 0"),
    "strstr": Intrinsic("String, String", "I64", "byte position of the second in the first, -1 if it is not there"),
    "strcontains": Intrinsic("String, String", "Bool", "the second occurs in the first; an empty one always does"),
    "strglob": Intrinsic("String, Const String", "Bool", "the glob of model/pattern.py matches the whole text"),
    "strmatch": Intrinsic("String, Const String", "Bool", "the regular expression matches somewhere in the text"),
    "strcat": Intrinsic("String, String", "String", "one after the other, cut at the result's size"),
    "strcap": Intrinsic("String, U64", "String", "the first n bytes"),
    "memcmp": Intrinsic(
        "A, A, Const U64", "I64", "0 if the first n bytes of two arrays, buffers or strings are equal, else not 0"
    ),
    "bswap": Intrinsic("Int", "the same Int", "bytes reversed at the operand's width"),
    "inet4": Intrinsic("U32", "Opaque inet", "an IPv4 address given in network order as it lies in memory"),
    "inet6": Intrinsic("Array(U8,16)", "Opaque inet", "an IPv6 address"),
    "inet": Intrinsic("I64, U32 | Array(U8,4|16)", "Opaque inet", "by address family: 2 is IPv4, 10 is IPv6"),
    "mac": Intrinsic("Array(U8,6)", "Opaque mac", "a hardware address"),
    "usym": Intrinsic("U64", "Opaque usym", "an address in the current process", pure=False),
    "path": Intrinsic(
        "Pointer(struct path)", "String", "the whole path, by bpf_d_path; only where the kernel allows it", pure=False
    ),
    "percpu": Intrinsic(
        "U64, U32", "U64", "the address of a per-CPU variable on a given CPU, 0 if there is none", pure=False
    ),
    "socket_cookie": Intrinsic("Pointer(struct sock)", "U64", "the socket's cookie", pure=False),
    "comm_of": Intrinsic("U32", "String(16)", "the name of the task with this pid, empty if none", pure=False),
    "stack_len": Intrinsic(
        "Stack", "U64", "frames of the call stack of the moment, up to its type's depth", pure=False
    ),
    "within": Intrinsic(
        "Int, Const U64",
        "the same Int",
        "the first, and counted (outside) where it is not below the second",
        pure=False,
    ),
    "array_of": Intrinsic("String | Buffer", "Array(U8,n)", "the bytes"),
}
