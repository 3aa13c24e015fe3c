"""What a trace.dat tells besides its events: for `ftrace report --stat` and the like, and `check-events`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from probescope.cli.terminal import write_text
from probescope.formats.tracedat import options as o

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from probescope.formats.tracedat.reader import TraceDat
    from probescope.model.recording import EventType


def told(recording: TraceDat, args: argparse.Namespace, file: int) -> int:
    """In trace-cmd's words. ``file``: which of those that were given. The exit code."""
    code = 0
    if args.check_events:
        return unprintable(recording.events[:-1])
    if args.page_size:
        page = recording.contents.page_size
        sys.stdout.write(f"file page size is {page}, and host page size is {os.sysconf('SC_PAGE_SIZE')}\n")
    elif args.endian:
        return _endian(recording)
    elif args.functions:
        write_text("".join(_functions(recording.contents.kallsyms)))
    elif args.printk:
        write_text("".join(_printk(recording.contents.printk)))
    elif args.events:
        write_text("".join(f"{e.name}\n" for e in sorted(recording.events[:-1], key=_by_system)))
    elif args.uname or args.version:
        sys.stdout.write(f"cpus={recording.machine.cpus}\n")
        for name, number in (("uname", o.UNAME), ("version", o.VERSION)):
            texts = [o.text(data) for data in recording.option(number)]
            texts = texts or [f" {name} was not recorded in this file"]
            write_text("".join(f"{text}\n" for text in texts) if getattr(args, name) else "")
    elif args.stat:
        _stat(recording)
    else:
        _cpus(recording, args, file)
    return code


def _by_system(event: EventType) -> tuple[str, str]:
    system, _, name = event.name.partition(":")
    return system, name


def _functions(text: str) -> Iterator[str]:
    """``ADDRESS NAME [MODULE]`` a line, by address."""
    from probescope.formats.tracing.symbols import SYMBOL

    for address, name, module in sorted(SYMBOL.findall(text), key=lambda one: int(one[0], 16)):
        yield f"{int(address, 16):016x} {name}{' ' if module else ''}{module}\n"


def _printk(text: str) -> list[str]:
    """``ADDRESS : "FORMAT"`` a line, by address."""
    found = []
    for line in text.splitlines():
        address, colon, shown = line.partition(" : ")
        with suppress(ValueError):
            shown = shown.strip().removeprefix('"').removesuffix('"').removesuffix("\\n")
            found.append((int(address, 16), shown) if colon else (0, ""))
    return [f"{address:016x} {shown}\n" for address, shown in sorted(found) if address]


def _endian(recording: TraceDat) -> int:
    file, host = ("big" if big else "little" for big in (recording.contents.big, sys.byteorder == "big"))
    sys.stdout.write(f"file is {file} endian and host is {host} endian\n")
    return 0


def _stat(recording: TraceDat) -> None:
    out = [f"cpus={recording.machine.cpus}\n\nKernel buffer statistics:\n"]
    out.append('  Note: "entries" are the entries left in the kernel ring buffer and are not\n')
    out.append("        recorded in the trace data. They should all be zero.\n\n")
    told = [o.text(data) for data in recording.option(o.CPUSTAT)]
    out += [f"{text}\n" for text in told]
    out += ["\n" if told else " No stats in this file\n", *_places(recording)]
    write_text("".join(out))


def _places(recording: TraceDat) -> Iterator[str]:
    """Where each CPU's events are. Those that are compressed: trace-cmd tells where it has unpacked them."""
    for cpu in next((b.cpus for b in recording.buffers if not b.name and not b.latency), ()):
        yield f"CPU{cpu.cpu} data recorded at offset=0x{cpu.offset:x}\n    {cpu.size} bytes in size\n"


def _cpus(recording: TraceDat, args: argparse.Namespace, file: int) -> None:
    import numpy as np

    from probescope.cli.ftrace_times import offset_of, timed
    from probescope.views.tracecmd.choosing import moved

    ticks, offset = timed(recording, args, file), offset_of(args, file)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for batch in (moved(batch, offset) for batch in recording.batches()):
        for cpu in np.unique(batch.cpu).tolist():
            times = batch.time[batch.cpu == cpu]
            first.setdefault(cpu, int(times[0]))
            last[cpu] = int(times[-1])
    write_text(f"List of CPUs in {recording.name} with data:\n")
    for cpu in sorted(first):
        text = f"  {cpu}"
        text += f"\tFirst event:{_shown(first[cpu], args.nanoseconds, ticks)}" if args.first_event else ""
        text += f"\tLast event:{_shown(last[cpu], args.nanoseconds, ticks)}" if args.last_event else ""
        sys.stdout.write(text + "\n")


def _shown(time: int, nanoseconds: bool, ticks: bool) -> str:
    if ticks:
        return f"{time:12d}"
    if nanoseconds:
        return f"{time // 1_000_000_000:5d}.{time % 1_000_000_000:09d}"
    micro = (time + 500) // 1000
    return f"{micro // 1_000_000:5d}.{micro % 1_000_000:06d}"


def unprintable(events: Sequence[EventType]) -> int:
    """Says which print formats cannot be worked out; 1 if there are any."""
    from probescope.formats.tracing.print_fmt import compile_event
    from probescope.formats.tracing.symbols import Context

    context = Context()
    bad = [e.name for e in events if not compile_event(e, context).parsed]
    write_text("".join(f"{name}: printed field by field\n" for name in bad))
    sys.stderr.write(f"{len(events) - len(bad)} of {len(events)} events are printed as they should be\n")
    return 1 if bad else 0
