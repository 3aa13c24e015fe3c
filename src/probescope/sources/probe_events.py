"""Dynamic events of tracefs: those that ``probe --add`` keeps, and everybody else's of the same kind.

kprobe_events     p:probe/vfs_read _text+3566048 name=+0(+40(+24(%di))):string
uprobe_events     r:probe_bash/readline__return /usr/bin/bash:0xc6c20 +0($retval):string
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from probescope.errors import KernelError, ProbeError
from probescope.frozen import dataclass
from probescope.kernel import tracefs
from probescope.kernel.host import host
from probescope.model.fetch import shown_name
from probescope.model.probe_found import FoundProbe, ProbeEvent
from probescope.sources.globs import matches

LONGEST_SOURCE = 30
FILES = ("kprobe_events", "uprobe_events")
_LINE = re.compile(r"([pr])\d*:(?:([^/\s]+)/)?(\S+) (\S+)(?: (.*))?$")


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """One line of ``file``. ``place`` as it stands there; ``args``: names of arguments."""

    file: str
    definition: str
    group: str
    event: str
    place: str
    ret: bool
    args: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.group}:{self.event}"


def kept() -> list[KeptEvent]:
    """All that there are, in order of their names. Raises ``KernelError`` where tracefs cannot be read."""
    out: list[KeptEvent] = []
    problem: KernelError | None = None
    for file in FILES:
        try:
            text = tracefs.read(file)
        except KernelError as e:
            if e.errno != 2:  # a kernel without this kind of probes
                problem = e
            continue
        out += [found for line in text.splitlines() if (found := _parsed(file, line)) is not None]
    if problem is not None and not out:
        raise problem
    return sorted(out, key=lambda e: e.name)


def _parsed(file: str, line: str) -> KeptEvent | None:
    found = _LINE.match(line)
    if found is None:
        return None
    names = tuple(word.partition("=")[0] for word in (found[5] or "").split())
    return KeptEvent(file, line, found[2] or file[:-1], found[3], found[4], found[1] == "r", names)


def matching(pattern: str) -> list[KeptEvent]:
    """``GROUP:EVENT`` or ``EVENT``, globs; those that probescope made for a run of its own are left out."""
    group, _, event = pattern.rpartition(":")
    return [
        e
        for e in kept()
        if matches(event or "*", e.event) and matches(group or "*", e.group) and not e.group.startswith("probescope_")
    ]


def exists(group: str, event: str) -> bool:
    return tracefs.has_event(group, event)


def add(e: ProbeEvent) -> None:
    """Raises ``ProbeError`` with the kernel's reason."""
    file = FILES[1] if e.found.path else FILES[0]
    if e.found.path and any(c.isspace() for c in e.found.path):
        raise ProbeError("uprobe_events of tracefs cannot name a file with blanks in its path")
    try:
        tracefs.write(file, e.definition())
    except KernelError as problem:
        raise refused(e, problem) from problem


def refused(e: ProbeEvent, problem: KernelError) -> Exception:
    """The kernel's reason, in words that tell what can be had instead."""
    if problem.errno == 2 and not _there(FILES[1] if e.found.path else FILES[0]):
        return ProbeError("this kernel has no dynamic events for that: CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS")
    why = problem.where.rpartition("error: ")[2].strip()
    if not why or "Failed to register" in why:  # which says nothing
        told = unattachable([e])
        if told is not None or not why:
            return told or problem
    hints = [f"the definition was: {e.definition()}"]
    if "notrace" in why:
        hints.insert(0, f"{e.found.function} is marked notrace: its callers, or what it calls, can be probed")
    if "instruction boundary" in why:
        hints.insert(0, "probescope graph and probe -L show where code begins")
    return ProbeError(f"the kernel refuses {e.name}: {why}", hints=hints)


def unattachable(events: Iterable[ProbeEvent]) -> ProbeError | None:
    """Why the kernel may have refused one of its own functions, after it did: ftrace does not list what is notrace."""
    from probescope.sources import kernel_functions

    for e in events:
        name = e.found.function
        if e.found.path or not name:
            continue
        try:
            listed = kernel_functions.traceable()
        except KernelError:
            return None
        if not listed.has(name):
            hints = ["its callers, or what it calls, can be probed; probescope list 'kprobe:*' shows what can"]
            return ProbeError(f"the kernel takes no probe in {name}: it is marked notrace, or forbidden", hints=hints)
        if e.found.offset and e.found.symbol == name:
            hints = [f"with the kernel's debug symbols, probescope probe -L {name} shows lines instead"]
            return ProbeError(f"the kernel refuses {name}+{e.found.offset}: no instruction begins there", hints=hints)
    return None


def _there(file: str) -> bool:
    try:
        tracefs.read(file)
    except KernelError:
        return False
    return True


def remove(e: KeptEvent) -> None:
    """Raises ``ProbeError`` where it is in use."""
    try:
        tracefs.write(e.file, f"-:{e.group}/{e.event}")
    except KernelError as problem:
        if problem.errno == 16:
            raise ProbeError(f"{e.name} is in use: somebody records it") from problem
        raise


def described(e: ProbeEvent) -> str:
    """For people, as perf probe writes it: ``on vfs_read:5@fs/read_write.c with count``."""
    return _about(e.found, [shown_name(a.fetch, i) for i, a in enumerate(e.found.args)])


def _about(f: FoundProbe, names: list[str]) -> str:
    where = f.function or f"{f.address:#x}"
    where += (
        "%return"
        if f.ret
        else f"+{f.inside}"
        if f.inside and not f.line
        else f":{f.line}"
        if f.line and f.inside
        else ""
    )
    in_file = f" in {f.path}" if f.path else ""
    return f"on {where}{in_file}{' with ' + ' '.join(names) if names else ''}"


def about(e: KeptEvent) -> str:
    """Of one that stands in tracefs, with the function that its place is in, if that can be told."""
    path, _, offset = e.place.rpartition(":")
    where = e.place
    if e.file == FILES[1] and path:
        name, at, source = _function(path, offset.partition("(")[0]).partition("@")
        where = f"{name}{'%return' if e.ret else ''}{at}{short_path(source)} in {path}"
    else:
        base, plus, inside = e.place.partition("+")
        far = int(inside, 0) if inside.isdigit() else 0
        name, at, source = _in_kernel_source(base, far).partition("@")
        if name:
            where = name
        elif base in ("_text", "_stext") and plus:
            where = _kernel_function(base, far)
        elif inside == "0":
            where = base
        where += f"{'%return' if e.ret else ''}{at}{short_path(source)}"
    return f"on {where}{' with ' + ' '.join(e.args) if e.args else ''}"


def short_path(source: str) -> str:
    """The end of a long path, as perf has it: of the last 30 characters what is behind the first slash."""
    if len(source) <= LONGEST_SOURCE:
        return source
    end = source[-LONGEST_SOURCE:]
    return end.partition("/")[2] or end


def _in_kernel_source(symbol: str, inside: int) -> str:
    """``tcp_sendmsg@net/ipv4/tcp.c`` where the kernel's debug information is here; else empty."""
    from probescope.errors import DwarfError, ElfError
    from probescope.sources.probe_kernel import KernelTarget
    from probescope.sources.probe_target import Wanted, open_target

    module, _, name = symbol.rpartition(":")
    cache = host().cache.setdefault("described kernel", {})
    try:
        if module not in cache:
            cache[module] = open_target(Wanted(module=module))
        target = cache[module]
        if not isinstance(target, KernelTarget) or target.debug is None or target.image is None:
            return ""
        found = target.image.symbol_addresses(name) or target.image.base_of(name)
        return target.debug.described(found[0] + inside) if found else ""
    except (DwarfError, ElfError, ProbeError, KernelError):
        return ""


def _function(path: str, offset: str) -> str:
    from probescope.errors import DwarfError, ElfError
    from probescope.sources.context import ResolveContext
    from probescope.sources.probe_target import this_arch
    from probescope.sources.probe_user import ProgramTarget

    try:
        target = ProgramTarget(path, ResolveContext(arch=this_arch()))
        found = target.binary.function_at(int(offset, 0))
        address = target.binary.elf.to_vaddr(int(offset, 0))
        told = target.debug.described(address) if target.debug is not None and address is not None else ""
    except (DwarfError, ElfError, ProbeError, ValueError):
        return offset
    if told:
        return told
    if found is None:
        return offset
    return found[0].name + (f"+{found[1]}" if found[1] else "")


def _kernel_function(base: str, inside: int) -> str:
    from probescope.sources import kernel_functions

    start = kernel_functions.address_of(base)
    if not start:
        return f"{base}+{inside}"
    name, plus, more = kernel_functions.name_at(start + inside).partition("+")
    return name + (f"+{int(more, 0)}" if plus else "")


def names() -> Iterator[str]:
    yield from (e.name for e in kept())
