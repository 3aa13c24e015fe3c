"""``probescope list [GLOB]``: probes of every source, with their arguments."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, add_format, debug_dirs, process_id
from probescope.model.visible import visible, visible_json

if TYPE_CHECKING:
    from probescope.sources.context import ResolveContext

EXAMPLES = """examples:
  probescope list                           every probe of the kernel
  probescope list 'tracepoint:sched:*'      by source and glob
  probescope list sched_switch              names that contain a word
  probescope list -v tracepoint:syscalls:sys_enter_openat
  probescope list 'uprobe:/bin/bash:read*'  functions of a program
  probescope list 'usdt:*' -p $$            USDT probes of a process
  probescope list -v 'struct file'          a type of the kernel
  probescope list -v -f json 'software:*' | head -n 3
"""
LUMP = 4096
NEAREST_AMONG = 5000


def parser() -> Parser:
    p = Parser("list", "List probes by source and glob; with -v their arguments, as C declares them.", EXAMPLES)
    p.add_argument(
        "patterns",
        nargs="*",
        metavar="GLOB",
        help="SOURCE:GLOB, a glob over all names, or a word that they contain (default: everything of the kernel)",
    )
    p.add_argument("-v", "--verbose", action="store_true", help="show the arguments of each probe")
    p.add_argument(
        "-p", "--pid", type=process_id, default=-1, help="with the functions and USDT probes of this process"
    )
    p.add_argument(
        "--debuginfo", action="append", default=[], metavar="DIR", help="where debug files are looked for too"
    )
    add_format(p, "text (default) or json, one document a line")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_intermixed_args(argv)
    asked: list[str] = args.patterns or ["*"]
    patterns = [_AS_PERF.get(p, p) for p in asked]
    dirs = debug_dirs(args.debuginfo)
    return show(*patterns, verbose=args.verbose, pid=args.pid, as_json=args.format == "json", dirs=dirs)


_AS_PERF = {"hw": "hardware:*", "sw": "software:*", "tracepoint": "tracepoint:*", "tracepoints": "tracepoint:*"}
_PERFS_KINDS = {
    "pmu": "probescope stat -e 'PMU/TERM=VALUE/': they are in /sys/bus/event_source/devices",
    "sdt": "probescope list 'usdt:FILE:*', or 'usdt:*' -p PID",
    **dict.fromkeys(("metric", "metrics", "metricgroup"), "probescope stat -M IPC,CPI,TopdownL1"),
    **dict.fromkeys(("cache", "hwcache"), "probescope stat -e L1-dcache-load-misses,LLC-loads,dTLB-store-misses"),
}
"""Words of perf list, and what they are here where no probe has such a name."""


def show(*patterns: str, verbose: bool, pid: int = -1, as_json: bool = False, dirs: tuple[str, ...] = ()) -> int:
    """Prints as probes are found. Raises ProbeError if a pattern matches nothing, with the nearest names."""
    from probescope.api import resolve_context

    ctx = resolve_context(pid=pid)
    ctx.debug_dirs = dirs
    for pattern in patterns:
        lump: list[str] = []
        found = 0
        for name, arguments in probes(pattern, ctx, verbose=verbose):
            found += 1
            lump.append(_line(name, arguments, as_json=as_json))
            # arguments take time to find: then a few at once is soon enough
            if len(lump) >= (LUMP >> 6 if verbose else LUMP):
                sys.stdout.write("".join(lump))
                lump.clear()
        sys.stdout.write("".join(lump))
        if not found:
            raise _nothing(pattern, ctx)
    _tell_missing(patterns)
    return 0


def probes(pattern: str, ctx: ResolveContext, *, verbose: bool) -> Iterator[tuple[str, list[str] | None]]:
    """Names, and with ``verbose`` their arguments."""
    from probescope.sources import kernel_types, registry

    if kernel_types.asked(pattern):
        for name, members in kernel_types.list_types(pattern):
            yield (f"vmlinux: {name} {{", members) if verbose else (name, None)
        return
    for name in registry.list_probes(pattern, ctx):
        yield name, _arguments(name, ctx) if verbose else None


def _arguments(name: str, ctx: ResolveContext) -> list[str]:
    from probescope.api import parse_probe
    from probescope.errors import ProbescopeError
    from probescope.sources import registry

    try:
        return registry.describe(registry.resolve(parse_probe(name.rstrip(":")), ctx)[0], ctx)
    except ProbescopeError:
        return []


def _line(name: str, arguments: list[str] | None, *, as_json: bool) -> str:
    if as_json:
        import json

        found: dict[str, object] = {"probe": name, "source": name.partition(":")[0]}
        return visible_json(json.dumps(found if arguments is None else {**found, "arguments": arguments})) + "\n"
    end = ["};\n"] if name.endswith("{") else []
    text = "".join([name + "\n", *(f"    {a}\n" for a in arguments or ()), *end])
    return visible(text) if sys.stdout.isatty() else text


# --- when there is nothing
# ----------------------------------------------------------------------------------------------


def _nothing(pattern: str, ctx: ResolveContext) -> Exception:
    from probescope.errors import ProbeError
    from probescope.sources.globs import is_glob

    if pattern in _PERFS_KINDS:
        return ProbeError(f"no probe matches {pattern}", hints=[_PERFS_KINDS[pattern]])
    reasons = [f"{source}: {why}" for source, why in missing(_sources(pattern))]
    near = [] if is_glob(pattern) else [f"did you mean {n}?" for n in _nearest(pattern, ctx)]
    hints = [*near, *reasons] or [_where_to_look(_sources(pattern))]
    return ProbeError(f"no probe matches {pattern}", hints=hints)


def _where_to_look(sources: Sequence[str]) -> str:
    if "usdt" in sources:
        return "a program has USDT probes if it was built with sys/sdt.h: readelf -n PROGRAM shows them"
    if set(sources) & {"uprobe", "uretprobe"}:
        return "a stripped program has no names of functions but those it exports: install its debug symbols"
    return "probescope list '*WORD*' looks in all names of the kernel"


def _sources(pattern: str) -> Sequence[str]:
    """The sources that a pattern looks into."""
    from probescope.model.probe import SHORT_NAMES, SOURCES
    from probescope.sources import registry
    from probescope.sources.globs import is_glob, matches

    head, colon, _ = pattern.partition(":")
    if not colon and head not in SOURCES and head not in SHORT_NAMES:
        return registry.LISTED
    return [s for s in registry.LISTED if matches(head, s)] if is_glob(head) else [SHORT_NAMES.get(head, head)]


def missing(sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Sources that have nothing to list on this machine, or may not be asked, and why."""
    from probescope.api import resolve_context
    from probescope.errors import ProbescopeError
    from probescope.sources import registry

    ctx = resolve_context()
    for name in sources:
        why = registry.unavailable(name)
        if not why and name in registry.LISTED:
            try:
                registry.source(name).list_names(name, "no:such:name", ctx)
            except ProbescopeError as e:
                why = "; ".join([str(e), *e.hints[:1]])
        if why:
            yield name, why


def _tell_missing(patterns: Sequence[str]) -> None:
    """Who asks for everything learns what everything is without."""
    from probescope.sources.globs import is_glob

    wanted = [p for p in patterns if is_glob(p.partition(":")[0]) and p.partition(":")[0] == "*"]
    for name, why in missing(_sources("*")) if wanted else ():
        sys.stderr.write(f"WARNING: no {name} probes are listed: {why}\n")


def _nearest(pattern: str, ctx: ResolveContext) -> list[str]:
    """Names that a misspelt one may have meant: beside it, else in its source; for a bare word the last parts of
    all."""
    from probescope.diagnostics import nearest

    head, colon, _ = pattern.partition(":")
    if not colon:
        by_word = {n.rstrip(":").rpartition(":")[2]: n for n in _names("*", ctx)}
        return [by_word[w] for w in nearest(pattern, _few(pattern, by_word))]
    for beside in (pattern.rpartition(":")[0], head):
        names = _names(f"{beside}:*", ctx)
        found = nearest(pattern, _few(pattern, names))
        if found:
            return list(found)
    return []


def _names(pattern: str, ctx: ResolveContext) -> list[str]:
    from probescope.errors import ProbescopeError
    from probescope.sources import registry

    try:
        return list(registry.list_probes(pattern, ctx))
    except ProbescopeError:
        return []


def _few(word: str, names: Iterable[str]) -> list[str]:
    """Comparing with 100,000 names would take seconds: those that begin alike are enough."""
    found = list(names)
    start = word.rfind(":") + 1
    for size in range(start + 1, len(word)):
        if len(found) <= NEAREST_AMONG:
            break
        found = [n for n in found if n.startswith(word[:size])]
    return found[:NEAREST_AMONG]
