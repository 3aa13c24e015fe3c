"""``probescope ftrace list``: what this kernel can trace, and what is set."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser

if TYPE_CHECKING:
    import argparse

EXAMPLES = """examples:
  probescope ftrace list -e 'sched:*'           events; -F with their fields, -R triggers, -l filters
  probescope ftrace list -f 'ext4_*'            functions that can be traced
  probescope ftrace list -t                     tracers
  probescope ftrace list                        everything but events and functions
"""


def parser(command: str = "list") -> Parser:
    p = Parser(f"ftrace {command}", "List what this kernel can trace.", EXAMPLES)
    p.add_argument(
        "-e", dest="events", nargs="?", const="all", metavar="GLOB", help="events; a glob, or a regular expression"
    )
    p.add_argument("-F", dest="fields", action="store_true", help="with -e: their formats")
    p.add_argument("--full", action="store_true", help="with -F: how they are printed too")
    p.add_argument("-R", dest="triggers", action="store_true", help="with -e: triggers of traces that were started")
    p.add_argument("-l", dest="filters", action="store_true", help="with -e: their filters")
    p.add_argument("-f", dest="functions", nargs="?", const="*", metavar="GLOB", help="functions, likewise")
    p.add_argument("-t", dest="tracers", action="store_true", help="tracers")
    p.add_argument("-p", dest="tracers", action="store_true", help="the same, as older trace-cmd has it")
    p.add_argument("-o", dest="options", action="store_true", help="options")
    p.add_argument("-B", dest="buffers", action="store_true", help="buffers: instances of ftrace, whosever they are")
    p.add_argument("-C", dest="clocks", action="store_true", help="clocks, the one in use in brackets")
    p.add_argument("-c", dest="compressions", action="store_true", help="how trace.dat can be compressed here")
    p.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    return parser(command).parse_args(list(argv))


def main(command: str, argv: list[str]) -> int:
    args = parse(command, argv)
    found = _found(args)
    if args.format == "json":
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    alone = len(found) == 1
    for title, lines in found.items():
        sys.stdout.write("" if alone else f"{title}:\n")
        for line in lines if isinstance(lines, list) else [lines]:
            text = line if isinstance(line, str) else _event(line)
            sys.stdout.write(f"{text}\n" if alone else f"  {text}\n")
    return 0


def _found(args: argparse.Namespace) -> dict[str, Any]:
    from probescope.kernel import trace_text, tracefs

    asked = [n for n in ("events", "functions", *_PARTS) if getattr(args, n)]
    out: dict[str, Any] = {}
    for name in asked or _PARTS:
        if name == "events":
            out[name] = _events(args)
        elif name == "functions":
            out[name] = _functions(args.functions)
        elif name == "tracers":
            out[name] = sorted(tracefs.tracers())
        elif name == "options":
            out[name] = tracefs.read("trace_options").split()
        elif name == "buffers":
            out[name] = trace_text.instances()
        elif name == "clocks":
            out[name] = tracefs.read("trace_clock").split()
        else:
            out[name] = _compressions()
    return out


_PARTS = ("tracers", "options", "clocks", "buffers", "compressions")


def _compressions() -> list[str]:
    from probescope.errors import FormatError
    from probescope.formats.zstd import zstd

    try:
        zstd()
    except FormatError:
        return ["none", "zlib"]
    return ["none", "zlib", "zstd"]


def _like(pattern: str) -> list[Callable[[str], bool]]:
    """Tests of a name, tried one after the other: as a glob; as a basic regular expression of POSIX, which trace-cmd
    takes; as one with ``|`` and ``()`` as most people write them."""
    from fnmatch import fnmatchcase

    from probescope.model.posix import compiled_basic

    def found_by(compiled: Callable[[str], re.Pattern[str]]) -> Iterator[Callable[[str], bool]]:
        with suppress(re.error):
            expression = compiled(pattern)
            yield lambda name: expression.search(name) is not None

    return [lambda name: fnmatchcase(name, pattern), *found_by(compiled_basic), *found_by(re.compile)]


def _functions(pattern: str) -> list[str]:
    from probescope.collect.ftrace.arming import no_function
    from probescope.errors import KernelError
    from probescope.kernel import tracefs

    known = list(tracefs.filter_functions())
    for test in _like(pattern):
        found = [f"{name} [{module}]" if module else name for name, module in known if test(name)]
        if found:
            return found
    raise no_function(pattern, KernelError("look for it", 2))


def _events(args: argparse.Namespace) -> list[Any]:
    from probescope.collect.ftrace.choosing import Events

    known = Events()
    found = [pair for chosen in known.chosen(args.events) for pair in chosen.events]
    for test in _like(args.events)[1:] if not found else ():
        found = found or [(system, name) for system, name in known.all if test(f"{system}:{name}")]
    if not found:
        raise known.none_like(args.events)
    if not (args.fields or args.triggers or args.filters):
        return [f"{system}:{name}" for system, name in found]
    return [_described(system, name, args) for system, name in found]


def _described(system: str, name: str, args: argparse.Namespace) -> dict[str, Any]:
    from probescope.kernel import tracefs
    from probescope.kernel.started import all_started

    out: dict[str, Any] = {"event": f"{system}:{name}"}
    if args.fields:
        text = tracefs.event_format(system, name)
        out["format"] = text if args.full else text.partition("\nprint fmt:")[0]
    for key, file in (("triggers", "trigger"), ("filters", "filter")):
        if getattr(args, key):
            bases = [tracefs.find_root(), *(one.base for one in all_started() if not one.top)]
            texts = [tracefs.read(f"events/{system}/{name}/{file}", base).strip() for base in bases]
            shown = [t for t in texts if t != "none" and not t.startswith("# Available")]
            out[key] = list(dict.fromkeys(shown))
    return out


def _event(described: dict[str, Any]) -> str:
    out = [described["event"]]
    if "format" in described:
        out.append(described["format"].strip() + "\n")
    for key in ("triggers", "filters"):
        out += [f"  {text}" for text in described.get(key, ())]
    return "\n".join(out)
