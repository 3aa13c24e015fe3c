"""Probe definitions in programs of C++: overloads told apart, exceptions that are thrown.

    __cxa_throw(object, type, destroy)      %di                        %si

    object   vtable  text ...               std::runtime_error and std::logic_error keep their text in the second word
    type     vtable  name  base ...         its vtable tells a class with one base: __si_class_type_info

Source: Itanium C++ ABI, 2.9.5 and exception handling 2.4.2; bits/cow_string.h of libstdc++ (__cow_string).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.debuginfo.values.memory import Memory, Unreadable
from probescope.diagnostics import Diagnostic
from probescope.errors import ElfError, ScriptError
from probescope.frozen import replace
from probescope.model.arch import Arch
from probescope.model.capture import IN_REGISTERS, Capture, Hit, Pieces, Step, Word
from probescope.model.fetch import Deref, FetchArg, FetchType, Register
from probescope.model.probe_found import FoundArg, FoundProbe
from probescope.sources.globs import select

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary, FunctionSite
    from probescope.debuginfo.dwarf_places import Spot

THROW = "__cxa_throw"
WITH_TEXT = ("St13runtime_error", "St11logic_error")
BASES = 4
MAX_TOLD = 8
_SINGLE = "_ZTVN10__cxxabiv120__si_class_type_infoE"


def thrown(binary: Binary, arch: Arch) -> FoundArg:
    """What an exception is, at its throwing."""
    first, second = (Register(r) for r in arch.arg_regs[:2])
    steps = [Step(Word(0, 0), 16), Step(Word(1, 8), 128, text=True), Step(Word(0, 8), 24)]
    for i in range(BASES):
        info = 3 + 2 * i
        steps.append(Step(Word(info, 8), 128, text=True))
        if i + 1 < BASES:
            steps.append(Step(Word(info, 16), 24))
    try:
        found = binary.elf.symbols().find(_SINGLE)
    except ElfError:
        found = None
    single = found.address if found is not None else 0
    root = Pieces(((first, 8), (second, 8)))
    capture = Capture(root, 16, tuple(steps), True, lambda hit: _shown(hit, single))
    fetch = FetchArg("exception", Deref(Deref(second, 8), 0), FetchType("string"))
    return FoundArg(fetch, capture=capture)


def _shown(hit: Hit, single: int) -> str:
    """``std::out_of_range("index 9")``"""
    from probescope.debuginfo.demangle import demangle
    from probescope.debuginfo.values.show import quoted

    memory = Memory(hit.segments)
    try:
        names = _names(memory, memory.word(IN_REGISTERS + 8), single + (hit.shift or 0) + 16 if single else 0)
    except Unreadable:
        return "?"
    shown = demangle(f"_ZTS{names[0]}").removeprefix("typeinfo name for ")
    if not any(n in WITH_TEXT for n in names):
        return shown
    try:
        start = memory.word(memory.word(IN_REGISTERS) + 8)
    except Unreadable:
        return shown
    text, end, _ = memory.taken(start, 128).partition(b"\0")
    return f"{shown}({quoted(text.decode('utf-8', 'replace'), bool(end))})"


def _names(memory: Memory, info: int, single: int) -> list[str]:
    """Mangled names of a class and its bases, as far as it has one each. Raises ``Unreadable`` without any."""
    out: list[str] = []
    for _ in range(BASES):
        try:
            start, table = memory.word(info + 8), memory.word(info)
            base = memory.word(info + 16) if table == single else 0
        except Unreadable:
            if not out:
                raise
            return out
        name = memory.taken(start, 128).partition(b"\0")[0].decode("utf-8", "replace")
        out.append(name.lstrip("*"))
        if not base:
            return out
        info = base
    return out


# --- overloads --------------------------------------------------------------------------------------------------------


def overloads(name: str, spots: Sequence[Spot], binary: Binary) -> list[str]:
    """Names with parameters of the functions that a name without them stands for; empty if it is one."""
    from probescope.debuginfo.demangle import demangle

    if "(" in name or len(spots) < 2:
        return []
    out: dict[str, None] = {}
    for s in spots:
        offset = binary.elf.to_offset(s.address) if not s.inlined else None
        found = binary.function_at(offset) if offset is not None else None
        shown = demangle(found[0].name) if found is not None and found[0].name.startswith("_Z") else ""
        if "(" in shown:
            out[_without_result(shown)] = None
    return list(out) if len(out) > 1 else []


def _without_result(shown: str) -> str:
    from probescope.debuginfo.demangle import without_parameters

    return shown[shown.find(without_parameters(shown)) :]


def matching(pattern: str, binary: Binary) -> list[FunctionSite]:
    """Functions of C++ and Rust by a pattern for their names, with or without parameters; named as people write."""
    from probescope.debuginfo.demangle import demangle, without_parameters

    if "::" not in pattern and "operator" not in pattern:
        return []
    out: dict[int, FunctionSite] = {}
    for f in binary.functions("_[ZR]*"):
        shown = demangle(f.name)
        plain = without_parameters(shown)
        if shown != f.name and select(pattern, (plain, _without_result(shown))):
            out.setdefault(f.address, replace(f, name=plain))
    return list(out.values())


def is_operator(name: str) -> bool:
    """Of C++, so that its signs mean no pattern."""
    from probescope.debuginfo.cpp_names import scan

    found = scan(name) if "operator" in name else None
    plain = found is not None and found.end == len(name) and not any(c in p for p in found.parts[:-1] for c in "*?[")
    return plain and found is not None and re.match(r"operator\W", found.parts[-1]) is not None


def elsewhere(name: str, binary: Binary) -> list[str]:
    """What else there is of functions that are not there: with other parameters; other operators of a class; of a
    method that has no code where it is named (it is virtual and pure, or inherited), the classes that do."""
    from probescope.debuginfo import cpp_names
    from probescope.debuginfo.demangle import demangle, without_parameters

    found = cpp_names.scan(name)
    if found is None:
        return []
    plain, last = "::".join(found.parts), found.parts[-1]
    same = [_without_result(demangle(f.name)) for f in binary.demangled(plain)] if found.parameters else []
    if not same and is_operator(name):
        shown = (without_parameters(demangle(f.name)) for f in binary.functions(cpp_names.Wanted(name).glob))
        head = plain.removesuffix(last) + "operator"
        same = [n for n in shown if n.startswith(head)] if len(found.parts) > 1 else []
    elif not same and len(found.parts) > 1 and last.isidentifier():
        shown = (without_parameters(demangle(f.name)) for f in binary.functions(f"_Z*{last}*"))
        same = [n for n in shown if n.endswith(f"::{last}")]
    names = sorted(set(same))
    more = f" and {len(names) - MAX_TOLD} more" if len(names) > MAX_TOLD else ""
    return [f"there are {', '.join(names[:MAX_TOLD])}{more}"] if names else []


def choices(name: str, found: Sequence[str]) -> str:
    more = f" and {len(found) - MAX_TOLD} more" if len(found) > MAX_TOLD else ""
    return f"{name} is {len(found)} functions: {', '.join(found[:MAX_TOLD])}{more}"


def told(probes: list[FoundProbe], name: str, found: Sequence[str]) -> list[FoundProbe]:
    """With a note that a name has several meanings."""
    if not found or not probes:
        return probes
    note = f"{choices(name, found)}; the name with its parameters is one of them"
    return [replace(probes[0], notes=(*probes[0].notes, note)), *probes[1:]]


def hinted(error: ScriptError, name: str, found: Sequence[str]) -> ScriptError:
    """The same error, with the overloads to choose from."""
    if not found:
        return error
    first: Diagnostic = error.diagnostics[0]
    return ScriptError([replace(first, hints=(*first.hints, choices(name, found)))])
