"""perf's events on this machine: what names, PMU terms and tracepoints after ``-e`` stand for in perf_event_open(2).

    cycles, page-faults, L1-dcache-load-misses, r1a8      generic hardware, software, cache and raw events
    cpu/event=0x3c,umask=1/, msr/tsc/                     terms, by the format and event files of the PMU in sysfs
    cycles/period=1000,name=c/, r1a8/freq=99/             terms of how it is sampled, of events without a PMU
    sched:sched_*, syscalls:sys_enter_read                tracepoints of tracefs
    mem:0x1000/8:w                                        hardware breakpoints

Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}; perf-list(1);
include/uapi/linux/perf_event.h for what a cache event's number is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from probescope.diagnostics import Diagnostic, Source, nearest
from probescope.errors import ScriptError
from probescope.frozen import dataclass, replace
from probescope.kernel import tracefs
from probescope.kernel.host import host
from probescope.kernel.perf_attr import PMU_DIR, PerfAttr, pmus
from probescope.kernel.uapi import perf as u
from probescope.model.perf_spec import EventGroup, EventSpec, Term
from probescope.sources import globs, perf_terms
from probescope.sources.perf_terms import SAMPLING, NoSuchEvent

_CACHES = {
    "l1d": "L1-dcache l1-d l1d L1-data",
    "l1i": "L1-icache l1-i l1i L1-instruction",
    "ll": "LLC L2",
    "dtlb": "dTLB d-tlb Data-TLB",
    "itlb": "iTLB i-tlb Instruction-TLB",
    "bpu": "branch branches bpu btb bpc",
    "node": "node",
}
_OPS = {
    "read": "load loads read",
    "write": "store stores write",
    "prefetch": "prefetch prefetches speculative-read speculative-load",
}
_RESULTS = {"access": "refs Reference ops access", "miss": "misses miss"}
_CONFIGS = ("config", "config1", "config2", "config3")
_TRACES = ("intel_pt", "intel_bts", "arm_spe", "cs_etm", "hisi_ptt", "s390_cpum_sf")
_RANGE = re.compile(r"(config[123]?):([0-9,-]+)")
MAX_EVENTS = 16384


@dataclass(frozen=True, slots=True)
class Counter:
    """One event to open. ``name``: what results are called. ``leader``: index of its group's first event, -1 if it
    stands alone. ``unit`` and ``scale``: what a count times ``scale`` is in (a PMU's own). ``cpus``: where a PMU of the
    whole machine counts (its cpumask), empty for all. ``modifiers`` of event and group. ``terms``: those that say how
    it is sampled (``call-graph=dwarf``), not what. ``filter``: of a tracepoint, in the kernel's words."""

    name: str
    attr: PerfAttr
    leader: int = -1
    unit: str = ""
    scale: float = 1.0
    cpus: tuple[int, ...] = ()
    modifiers: str = ""
    terms: tuple[Term, ...] = ()
    filter: str = ""


def resolve_events(groups: tuple[EventGroup, ...], text: str) -> tuple[Counter, ...]:
    """Counters in the order of the text; ``text`` is what was parsed, for errors. Raises ScriptError for what this
    machine does not know, and KernelError where tracefs is asked and cannot be read."""
    out: list[Counter] = []
    for group in groups:
        leader = len(out)
        for spec in group.events:
            try:
                found = list(_one(spec))
            except NoSuchEvent as e:
                source = Source("event", text.replace("\n", " "))
                raise ScriptError([Diagnostic("error", e.what, spec.span, e.hints, source)]) from None
            for c in found:
                modifiers = spec.modifiers + group.modifiers
                attr = replace(c.attr, flags=c.attr.flags | flags_of(modifiers, c.attr.type))
                out.append(replace(c, attr=attr, leader=leader if group.braces else -1, modifiers=modifiers))
        if len(out) > MAX_EVENTS:
            raise ScriptError([Diagnostic("error", f"more than {MAX_EVENTS} events")])
    return tuple(out)


def flags_of(modifiers: str, kind: int) -> int:
    """The flags of ``perf_event_attr`` that letters ask for; of u, k and h what is not named is excluded. Without G or
    H guests are excluded from hardware events, as perf does."""
    flags = 0
    levels = {"u": u.FLAG_EXCLUDE_USER, "k": u.FLAG_EXCLUDE_KERNEL, "h": u.FLAG_EXCLUDE_HV}
    if set(modifiers) & set(levels):
        flags |= sum(bit for letter, bit in levels.items() if letter not in modifiers)
    flags |= u.FLAG_EXCLUDE_IDLE if "I" in modifiers else 0
    flags |= min(3, modifiers.count("p")) << 15
    flags |= u.FLAG_PINNED if "D" in modifiers else 0
    flags |= 1 << 3 if "e" in modifiers else 0
    exclude_host, exclude_guest = 1 << 19, 1 << 20
    if "G" in modifiers and "H" not in modifiers:
        flags |= exclude_host
    elif "G" not in modifiers and kind not in (u.PERF_TYPE_SOFTWARE, u.PERF_TYPE_TRACEPOINT, u.PERF_TYPE_BREAKPOINT):
        flags |= exclude_guest
    return flags


def _one(spec: EventSpec) -> Iterator[Counter]:
    match spec.kind:
        case "raw":
            yield _sampled(spec, Counter(spec.text, PerfAttr(u.PERF_TYPE_RAW, spec.number)))
        case "mem":
            yield Counter(spec.text, _breakpoint(spec))
        case "tracepoint":
            yield from _tracepoints(spec)
        case "pmu":
            yield from _of_pmus(spec)
        case "probe":
            yield from _defined(spec)
        case _:
            yield _named(spec)


# --- names


def generic(name: str) -> PerfAttr | None:
    """A hardware, software or cache event by one of its names."""
    hardware = u.HARDWARE_EVENTS.get(_HARDWARE.get(name, name))
    if hardware is not None:
        return PerfAttr(u.PERF_TYPE_HARDWARE, hardware)
    software = u.SOFTWARE_EVENTS.get(_SOFTWARE.get(name, name))
    if software is not None:
        return PerfAttr(u.PERF_TYPE_SOFTWARE, software)
    cache = _cache_config(name)
    return None if cache is None else PerfAttr(u.PERF_TYPE_HW_CACHE, cache)


_HARDWARE = {
    **u.HARDWARE_ALIASES,
    "idle-cycles-frontend": "stalled-cycles-frontend",
    "idle-cycles-backend": "stalled-cycles-backend",
}
_SOFTWARE = {**u.SOFTWARE_ALIASES, "migrations": "cpu-migrations"}


def _cache_config(name: str) -> int | None:
    """``L1-dcache-load-misses``: cache, operation and result in this order, the latter two with defaults."""
    cache, rest = _first(_CACHES, name)
    if not cache:
        return None
    op, rest = _first(_OPS, rest)
    result, rest = _first(_RESULTS, rest)
    if not op:
        op, rest = _first(_OPS, rest)
    if rest:
        return None
    return u.CACHE_IDS[cache] | u.CACHE_OPS[op or "read"] << 8 | u.CACHE_RESULTS[result or "access"] << 16


def _first(words: Mapping[str, str], name: str) -> tuple[str, str]:
    """The key whose longest word begins ``name``, up to a ``-`` or the end; and the rest."""
    found = ("", "")
    for key, names in words.items():
        for word in names.split():
            whole = name == word or name.startswith(word + "-")
            if whole and len(word) > len(found[1]):
                found = (key, word)
    return found[0], name[len(found[1]) :].lstrip("-") if found[0] else name


def cache_names() -> Iterator[str]:
    """The usual names of all cache events."""
    for cache, names in _CACHES.items():
        for op, words in _OPS.items():
            if (cache, op) in {
                ("l1i", "write"),
                ("bpu", "write"),
                ("bpu", "prefetch"),
                ("itlb", "write"),
                ("itlb", "prefetch"),
            }:
                continue
            first, (one, many) = names.split()[0], words.split()[:2]
            yield f"{first}-{many}"
            yield f"{first}-{one}-misses"


def known_names() -> list[str]:
    """Every event that has a name of its own, for ``list`` and for hints; those of PMUs as ``pmu/event/``."""
    names = [*u.HARDWARE_EVENTS, *u.HARDWARE_ALIASES, *u.SOFTWARE_EVENTS, *u.SOFTWARE_ALIASES, *cache_names()]
    return names + [f"{pmu}/{event}/" for pmu in pmus() for event in _files(pmu, "events")]


def _named(spec: EventSpec) -> Counter:
    attr = generic(spec.name)
    if attr is not None:
        return Counter(spec.text, attr)
    for pmu in pmus():  # cpu events that only sysfs names: perf takes them without their PMU
        if spec.name in _files(pmu, "events"):
            return replace(_of_pmu(spec, pmu, (Term(spec.name),)), name=spec.text)
    hints = [f"did you mean {n}?" for n in nearest(spec.name, known_names())]
    if spec.name in _TIMES:
        hints = [f"it is told without being asked for: {_TIMES[spec.name]}"]
    raise NoSuchEvent(f"there is no event '{spec.name}'", *(hints or ["probescope list 'hardware:*' 'software:*'"]))


_TIMES = {
    "duration_time": "seconds time elapsed", "user_time": "seconds user", "system_time": "seconds sys",
}  # fmt: skip
"""What perf's own events of these names count, as ``stat`` tells it behind the counts."""


def _breakpoint(spec: EventSpec) -> PerfAttr:
    bits = {"r": u.HW_BREAKPOINT_R, "w": u.HW_BREAKPOINT_W, "x": u.HW_BREAKPOINT_X}
    kind = sum(bits[c] for c in spec.access)
    length = 8 if kind == u.HW_BREAKPOINT_X else spec.length or 4
    return PerfAttr(u.PERF_TYPE_BREAKPOINT, bp_type=kind, config1=spec.number, config2=length)


# --- tracepoints


def _tracepoints(spec: EventSpec) -> Iterator[Counter]:
    wanted = f"{spec.group}:{spec.name}"
    if not globs.is_glob(wanted):
        names = [wanted] if _lent(spec) else []
    else:
        names = globs.select(wanted, [f"{c}:{e}" for c, e in tracefs.available_events()])
    if not names:
        known = [f"{c}:{e}" for c, e in tracefs.available_events()]
        hints = [f"did you mean {n}?" for n in nearest(wanted, known)]
        if spec.group.startswith("probe"):
            hints = [f"a definition makes it: probescope probe '{spec.name} ...', or -e 'probe({spec.name} ...)'"]
        raise NoSuchEvent(f"there is no tracepoint '{wanted}'", *(hints or ["probescope list 'tracepoint:*'"]))
    for name in names:
        category, _, event = name.partition(":")
        letters = f":{spec.modifiers}" if spec.modifiers else ""
        attr = PerfAttr(u.PERF_TYPE_TRACEPOINT, tracefs.event_id(category, event))
        yield _sampled(spec, Counter(name + letters, attr))


def _lent(spec: EventSpec) -> bool:
    """An event that is there, or was defined before by ``probescope probe``: then it is in tracefs for as long as we
    run, and the last of several runs takes it out."""
    from probescope.errors import ProbeError
    from probescope.sources import probe_remembered

    if tracefs.has_event(spec.group, spec.name):
        probe_remembered.join(spec.group, spec.name)
        return True
    try:
        return probe_remembered.lend(spec.group, spec.name)
    except ProbeError as e:
        raise NoSuchEvent(e.what, *e.hints) from None


def _defined(spec: EventSpec) -> Iterator[Counter]:
    """A definition is in tracefs for as long as we run."""
    from probescope.sources import probe_events, probe_names, probe_remembered, probe_target

    made: dict[str, list[str]] = host().cache.setdefault("defined_probes", {})
    if spec.text not in made:
        assert spec.probe is not None
        found = probe_target.open_target(probe_target.Wanted(binary=spec.group)).resolve(spec.probe)
        probe_remembered.clear_dead()
        events = probe_names.named(spec.probe, found, probe_events.exists, force=True)
        probe_remembered.put_all(events)
        made[spec.text] = [e.name for e in events]
    for name in made[spec.text]:
        group, _, event = name.partition(":")
        yield from _tracepoints(replace(spec, kind="tracepoint", group=group, name=event))


# --- PMUs


def _of_pmus(spec: EventSpec) -> Iterator[Counter]:
    """``uncore_imc/x/`` is each of uncore_imc_0, uncore_imc_1...; a name that matches nothing is an error."""
    known = pmus()
    pattern = spec.name
    names = [pattern] if pattern in known else [n for n in known if re.fullmatch(re.escape(pattern) + r"_\d+", n)]
    if not names and globs.is_glob(pattern):
        names = globs.select(pattern, list(known))
    attr = generic(pattern)
    if not names and attr is not None:
        yield _sampled(spec, Counter(spec.text, attr))
        return
    if not names:
        hints = [f"did you mean {n}/?" for n in nearest(pattern, list(known))]
        if pattern.startswith(_TRACES):
            hints = [
                "what it traces comes of hardware, which virtual machines hide; recordings with it can be read here"
            ]
        raise NoSuchEvent(f"this machine has no PMU '{pattern}'", *(hints or [f"it has: {', '.join(known)}"]))
    for pmu in names:
        yield _of_pmu(spec, pmu, spec.terms)


def _of_pmu(spec: EventSpec, pmu: str, terms: tuple[Term, ...]) -> Counter:
    configs: dict[str, int] = dict.fromkeys(_CONFIGS, 0)
    unit, scale = "", 1.0
    for term in terms:
        if term.name in _files(pmu, "events") and term.value is None:
            for inner in _event_terms(pmu, term.name):
                _set(spec, pmu, inner, configs)
            unit = _text(pmu, f"events/{term.name}.unit")
            scale = _number(_text(pmu, f"events/{term.name}.scale"), 1.0)
        elif term.name not in SAMPLING:
            _set(spec, pmu, term, configs)
    attr = PerfAttr(
        pmus()[pmu],
        configs["config"],
        config1=configs["config1"],
        config2=configs["config2"],
        config3=configs["config3"],
    )
    return _told(spec, Counter(spec.text, attr, unit=unit, scale=scale, cpus=_cpumask(pmu)))


def _sampled(spec: EventSpec, c: Counter) -> Counter:
    """Of an event that has no PMU's terms."""
    known = perf_terms.TRACEPOINT if spec.kind == "tracepoint" else SAMPLING
    perf_terms.refuse_others(spec.name, spec.terms, known)
    return _told(spec, c)


def _told(spec: EventSpec, c: Counter) -> Counter:
    told = perf_terms.told(spec.terms)
    attr = replace(c.attr, period=told.period, flags=c.attr.flags | told.flags)
    return replace(c, name=told.name or c.name, attr=attr, terms=told.how)


def _set(spec: EventSpec, pmu: str, term: Term, configs: dict[str, int]) -> None:
    """Puts a value into the bits that the PMU's format file gives to it."""
    value = perf_terms.value(term)
    if term.name in configs:
        configs[term.name] |= value
        return
    found = _RANGE.fullmatch(_text(pmu, f"format/{term.name}"))
    if not found:
        known = [*_files(pmu, "format"), *_files(pmu, "events"), *_CONFIGS, *sorted(SAMPLING)]
        hints = [f"did you mean {n}?" for n in nearest(term.name, known)]
        formats = ", ".join(_files(pmu, "format")) or "none"
        raise NoSuchEvent(f"the PMU {pmu} knows no term '{term.name}'", *(hints or [f"its terms: {formats}"]))
    left = value
    for piece in found[2].split(","):
        low, _, high = piece.partition("-")
        width = int(high or low) - int(low) + 1
        configs[found[1]] |= (left & ((1 << width) - 1)) << int(low)
        left >>= width
    if left:
        raise NoSuchEvent(f"{term.name}={term.value} is too large: {pmu} gives it the bits {found[2]}")


def _event_terms(pmu: str, event: str) -> Iterator[Term]:
    for piece in _text(pmu, f"events/{event}").split(","):
        name, eq, value = piece.strip().partition("=")
        if name:
            yield Term(name, value if eq else None)


def _files(pmu: str, folder: str) -> list[str]:
    try:
        names = host().listdir(f"{PMU_DIR}/{pmu}/{folder}")
    except OSError:
        return []
    return sorted(n for n in names if not n.endswith((".unit", ".scale", ".snapshot", ".per-pkg")))


def _text(pmu: str, path: str) -> str:
    try:
        return host().read_text(f"{PMU_DIR}/{pmu}/{path}", 4096).strip()
    except OSError:
        return ""


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _cpumask(pmu: str) -> tuple[int, ...]:
    from probescope.kernel.machine import parse_cpus

    text = _text(pmu, "cpumask")
    try:
        return tuple(parse_cpus(text)) if text else ()
    except ValueError:
        return ()
