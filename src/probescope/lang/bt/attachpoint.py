"""The text of an attach point to ``ProbeSpec``: ``uprobe:/bin/bash:readline+4``, ``i:s:1``, ``watchpoint:0x7f00:8:rw``.

    point  (name "=")? source (":" part)*        parts may be quoted ("a:b"), and hold $1 outside of quotes

Beyond the obvious fields, the parts go here:

    fentry:bpf:123:prog        target=bpf    namespace=123   name=prog
    iter:task:/sys/fs/bpf/x    name=task     target=/sys/fs/bpf/x       (where to pin it)
    uprobe:/bin/a@f.c:7:3      target=/bin/a name=f.c        line=7     column=3
    interval:1s                unit=us       value=1000000   (a bare duration is in nanoseconds)
    self:signal:SIGUSR1        target=signal name=SIGUSR1

Nothing is looked up here: whether a function exists, and what a glob matches, is known to ``sources/``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probescope.diagnostics import NOWHERE, Span, nearest
from probescope.lang.bt import literals
from probescope.lang.bt.pointtext import AT, PointError, expand, is_glob, source_name, split
from probescope.model.probe import FOR_PEOPLE, ProbeSpec

FORMS: dict[str, str] = {
    "begin": "begin",
    "end": "end",
    "self": "self:signal:SIGNAL",
    "test": "test:NAME",
    "bench": "bench:NAME",
    "tracepoint": "tracepoint:CATEGORY:EVENT",
    "rawtracepoint": "rawtracepoint:[MODULE:]EVENT",
    "kprobe": "kprobe:[MODULE:]FUNCTION[+OFFSET] or kprobe:ADDRESS",
    "kretprobe": "kretprobe:[MODULE:]FUNCTION or kretprobe:ADDRESS",
    "fentry": "fentry:[MODULE:]FUNCTION or fentry:bpf:[ID:]PROGRAM",
    "fexit": "fexit:[MODULE:]FUNCTION or fexit:bpf:[ID:]PROGRAM",
    "uprobe": (
        "uprobe:BINARY:FUNCTION[+OFFSET], uprobe:BINARY:ADDRESS, uprobe:BINARY:cpp:NAME or "
        "uprobe:BINARY@FILE:LINE[:COLUMN]"
    ),
    "uretprobe": "uretprobe:BINARY:FUNCTION or uretprobe:BINARY:cpp:NAME",
    "usdt": "usdt:BINARY:[NAMESPACE:]NAME",
    "profile": "profile:hz|s|ms|us:NUMBER or profile:DURATION",
    "interval": "interval:s|ms|us|hz:NUMBER or interval:DURATION",
    "software": "software:EVENT[:COUNT]",
    "hardware": "hardware:EVENT[:COUNT]",
    "watchpoint": "watchpoint:ADDRESS:LENGTH:MODE",
    "asyncwatchpoint": "asyncwatchpoint:ADDRESS:LENGTH:MODE",
    "iter": "iter:OBJECT[:PIN]",
}
"""How each source is written, for hints."""

UNITS = ("hz", "s", "ms", "us")
_USER = ("uprobe", "usdt")
_KERNEL = ("fentry", "hardware", "iter", "kprobe", "rawtracepoint", "software", "tracepoint")
"""What a glob in the place of the source may become (``*:/bin/sh:*``, ``t*point:sched:*``)."""


def parse(text: str, params: Sequence[str] = (), *, pid: bool = False, span: Span = NOWHERE) -> list[ProbeSpec]:
    """What an attach point asks for: one spec, or one per source where the source is a glob.

    ``params`` are the values of ``$1``, ``$2``...; ``pid`` says that one process was named (``-p``), which may then
    stand in for the binary. Raises ``PointError``.
    """
    parts = split(expand(text, params))
    alias, front = _alias(parts[0])
    rest = parts[1:]
    if not front:
        raise PointError(f"no source of probes before the ':' in '{text}'", "for example kprobe:vfs_read")
    if is_glob(front):
        return _from_glob(front, rest, alias, text, pid, span)
    source = source_name(front)
    if not source:
        raise PointError(f"Invalid probe type: {front}", *_spelling(front, rest))
    return [_spec(source, rest, alias, text, pid, span)]


def _alias(front: str) -> tuple[str, str]:
    name, equals, source = front.partition("=")
    return (name, source) if equals and source else ("", front)


def _spelling(name: str, rest: Sequence[str] = ()) -> tuple[str, ...]:
    """Whoever knows perf writes ``sched:sched_switch``."""
    found = nearest(name.lower(), FOR_PEOPLE, most=2)
    if found:
        return (f"did you mean {' or '.join(found)}?",)
    perfs = (f"a tracepoint is written tracepoint:{name}:{rest[0]}",) if len(rest) == 1 else ()
    return (*perfs, "sources: " + ", ".join(FOR_PEOPLE))


def _from_glob(front: str, rest: list[str], alias: str, text: str, pid: bool, span: Span) -> list[ProbeSpec]:
    from fnmatch import fnmatchcase

    in_user = pid or bool(rest and "/" in rest[0])
    pattern = "*" if not rest else front
    if not rest:
        rest = [front]
    out = []
    for source in _USER if in_user else _KERNEL:
        if not fnmatchcase(source, pattern):
            continue
        try:
            out.append(_spec(source, rest, alias, f"{source}:{':'.join(rest)}", pid, span))
        except PointError:  # this one cannot be written with so many parts
            continue
    if not out:
        raise PointError(f"No probe type matched for {front}", *_spelling(front.replace("*", "")))
    return out


def _spec(source: str, rest: list[str], alias: str, text: str, pid: bool, span: Span) -> ProbeSpec:
    parts = [p.replace(AT, "@") for p in rest] if source not in ("uprobe", "uretprobe") else rest
    fields = _READERS[source](source, parts, pid)
    return ProbeSpec(source=source, alias=alias, text=text, span=span, **fields)  # type: ignore[arg-type]


# ---- one reader a family of sources -------------------------------------------------------------------------------

_Fields = dict[str, object]


def _counted(source: str, parts: list[str], *allowed: int) -> None:
    if len(parts) in allowed:
        return
    wanted = " or ".join(map(str, allowed))
    noun = "argument" if allowed == (1,) else "arguments"
    hints = [f"write {FORMS[source]}"]
    if source in ("uprobe", "uretprobe") and "" in parts[1:-1]:  # a::b
        hints = [f'names of C++ are quoted: {source}:{parts[0]}:cpp:"{":".join(parts[1:]).removeprefix("cpp:")}"']
    raise PointError(f"{source} takes {wanted} {noun}, found {len(parts)}", *hints)


def _number(what: str, text: str) -> int:
    try:
        return literals.integer(text)
    except literals.LiteralError as e:
        raise PointError(f"{what}: {e.what}") from None


def _address(text: str) -> int | None:
    try:
        return literals.integer(text)
    except literals.LiteralError:
        return None


def _function(source: str, text: str, *, offsets: bool) -> _Fields:
    """``name``, ``name+offset`` or an address."""
    if not text:
        raise PointError(f"{source} needs a function or an address", f"write {FORMS[source]}")
    name, plus, offset = text.partition("+")
    if not plus:
        address = _address(text)
        return {"name": text} if address is None else {"address": address}
    if not offsets:
        raise PointError(f"{source} takes no offset: it fires where the function returns")
    if not name or not offset or "+" in offset:
        raise PointError(f"invalid offset in '{text}'", f"write {FORMS[source]}")
    return {"name": name, "offset": _number("invalid offset", offset)}


def _plain(source: str, parts: list[str], pid: bool) -> _Fields:
    if parts == ["*"]:
        return {}
    _counted(source, parts, 0)
    return {}


def _self(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 2)
    return {"target": parts[0], "name": parts[1]}


def _named(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 1)
    if not parts[0]:
        raise PointError(f"{source} needs a name", f"write {FORMS[source]}")
    return {"name": parts[0]}


def _tracepoint(source: str, parts: list[str], pid: bool) -> _Fields:
    if len(parts) == 1 and is_glob(parts[0]):
        parts = ["*", parts[0]]
    _counted(source, parts, 2)
    if not parts[0] or not parts[1]:
        raise PointError("tracepoint needs a category and an event", f"write {FORMS[source]}")
    return {"target": parts[0], "name": parts[1]}


def _rawtracepoint(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 1, 2)
    if not parts[-1]:
        raise PointError("rawtracepoint needs an event", f"write {FORMS[source]}")
    return {"target": parts[0] if len(parts) == 2 else "", "name": parts[-1]}


def _kprobe(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 1, 2)
    target = {"target": parts[0]} if len(parts) == 2 else {}
    return {**target, **_function(source, parts[-1], offsets=source == "kprobe")}


def _fentry(source: str, parts: list[str], pid: bool) -> _Fields:
    if parts and parts[0] == "bpf":
        _counted(source, parts, 2, 3)
        program = parts[1] if len(parts) == 3 else ""
        if program not in ("", "*"):
            _number("the id of a bpf program is a number or '*'", program)
        return {"target": "bpf", "namespace": program, "name": parts[-1]}
    _counted(source, parts, 1, 2)
    if not parts[-1]:
        raise PointError(f"{source} needs a function", f"write {FORMS[source]}")
    return {"target": parts[0] if len(parts) == 2 else "", "name": parts[-1]}


def _uprobe(source: str, parts: list[str], pid: bool) -> _Fields:
    if parts and AT in parts[0] and source == "uprobe" and len(parts) in (2, 3) and parts[1].isdigit():
        return _source_line(parts)
    if source == "uretprobe" and len(parts) in (2, 3) and AT in parts[0] and parts[1].isdigit():
        raise PointError("uretprobe takes no source line: it fires where the function returns")
    parts = [p.replace(AT, "@") for p in parts]
    if pid and (len(parts) == 1 or (len(parts) == 2 and parts[0] == "cpp")):
        parts = ["", *parts]  # the binary is that of the process
    _counted(source, parts, 2, 3)
    if not parts[0] and not pid:
        raise PointError(f"{source} needs a binary", f"write {FORMS[source]}")
    if len(parts) == 3:
        if parts[1] != "cpp":
            raise PointError(f"unsupported language type: {parts[1]}", "the only one is cpp", f"write {FORMS[source]}")
        return {"target": parts[0], "language": "cpp", "name": parts[2]}
    fields = _function(source, parts[1], offsets=source == "uprobe")
    if "address" in fields and is_glob(parts[0]):
        raise PointError("an address cannot be used with a wildcard in the binary's name")
    return {"target": parts[0], **fields}


def _source_line(parts: list[str]) -> _Fields:
    target, _, file = parts[0].rpartition(AT)
    target, file = target.replace(AT, "@"), file.replace(AT, "@")
    if is_glob(target):
        raise PointError("a source line cannot be used with a wildcard in the binary's name")
    if not target or not file:
        raise PointError("a source line needs a binary and a file", f"write {FORMS['uprobe']}")
    column = _number("invalid column number", parts[2]) if len(parts) == 3 else 0
    return {"target": target, "name": file, "line": _number("invalid line number", parts[1]), "column": column}


def _usdt(source: str, parts: list[str], pid: bool) -> _Fields:
    if pid and len(parts) == 1:
        parts = ["", *parts]
    _counted(source, parts, 2, 3)
    if not parts[-1]:
        raise PointError("usdt needs the name of a probe", f"write {FORMS[source]}")
    if not parts[0] and not pid:
        raise PointError("usdt needs a binary", "to search all processes, write usdt:*:NAME", f"write {FORMS[source]}")
    return {"target": parts[0], "namespace": parts[1] if len(parts) == 3 else "", "name": parts[-1]}


def _timer(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 1, 2)
    what = f"Invalid rate of {source} probe"
    if len(parts) == 1:
        if is_glob(parts[0]):
            return {"name": parts[0]}
        duration = _number(what, parts[0])
        if duration < 1000:
            raise PointError(f"{what}: {duration} nanoseconds are less than the least duration, 1us")
        return {"unit": "us", "value": duration // 1000}
    unit, text = parts
    if unit not in UNITS:
        raise PointError(f"{unit} is not an accepted unit of time", f"units: {', '.join(UNITS)}")
    value = _number(what, text)
    if value <= 0:
        raise PointError(f"{what}: it must be greater than 0")
    return {"unit": unit, "value": value}


def _counter(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 1, 2)
    if not parts[0]:
        raise PointError(f"{source} needs an event", f"write {FORMS[source]}")
    count = parts[1] if len(parts) == 2 and parts[1] not in ("", "*") else ""
    return {"name": parts[0], "value": _number(f"Invalid count for {source} probe", count) if count else 0}


def _watchpoint(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 3)
    address = _number("invalid address", parts[0])
    length = _number("invalid length", parts[1])
    mode = parts[2]
    if not address:
        raise PointError("a watchpoint needs an address other than 0")
    if length not in (1, 2, 4, 8):
        raise PointError(f"watchpoint length {length} is not one of 1, 2, 4, 8")
    if not mode or len(set(mode)) != len(mode) or set(mode) - set("rwx"):
        raise PointError(f"watchpoint mode '{mode}' is not a combination of r, w and x, each at most once")
    return {"address": address, "length": length, "mode": "".join(c for c in "rwx" if c in mode)}


def _iter(source: str, parts: list[str], pid: bool) -> _Fields:
    _counted(source, parts, 1, 2)
    if any(map(is_glob, parts)):
        raise PointError("iter takes no wildcards")
    if not parts[0]:
        raise PointError("iter needs an object", f"write {FORMS[source]}")
    return {"name": parts[0], "target": parts[1] if len(parts) == 2 else ""}


_READERS: dict[str, Callable[[str, list[str], bool], _Fields]] = {
    "begin": _plain,
    "end": _plain,
    "self": _self,
    "test": _named,
    "bench": _named,
    "tracepoint": _tracepoint,
    "rawtracepoint": _rawtracepoint,
    "kprobe": _kprobe,
    "kretprobe": _kprobe,
    "fentry": _fentry,
    "fexit": _fentry,
    "uprobe": _uprobe,
    "uretprobe": _uprobe,
    "usdt": _usdt,
    "profile": _timer,
    "interval": _timer,
    "software": _counter,
    "hardware": _counter,
    "watchpoint": _watchpoint,
    "asyncwatchpoint": _watchpoint,
    "iter": _iter,
}
