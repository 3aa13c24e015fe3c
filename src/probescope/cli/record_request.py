"""The arguments of ``record`` -> what is to be recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from probescope.cli.numbers import whole
from probescope.cli.parsing import command_words, cpu_list, process_id
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.recorder.off_cpu import Waiting
    from probescope.collect.recorder.request import BuildIds, RecordRequest, Switch
    from probescope.collect.recorder.sampling import Sampling
    from probescope.sources.perf_events import Counter

_UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_TIMES = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CLOCKS = {
    "realtime": 0, "real": 0, "r": 0, "monotonic": 1, "mono": 1, "m": 1, "monotonic_raw": 4, "raw": 4,
    "boottime": 7, "boot": 7, "tai": 11,
}  # fmt: skip
_STARTS = {
    "task": {"task"},
    "mmap": {"task", "mmap"},
    "cgroup": {"cgroup"},
    "all": {"task", "mmap", "cgroup"},
    "no": set[str](),
}
_MOST_PAGES = 1 << 20
_MOST_BYTES = 1 << 32
"""In units of up to 2^30: as 64 bits have it."""


def request(args: argparse.Namespace, argv: Sequence[str], say: Callable[[str], None]) -> RecordRequest:
    """Raises UsageError, ScriptError. ``say``: lines that a person is to read."""
    from probescope.collect.recorder import off_cpu
    from probescope.collect.recorder.request import RecordRequest
    from probescope.frozen import replace

    _no_kind_of_stack(args)
    counters, filters, names = _events(args)
    counters = (*counters, off_cpu.counter()) if args.off_cpu else counters
    cgroups = _cgroups(names, len(counters))
    sampling = _sampling(args, say)
    pids, tids = _ids(args.pid), _ids(args.tid)
    uid = _user(args.uid)
    tasks = bool(pids or tids or uid >= 0)
    whole = (args.all_cpus or bool(args.cpu) or not args.command) and not tasks
    if cgroups and not whole:
        raise UsageError("cgroups are recorded on CPUs", hints=["add -a or -C LIST"])
    sampling = replace(sampling, cpus=sampling.cpus or whole)
    switch = _switch(args)
    inherit = not args.no_inherit and (args.inherit or not tids)
    return RecordRequest(
        counters,
        sampling,
        filters=filters,
        cpus=_cpus(args.cpu),
        whole_cpus=whole,
        pids=pids,
        tids=tids,
        cgroups=cgroups,
        command=command_words(args.command),
        inherit=inherit,
        per_thread=args.per_thread,
        delay_ms=_whole(args.delay, "-D", least=-1) if args.delay else 0,
        pages=_pages(args.mmap_pages, say),
        output=_output(args.output),
        level=_level(args.compression_level),
        max_size=_size(args.max_size, "--max-size") if args.max_size else 0,
        switch=switch,
        timestamp_name=args.timestamp_filename,
        control=args.control or "",
        build_ids=_build_ids(args, bool(switch)),
        tail=args.tail_synthesize or args.overwrite,
        start=_start(args.synth),
        words=("probescope", "record", *argv),
        keep_symbols=not (args.no_symbols or args.no_buildid or switch),
        verbose=bool(args.verbose),
        uid=uid,
        priority=_whole(args.realtime, "-r") if args.realtime else 0,
        off_cpu=_waits(args, cgroups.get(len(counters) - 1, -1), inherit, say) if args.off_cpu else None,
    )


def _waits(args: argparse.Namespace, cgroup: int, inherit: bool, say: Callable[[str], None]) -> Waiting:
    from probescope.cli.record_off_cpu import KernelWaits

    inode = os.fstat(cgroup).st_ino if cgroup >= 0 else 0  # the kernel's number of the group
    return KernelWaits(_cpus(args.cpu), inode, inherit=inherit, cgroups=args.all_cgroups, say=say)


# --- events


def _events(args: argparse.Namespace) -> tuple[tuple[Counter, ...], dict[int, str], list[str]]:
    """Counters, filters and names of cgroups, in the order of the command line."""
    from probescope.frozen import replace
    from probescope.lang.perf.events import parse_events
    from probescope.sources.event_filters import in_kernel_words
    from probescope.sources.perf_events import resolve_events

    out: list[Counter] = []
    filters: dict[int, str] = {}
    cgroups: list[str] = []
    last: list[int] = []
    ordered = args.ordered if any(kind == "event" for kind, _ in args.ordered) else [("event", "cycles"), *args.ordered]
    for kind, value in ordered:
        if kind == "event":
            base = len(out)
            groups = parse_events(value)
            found = _that_can_be_sampled(resolve_events(groups, value))
            out += [replace(c, leader=c.leader + base) if c.leader >= 0 else c for c in found]
            count = len(_that_can_be_sampled(resolve_events(groups[-1:], value)))
            last = list(range(len(out) - count, len(out)))
        elif kind == "cgroup":
            cgroups += value.split(",")
        else:
            text = in_kernel_words(value) if kind == "filter" else f"common_pid != {os.getpid()}"
            _add_filter(filters, out, last, text)
    return tuple(out), filters, cgroups


_OF_SAMPLES = {"irq_vectors:irq_work_exit"}
"""The kernel lets nobody sample it: each sample would cause the next (arch/x86/include/asm/trace/irq_vectors.h)."""


def _that_can_be_sampled(found: Sequence[Counter]) -> Sequence[Counter]:
    """Of ``*:*``; an event that is named by itself is refused by the kernel."""
    return found if len(found) == 1 else [c for c in found if c.name not in _OF_SAMPLES or c.leader >= 0]


def _no_kind_of_stack(args: argparse.Namespace) -> None:
    """``-g dwarf`` is a command called dwarf, which nobody has."""
    from shutil import which

    word = args.command[0] if args.command else ""
    if args.stacks and word.partition(",")[0] in {"fp", "dwarf", "lbr"} and which(word) is None:
        raise UsageError("-g takes no value", hints=[f"--call-graph {word}"])


def _add_filter(filters: dict[int, str], counters: list[Counter], last: list[int], text: str) -> None:
    """To the tracepoints of the item before: several are ANDed."""
    from probescope.kernel.uapi import perf as u

    if not last or any(counters[i].attr.type != u.PERF_TYPE_TRACEPOINT for i in last):
        raise UsageError("a filter belongs to a tracepoint", hints=["-e SYSTEM:EVENT --filter 'FIELD == VALUE'"])
    for i in last:
        filters[i] = f"({filters[i]}) && ({text})" if i in filters else text


def _cgroups(names: list[str], events: int) -> dict[int, int]:
    """The n-th name is of the n-th event; a single one of all."""
    from probescope.kernel import cgroups

    if len(names) == 1:
        names = names * events
    if len(names) > events:
        raise UsageError(f"{len(names)} cgroups for {events} events", hints=["-e comes before its -G"])
    return {i: cgroups.open_folder(name) for i, name in enumerate(names) if name}


# --- samples


def _sampling(args: argparse.Namespace, say: Callable[[str], None]) -> Sampling:
    from probescope.collect.recorder.sampling import DEFAULT_STACK, Sampling, register_mask
    from probescope.kernel.host import host

    how, _, size = (args.call_graph or ("fp" if args.stacks else "")).partition(",")
    if how not in {"", "fp", "dwarf", "lbr", "no"}:
        raise UsageError(f"there are no call graphs by '{how}'", hints=["--call-graph fp, dwarf or lbr"])
    stack = _stack_size(size) if how == "dwarf" and size else DEFAULT_STACK
    if args.freq and args.count:
        raise UsageError("-F and -c cannot both be given")
    user, machine = (
        register_mask([w for w in value.split(",") if w], host().machine) if value is not None else 0
        for value in (args.user_regs, args.intr_regs)
    )
    return Sampling(
        frequency=_frequency(args, say) if args.freq else 0,
        period=_whole(args.count, "-c") if args.count else 0,
        call_graph="" if how == "no" else how,
        max_stack=_whole(size, "--call-graph fp,") if how == "fp" and size else 0,
        stack_size=stack,
        addresses=args.data,
        physical=args.phys_data,
        data_page_size=args.data_page_size,
        code_page_size=args.code_page_size,
        weight=args.weight,
        transactions=args.transaction,
        running_times=args.running_time,
        periods=args.period,
        cpus=args.sample_cpu,
        raw=args.raw_samples,
        no_samples=args.no_samples,
        per_thread_counts=args.stat,
        branches=_branches(args),
        clockid=_clock(args.clockid),
        switches=args.switch_events,
        namespaces=args.namespaces,
        cgroups=args.all_cgroups,
        levels="all-user" if args.all_user else "all-kernel" if args.all_kernel else "",
        chains="user" if args.user_callchains else "kernel" if args.kernel_callchains else "",
        overwrite=args.overwrite,
        build_ids=args.buildid_mmap,
        group=args.group,
        at_once=args.no_buffering,
        bpf=not args.no_bpf_event,
        user_registers=user,
        machine_registers=machine,
    )


def _frequency(args: argparse.Namespace, say: Callable[[str], None]) -> int:
    from probescope.kernel.machine import sysctl_int

    most = sysctl_int("kernel.perf_event_max_sample_rate") or 100_000
    wanted = most if args.freq == "max" else _whole(args.freq, "-F")
    if args.freq == "max":
        say(f"{most:,} samples a second are the most that the kernel allows")
    if wanted <= most:
        return wanted
    hints = [f"sudo sysctl kernel.perf_event_max_sample_rate={wanted}"]
    if args.strict_freq:
        raise UsageError(f"the kernel allows {most:,} samples a second at most", hints=hints)
    say(f"warning: the kernel allows {most:,} samples a second, not {wanted:,}: {hints[0]}")
    return most


def _stack_size(text: str) -> int:
    from probescope.collect.recorder.sampling import MOST_STACK

    size = (_whole(text, "--call-graph dwarf,") + 7) & ~7
    if size > MOST_STACK:
        raise UsageError(f"a stack dump of {size} bytes", hints=[f"{MOST_STACK} is the most that the kernel takes"])
    return size


def _branches(args: argparse.Namespace) -> int:
    from probescope.kernel.uapi import perf as u

    mask = u.PERF_SAMPLE_BRANCH_ANY if args.branch_any else 0
    for name in (args.branch_filter or "").split(","):
        if name and name not in u.PERF_SAMPLE_BRANCH:
            raise UsageError(
                f"there are no branches of kind '{name}'", hints=[f"kinds: {' '.join(u.PERF_SAMPLE_BRANCH)}"]
            )
        mask |= u.PERF_SAMPLE_BRANCH[name] if name else 0
    levels = u.PERF_SAMPLE_BRANCH["u"] | u.PERF_SAMPLE_BRANCH["k"] | u.PERF_SAMPLE_BRANCH["hv"]
    return mask | u.PERF_SAMPLE_BRANCH_ANY if mask and not mask & ~levels else mask


def _clock(name: str | None) -> int:
    if name is None:
        return -1
    number = _CLOCKS.get(name.lower().removeprefix("clock_"))
    if number is None:
        raise UsageError(f"there is no clock '{name}'", hints=[f"clocks: {', '.join(_CLOCKS)}"])
    return number


# --- whom and where


def _ids(text: str | None) -> tuple[int, ...]:
    return tuple(process_id(w) for w in text.split(",")) if text else ()


def _user(name: str | None) -> int:
    import pwd

    from probescope.collect.recorder.targets import of_user

    if not name:
        return -1
    try:
        uid = int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid
    except KeyError:
        raise UsageError(f"there is no user '{name}'") from None
    if not of_user(uid):
        raise UsageError(f"{name} has no processes")
    return uid


def _cpus(text: str | None) -> tuple[int, ...]:
    from probescope.kernel.machine import online_cpus

    if not text:
        return ()
    wanted, online = cpu_list(text), online_cpus()
    absent = [c for c in wanted if c not in online]
    if absent or not wanted:
        known = f"{online[0]}-{online[-1]}" if len(online) > 1 else str(online[0])
        raise UsageError(f"there is no CPU {absent[0] if absent else text}", hints=[f"online: {known}"])
    return tuple(wanted)


def _switch(args: argparse.Namespace) -> Switch:
    from probescope.collect.recorder.request import Switch

    when = args.switch_output
    most = _whole(args.switch_max_files, "--switch-max-files") if args.switch_max_files else 0
    events: tuple[Counter, ...] = ()
    if args.switch_output_event:
        from probescope.lang.perf.events import parse_events
        from probescope.sources.perf_events import resolve_events

        text = args.switch_output_event
        events, when = tuple(resolve_events(parse_events(text), text)), when or "signal"
    if when is None:
        return Switch()
    if when == "signal":
        return Switch(signal=True, most=most, events=events)
    time = whole(when[:-1]) if when[-1:] in _TIMES else None
    if time is not None:
        return Switch(True, time_ms=time * _TIMES[when[-1]] * 1000, most=most, events=events)
    return Switch(True, _size(when, "--switch-output"), most=most, events=events)


def _output(name: str | None) -> str:
    """Into a pipe, if standard output is one and nothing else is said: ``record ... | script -i -``, as with perf."""
    import stat
    import sys

    if name is None:
        return "-" if stat.S_ISFIFO(os.fstat(1).st_mode) else "perf.data"
    if name == "-" and sys.stdout.isatty():
        raise UsageError("a recording is nothing for a terminal", hints=["-o FILE, or | probescope script -i -"])
    return name


def _build_ids(args: argparse.Namespace, switches: bool) -> BuildIds:
    if args.no_buildid or (switches and not args.buildid_all):
        return "none"
    return "mapped" if args.buildid_mmap else "all" if args.buildid_all else "hit"


def _start(text: str | None) -> frozenset[str]:
    out: set[str] = set()
    for word in (text or "all").split(","):
        if word not in _STARTS:
            raise UsageError(f"'{word}' cannot be told of", hints=[f"--synth {', '.join(_STARTS)}"])
        out |= _STARTS[word]
    return frozenset(out)


# --- numbers


def _whole(text: str, option: str, least: int = 1) -> int:
    sign = -1 if least < 0 and text.startswith("-") else 1
    number = whole(text.removeprefix("-") if sign < 0 else text, most=(1 << 62) - 1)
    if number is None or sign * number < least:
        raise UsageError(f"{option} wants a number, not '{text}'")
    return sign * number


def _size(text: str, option: str) -> int:
    unit = text[-1:].upper()
    number = whole(text[:-1], 1, _MOST_BYTES) if unit in _UNITS else None
    if number is None:
        raise UsageError(f"{option} wants a size, not '{text}'", hints=["a number with B, K, M or G: 100M"])
    return number * _UNITS[unit]


def _pages(text: str | None, say: Callable[[str], None]) -> int:
    """Of a ring: 2^n, of a number of pages or a size."""
    from probescope.kernel.host import host

    if not text:
        return 0
    text = text.partition(",")[0]  # what follows is for AUX areas
    page = host().page_size
    pages = _whole(text, "-m") if text.isdecimal() else (_size(text, "-m") + page - 1) // page
    rounded = 1 << (pages - 1).bit_length()
    if rounded > _MOST_PAGES:
        raise UsageError(f"-m {text} is more than a ring may have", hints=[f"{_MOST_PAGES} pages are the most"])
    if rounded != pages and text.isdecimal():
        say(f"-m {text}: rings of {rounded} pages, a power of two")
    return rounded


def _level(text: str | None) -> int:
    if text is None:
        return 0
    level = _whole(text, "-z")
    if level > 22:
        raise UsageError(f"there is no compression level {level}", hints=["1 (fastest) to 22 (smallest)"])
    from probescope.formats.zstd import zstd

    zstd()
    return level
