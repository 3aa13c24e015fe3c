"""Names of events as perf probe gives them: ``probe:vfs_read``, ``probe_bash:readline__return``, ``probe:f_L12``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence

from probescope.errors import ProbeError
from probescope.model.probe_def import ProbeDef
from probescope.model.probe_found import FoundProbe, ProbeEvent

MAX_NAME = 64
_OPERATOR = re.compile(r"(?<!\w)operator\s*(\(\)|[^\w\s(]+)")
_WORDS = {
    "()": "call", "[]": "index", "+": "plus", "-": "minus", "*": "star", "/": "slash", "%": "percent", "^": "xor",
    "&": "and", "|": "or", "~": "not", "!": "no", "=": "assign", "<": "less", ">": "more", "==": "equal",
    "!=": "differ", "<=": "most", ">=": "least", "<=>": "order", "&&": "both", "||": "either", "<<": "left",
    ">>": "right", "++": "inc", "--": "dec", "->": "arrow", "->*": "member", ",": "comma",
}  # fmt: skip
_OPERATORS = _WORDS | {f"{o}=": f"{_WORDS[o]}_assign" for o in ("+", "-", "*", "/", "%", "^", "&", "|", "<<", ">>")}
_LOCAL = re.compile(r"\{+([\w ]+).*?(?:#(\d+))?\}+")
_NOT = re.compile(r"[^A-Za-z0-9_]")


def group_of(path: str) -> str:
    """``probe`` for the kernel; ``probe_bash`` for /bin/bash."""
    if not path:
        return "probe"
    head = re.match(r"[A-Za-z0-9_]*", os.path.basename(path))
    return f"probe_{head[0] if head else ''}"


def base_of(d: ProbeDef, found: FoundProbe) -> str:
    """What an event is called after, without a number."""
    if d.event:
        return d.event
    p = d.place
    known = found.base or _written(p.function) or found.function
    name = f"abs_{p.address:x}" if p.address is not None else known or f"abs_{found.address:x}"
    name = _OPERATOR.sub(lambda m: f"operator_{_OPERATORS.get(m[1].strip(), 'other')}", name)
    name = name[:1] + re.split(r"[.@]", name[1:], maxsplit=1)[0]
    name = _NOT.sub("_", name.partition("(")[0]).rstrip("_") or "probe"
    if p.function and p.line:
        name += f"_L{p.line}"
    elif p.label:
        name += f"_{p.label}"
    if found.ret or found.returns:
        name += "__return"
    return name[: MAX_NAME - 5]


def _written(function: str) -> str:
    """A name without parameters; empty if it is a pattern. ``f(int)::{lambda(char)#2}::operator()``: f::lambda2::..."""
    from probescope.debuginfo.cpp_names import scan

    whole = scan(function)
    if whole is None or whole.end < len(function):
        return "" if any(c in function for c in "*?[") else function
    if any(c in p for p in whole.parts if not p.startswith(("operator", "<", "{", "(")) for c in "*?["):
        return ""
    if not any(p.startswith(("{", "(")) for p in whole.parts):
        return function
    parts = (_LOCAL.sub(r"\1\2", p) for p in whole.parts if not p.startswith("("))
    return "::".join(parts)


def named(
    d: ProbeDef,
    found: Sequence[FoundProbe],
    taken: Callable[[str, str], bool],
    *,
    force: bool = False,
    beside: Iterable[ProbeEvent] = (),
) -> list[ProbeEvent]:
    """Events with names of their own: those behind the first of a name get a number. ``taken``: whether an event of
    that group and name is there already; then the definition fails, unless ``force``. ``beside``: events of other
    definitions of the same command; one that would be named like them gets a number too. Raises ``ProbeError``."""
    out: list[ProbeEvent] = []
    used = {(e.group, e.event) for e in beside}
    for f in found:
        group = d.group or ("sdt_" + d.place.provider if d.place.sdt and d.place.provider else group_of(f.path))
        base = base_of(d, f)
        if (group, base) not in used and taken(group, base) and not force:
            hints = [
                f"probescope probe -d {group}:{base} removes it; NAME=... gives another name; --force adds a number"
            ]
            raise ProbeError(f"there is an event {group}:{base} already", hints=hints)
        if f.returns and out and out[-1].found.returns and out[-1].found.function == f.function:
            out.append(ProbeEvent(group, out[-1].event, f))  # another place where the same function returns
            continue
        number, name = 0, base
        while (group, name) in used or taken(group, name):
            number += 1
            name = f"{base}_{number}"
        used.add((group, name))
        used.add((group, base))
        out.append(ProbeEvent(group, name, f))
    return out
