"""``probescope ftrace dump``: what a trace.dat is made of."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.ftrace_report import opened
from probescope.cli.parsing import Parser, add_format
from probescope.cli.terminal import write_text
from probescope.formats.tracedat import options as o

if TYPE_CHECKING:
    import argparse

    from probescope.formats.tracedat.reader import TraceDat

EXAMPLES = """examples:
  probescope ftrace dump
  probescope ftrace dump -i other.dat --options --flyrecord
  probescope ftrace dump --events | less
  probescope ftrace dump -v                     whether all of it can be read
"""
TEXTS = {
    # option: (in Contents, about)
    "head_page": ("header_page", "how pages are laid out"),
    "kallsyms": ("kallsyms", "symbols of the kernel"),
    "printk": ("printk", "formats of trace_printk"),
    "cmd_lines": ("cmdlines", "names of threads"),
}
NAMES = {
    number: name.lower()
    for name, number in vars(o).items()
    if name.isupper() and isinstance(number, int) and not name.startswith("MOST")
}


def parser(command: str = "dump") -> Parser:
    p = Parser(f"ftrace {command}", "Show what a trace.dat is made of.", EXAMPLES)
    p.add_argument("file", nargs="?", metavar="FILE", help="trace.dat by default")
    p.add_argument("-i", dest="input", metavar="FILE", help="the same")
    p.add_argument("-v", dest="validate", action="store_true", help="read all of it, and say what cannot be read")
    p.add_argument("--all", action="store_true", help="everything")
    p.add_argument("--summary", action="store_true", help="version, compression, buffers (default)")
    for name, (_, about) in TEXTS.items():
        p.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=about)
    p.add_argument("--ftrace-events", action="store_true", help="formats of ftrace's own events")
    p.add_argument("--systems", action="store_true", help="systems of events")
    p.add_argument("--events", action="store_true", help="formats of events")
    p.add_argument("--options", action="store_true", help="options: machine, clock, how full buffers were")
    p.add_argument("--flyrecord", action="store_true", help="of each CPU, where its pages are")
    p.add_argument("--clock", action="store_true", help="the clock")
    add_format(p)
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    args = parser(command).parse_intermixed_args(list(argv))
    args.input = args.input or args.file or "trace.dat"
    return args


def main(command: str, argv: list[str]) -> int:
    args = parse(command, argv)
    with opened(args.input) as recording:
        if args.validate:
            return _validated(recording)
        if args.format == "json":
            sys.stdout.write(json.dumps(facts(recording), indent=2) + "\n")
            return 0
        for piece in _pieces(recording, args):
            write_text(piece)
    return 0


def _validated(recording: TraceDat) -> int:
    from probescope.cli.recordings import tell_damage

    count = sum(batch.count for batch in recording.batches())
    found = recording.damage
    tell_damage(recording.name, found, sys.stderr)
    sys.stdout.write(f"{recording.name}: {count:,} events, {'damaged' if found else 'whole'}\n")
    return 1 if found else 0


def facts(recording: TraceDat) -> dict[str, Any]:
    """The summary, options and places, as JSON-able values."""
    c = recording.contents
    systems: dict[str, int] = {}
    for system, _ in c.formats:
        systems[system] = systems.get(system, 0) + 1
    return {
        "file": recording.name,
        "version": c.version,
        "big_endian": c.big,
        "long_size": c.long_size,
        "page_size": c.page_size,
        "compression": c.compression,
        "clock": recording.clock,
        "systems": systems,
        "options": [
            {"option": NAMES.get(n, str(n)), "bytes": len(d), "value": _option(n, d, c.big)} for n, d in c.options
        ],
        "buffers": [
            {
                "name": b.name,
                "clock": b.clock,
                "page_size": b.page_size,
                "latency": b.latency,
                "cpus": [{"cpu": x.cpu, "offset": x.offset, "size": x.size} for x in b.cpus],
            }
            for b in c.buffers
        ],
        "damage": [{"count": d.count, "about": d.about} for d in recording.damage],
    }


def _option(number: int, data: bytes, big: bool) -> str | int:
    if number in {o.DATE, o.CPUSTAT, o.TRACECLOCK, o.UNAME, o.HOOK, o.OFFSET, o.VERSION, o.PROCMAPS}:
        return o.text(data).strip("\n")
    if len(data) in {1, 2, 4, 8}:
        return int.from_bytes(data, "big" if big else "little")
    return data[:64].hex()


def _pieces(recording: TraceDat, args: argparse.Namespace) -> Iterator[str]:
    c, told = recording.contents, facts(recording)
    asked = [
        n for n in (*TEXTS, "ftrace_events", "systems", "events", "options", "flyrecord", "clock") if getattr(args, n)
    ]
    if args.summary or args.all or not asked:
        yield from _summary(told)
    for name, (attribute, about) in TEXTS.items():
        if getattr(args, name) or args.all:
            yield f"[{about}]\n{getattr(c, attribute)}\n"
    if args.systems or args.all:
        yield "[systems]\n" + "".join(f"  {name}: {count}\n" for name, count in told["systems"].items())
    if args.ftrace_events or args.all:
        yield "".join(text + "\n" for system, text in c.formats if system == "ftrace")
    if args.events or args.all:
        yield "".join(f"system: {system}\n{text}\n" for system, text in c.formats if system != "ftrace")
    if args.options or args.all:
        for option in told["options"]:
            yield f"[option {option['option']}, {option['bytes']} bytes]\n{option['value']}\n"
    if args.flyrecord or args.all:
        yield from _places(told)
    if args.clock or args.all:
        yield f"clock: {told['clock'] or 'local'}\n"


def _summary(told: dict[str, Any]) -> Iterator[str]:
    order = "big" if told["big_endian"] else "little"
    yield f"{told['file']}: version {told['version']}, {order} endian, longs of {told['long_size']} bytes, "
    yield f"pages of {told['page_size']}, compression {told['compression']}\n"
    yield f"events: {sum(told['systems'].values())} described, of {len(told['systems'])} systems\n"
    yield f"options: {len(told['options'])}\n"
    for b in told["buffers"]:
        size = sum(x["size"] for x in b["cpus"])
        name = b["name"] or "(top)"
        yield f"buffer {name}: {len(b['cpus'])} CPUs, {size:,} bytes, clock {b['clock'] or told['clock'] or 'local'}\n"
    yield "".join(f"damaged: {d['about']} ({d['count']}x)\n" for d in told["damage"])


def _places(told: dict[str, Any]) -> Iterator[str]:
    for b in told["buffers"]:
        yield f"[buffer {b['name'] or '(top)'}]\n"
        yield "".join(f"  CPU {x['cpu']}: offset {x['offset']:#x}, {x['size']:,} bytes\n" for x in b["cpus"])
