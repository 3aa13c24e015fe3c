"""``probescope list [GLOB]``: probes of every source, with their arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from probescope.model.probe import ProbeSpec

EXAMPLES = """examples:
  probescope list                           every probe of the kernel
  probescope list 'tracepoint:sched:*'      by source and glob
  probescope list vfs_read                  names that contain a word
  probescope list -v tracepoint:syscalls:sys_enter_openat
  probescope list 'uprobe:/bin/bash:read*'  functions of a program
  probescope list 'usdt:*' -p 1234          USDT probes of a process
"""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="probescope list",
        description="List probes by source and glob, with -v their arguments as C declares them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument(
        "pattern", nargs="?", default="*", help="SOURCE:GLOB, or a glob over all names (default: everything)"
    )
    p.add_argument("-v", "--verbose", action="store_true", help="show the arguments of each probe")
    p.add_argument("-p", "--pid", type=int, default=-1, help="probes of this process (usdt, uprobe)")
    p.add_argument(
        "-f", "--format", choices=("text", "json"), default="text", help="text (default) or json, one a line"
    )
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    return show(args.pattern, verbose=args.verbose, pid=args.pid, as_json=args.format == "json")


def show(pattern: str, *, verbose: bool, pid: int = -1, as_json: bool = False) -> int:
    """Prints; 1 if there was nothing to print."""
    found = 0
    lump: list[str] = []
    for name, arguments in probes(pattern, verbose=verbose, pid=pid):
        found += 1
        lump.append(_line(name, arguments, as_json=as_json))
        if len(lump) >= 4096:
            sys.stdout.write("".join(lump))
            lump.clear()
    sys.stdout.write("".join(lump))
    if not found:
        sys.stderr.write(f"no probe matches {pattern}\nHINT: probescope list '*WORD*' looks in all names\n")
    return 0 if found else 1


def probes(pattern: str, *, verbose: bool, pid: int) -> Iterator[tuple[str, list[str]]]:
    """Names, and with ``verbose`` their arguments."""
    from probescope.api import resolve_context
    from probescope.sources import registry

    ctx = resolve_context(pid=pid)
    for name in registry.list_probes(pattern, ctx):
        yield name, _arguments(name, ctx) if verbose else []


def _arguments(name: str, ctx: object) -> list[str]:
    from probescope.api import parse_probe
    from probescope.errors import ProbescopeError
    from probescope.sources import registry

    try:
        spec: ProbeSpec = parse_probe(name)
        sites = registry.resolve(spec, ctx)  # type: ignore[arg-type]
        return registry.describe(sites[0], ctx)  # type: ignore[arg-type]
    except ProbescopeError:
        return []


def _line(name: str, arguments: list[str], *, as_json: bool) -> str:
    if as_json:
        import json

        return json.dumps({"probe": name, "arguments": arguments}) + "\n"
    return "".join([name + "\n", *(f"    {a}\n" for a in arguments)])
