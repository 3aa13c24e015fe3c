"""Programs of bpftrace's own test of its type checker, read out of a checkout, and a host like the one it imitates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probescope.lang.bt.compiler import Environment, UserSymbol
from probescope.lang.bt.frontend import ScriptOptions
from probescope.lang.bt.params import Params
from probescope.model.probe import ProbeSpec
from probescope.model.site import (
    CtxArg,
    CtxLoad,
    FentryAttach,
    Field,
    IntervalAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    RegArg,
    RetSlot,
    Site,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.model.types import CHAR, I8, I32, I64, U64, Array, Enum, Layout, Member, Pointer, Struct, Type

_PIECE = re.compile(r'\s*(?:R"(\w*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)")', re.DOTALL)
_CALL = re.compile(r"(?<![\w.])test\(")


@dataclass(frozen=True)
class Case:
    """``rest``: the arguments behind the program, as C++ text."""

    line: int
    program: str
    rest: str

    @property
    def refused(self) -> bool:
        return re.search(r"\bError\{", self.rest) is not None

    @property
    def unsafe(self) -> bool:
        return "UnsafeMode::Enable" in self.rest

    @property
    def needs_its_mocks(self) -> bool:
        """Kernels without some feature, and parameters and settings that were set in C++."""
        return re.search(r"NoFeatures|Mock\{", self.rest) is not None


def cases(root: str) -> Iterator[Case]:
    """Calls ``test("program", ...)`` whose program stands there in full."""
    text = Path(f"{root}/tests/type_checker.cpp").read_text()
    for call in _CALL.finditer(text):
        program, behind = _literal(text, call.end())
        end = _end_of_call(text, behind)
        if program and re.match(r"\s*[,)]", text[behind:]):
            yield Case(text.count("\n", 0, call.start()) + 1, program.lstrip("\n"), text[behind:end])


def _literal(text: str, at: int) -> tuple[str, int]:
    """The C++ string at ``at``, adjacent pieces joined, and the offset behind it."""
    out = ""
    while found := _PIECE.match(text, at):
        plain = found.group(3)
        if plain is None:
            out += found.group(2)
        else:
            joined = plain.replace("\\\n", "")  # a line that goes on
            out += joined.encode("latin1", "backslashreplace").decode("unicode_escape")
        at = found.end()
    return out, at


def _end_of_call(text: str, at: int) -> int:
    depth = 1
    while depth:
        string = _PIECE.match(text, at) if text[at] in 'R"' else None
        if string is not None:
            at = string.end()
            continue
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        at += 1
    return at


# --- the host ---------------------------------------------------------------------------------------------------------


def _to(name: str) -> Pointer:
    return Pointer(Struct(f"struct {name}"))


_LAYOUTS = (
    Layout("struct Foo1", 16, (Member("a", I32, 0), Member("b", I8, 4), Member("c", I64, 8))),
    Layout("struct Foo2", 24, (Member("a", I32, 0), Member("f", Struct("struct Foo1"), 8), Member("g", I8, 8))),
    Layout("struct Foo3", 8, (Member("foo1", _to("Foo1"), 0),)),
    Layout("struct sock", 8, (Member("x", I32, 0),)),
    Layout("struct pt_regs", 168, (Member("ax", U64, 80),)),
    Layout(
        "struct task_struct",
        128,
        (Member("pid", I32, 0), Member("comm", Array(I8, 16), 8), Member("real_parent", _to("task_struct"), 32)),
    ),
)


class Types:
    _by_name = {t.name: t for t in _LAYOUTS}

    def layout(self, name: str) -> Layout | None:
        return self._by_name.get(name)

    def named(self, name: str) -> Type | None:
        return Struct(name) if name in self._by_name else None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        return None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return ()

    def names(self) -> list[str]:
        return list(self._by_name)


_FOOS = (Field("a", I32, CtxArg(0)), Field("foo1", _to("Foo1"), CtxArg(1)), Field("foo2", _to("Foo2"), CtxArg(2)))
_SOCK = (Field("sk", _to("sock"), CtxArg(0)), Field("how", I32, CtxArg(1)))
_RAW = (Field("first_real_arg", I32, CtxArg(0)),)
_FIELDS = (
    Field("common_field", U64, CtxLoad(8, 8)),
    Field("filename", Pointer(CHAR, "user"), CtxLoad(16, 8)),
)


def resolve(spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
    s, name = spec.source, str(spec)
    match s:
        case "begin" | "end":
            return [Site(s, s, UserAttach(s))]
        case "test" | "bench":
            return [Site(name, s, UserAttach(s, spec.name))]
        case "self":
            return [Site(name, s, UserAttach("signal", spec.name))]
        case "interval":
            return [Site(name, s, IntervalAttach(10**9))]
        case "kprobe" | "kretprobe":
            return [Site(name, s, KprobeAttach(spec.name, ret=s == "kretprobe"), func=spec.name)]
        case "uprobe" | "uretprobe":
            return [Site(name, s, UprobeAttach(spec.target, 0, ret=s == "uretprobe"), func=spec.name)]
        case "usdt":
            args = (Field("arg0", I32, RegArg(0)),)
            return [Site(name, s, UprobeAttach(spec.target, 0), args=args, func=spec.name)]
        case "fentry" | "fexit":
            fields = _SOCK if spec.name == "tcp_shutdown" else _FOOS
            ret = Field("retval", _to("Foo3"), RetSlot(3))
            return [Site(name, s, FentryAttach(spec.name, 1, ret=s == "fexit"), fields, ret=ret, func=spec.name)]
        case "rawtracepoint":
            return [Site(name, s, RawTracepointAttach(spec.name), _RAW, _RAW, func=spec.name)]
        case "tracepoint":
            return [Site(name, s, TracepointAttach(spec.target, spec.name, 1), _FIELDS, func=spec.name)]
        case _:
            return [Site(name, s, PerfAttach(1, 0, 1))]


def _user_symbol(path: str, name: str) -> UserSymbol:
    """A name that begins with digits says behind ``_`` how large it is."""
    return UserSymbol(0x1000, int(name.split("_")[1]) if name[0].isdigit() else 8)


def host(unsafe: bool) -> Environment:
    return Environment(
        resolve,
        Types(),
        kaddr=lambda name: None if name == "nonsense" else 0xFFFF0000,
        uaddr=_user_symbol,
        cgroupid=lambda _: 1,
        unsafe=unsafe,
        ncpus=4,
        script=ScriptOptions(environment={}, params=Params(())),
    )
