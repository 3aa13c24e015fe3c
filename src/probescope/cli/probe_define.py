"""``probe -a``, ``-D``, ``-d`` and ``-l``: definitions as dynamic events of tracefs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.errors import ProbeError, UsageError
from probescope.model.probe_def import ProbeDef

if TYPE_CHECKING:
    from probescope.model.probe_found import ProbeEvent
    from probescope.sources.probe_target import DefinitionTarget


def target(args: argparse.Namespace, *, live: bool = False) -> DefinitionTarget:
    from probescope.cli.parsing import debug_dirs
    from probescope.sources.probe_target import Wanted, open_target

    wanted = Wanted(
        binary=args.binary or "",
        module=args.module,
        vmlinux=args.vmlinux,
        source=args.source,
        pid=args.target_ns or _seen_by(args),
        inlined=not args.no_inlines,
        live=live,
        fetch=_fetch(args),
        debug_dirs=debug_dirs(args.debuginfo),
    )
    found = open_target(wanted)
    if live:
        _tell_held(args, wanted.pid, found.label)
    return found


def _tell_held(args: argparse.Namespace, pid: int, path: str) -> None:
    """That another file is probed than the name leads to now: the one that the process runs."""
    held = path.startswith((f"/proc/{pid}/exe", f"/proc/{pid}/map_files/")) and not args.binary.startswith("/proc/")
    if held and not args.quiet:
        what = f"the file that it runs is not at {args.binary} any more: that one is probed"
        sys.stderr.write(f"WARNING: process {pid}: {what}\n")


def _seen_by(args: argparse.Namespace) -> int:
    """The process of ``-p``, which may see another file under a name than we do; not where only we have one."""
    if not args.binary or not args.pid or args.binary.startswith("/proc/"):
        return 0
    from probescope.kernel import procfs

    root = procfs.root(args.pid) if procfs.alive(args.pid) else ""
    elsewhere = root and "/" in args.binary and not os.path.lexists(f"{root}{os.path.abspath(args.binary)}")
    return 0 if elsewhere and os.path.exists(args.binary) else int(args.pid)


def _fetch(args: argparse.Namespace) -> Callable[[str], str] | None:
    if args.debuginfod is None:
        return None
    from probescope.kernel.debuginfod import Client, cache_folder, servers

    def told(what: str) -> None:
        if not args.quiet:
            sys.stderr.write(f"fetching {what}\n")

    urls = servers(args.debuginfod, os.environ.get("DEBUGINFOD_URLS", ""))
    client = Client(urls, cache_folder(os.environ), told)
    return lambda build_id: client.fetch(build_id, "debuginfo")


def events(
    args: argparse.Namespace, texts: list[str], taken: Callable[[str, str], bool], event: str = "", *, live: bool = True
) -> list[ProbeEvent]:
    """Of definitions, on one target. ``live``: they are to be probed now. Raises ProbeError, ScriptError."""
    from probescope.frozen import replace
    from probescope.lang.probe.parser import parse
    from probescope.sources.probe_names import named

    where = target(args, live=live)
    out: list[ProbeEvent] = []
    for text in texts:
        d = parse(text)
        if event:
            group, _, name = event.rpartition(":")
            d = replace(d, event=name, group=group or d.group)
        if d.args and where.debug is not None:
            where.debug.most = args.max_probes
        found = where.resolve(d)
        if len(found) > args.max_probes:
            hints = [f"--max-probes {len(found)} takes them all", "or name a file: FUNCTION@FILE"]
            hints += ["--no-inlines leaves out inlined copies"] if any(f.inlined for f in found) else []
            raise ProbeError(f"'{d.place}' stands for {len(found)} places, more than {args.max_probes}", hints=hints)
        made = named(d, found, taken, force=args.force, beside=out)
        out += made
        _tell_lost(args, d, made)
    return out


def _tell_lost(args: argparse.Namespace, d: ProbeDef, made: list[ProbeEvent]) -> None:
    if args.quiet:
        return
    for text in dict.fromkeys(t for e in made for t in (*e.found.lost, *e.found.notes)):
        sys.stderr.write(f"WARNING: {d.place}: {text}\n")


MOST_TOLD = 8
"""Definitions that are remembered, the newest."""
UNTOLD = "is an address that the code calculates: tracefs fetches only what it points to (without --add it is printed)"


def _tell_untold(args: argparse.Namespace, found: list[ProbeEvent]) -> None:
    for name in dict.fromkeys(n for e in found for n in e.untold()):
        if not args.quiet:
            sys.stderr.write(f"WARNING: {name} {UNTOLD}\n")


def nothing(_group: str, _event: str) -> bool:
    """No event is there yet."""
    return False


def definition(args: argparse.Namespace, text: str) -> int:
    found = events(args, [text], nothing, live=False)
    _tell_untold(args, found)
    if args.format == "json":
        from probescope.cli import probe_documents

        probe_documents.write(probe_documents.of_event(e) for e in found)
        return 0
    sys.stdout.write("".join(f"{e.definition()}\n" for e in found))
    return 0


def add(args: argparse.Namespace, text: str) -> int:
    return _add(args, [text], "")


def keep(args: argparse.Namespace, texts: list[str], name: str) -> int:
    """Raises UsageError for what is no name."""
    from probescope.lang.probe.places import is_event_name

    group, colon, event = name.rpartition(":")
    if not is_event_name(event) or (colon and not is_event_name(group)):
        raise UsageError(
            f"--keep: '{name}' is no name for an event", hints=["GROUP:NAME, or NAME: letters, digits and _"]
        )
    return _add(args, texts, name)


def _add(args: argparse.Namespace, texts: list[str], name: str) -> int:
    from probescope.kernel.leftovers import tidy
    from probescope.sources import probe_events

    if not args.dry_run:
        tidy()
    found = events(args, texts, probe_events.exists, name)
    _tell_untold(args, found)
    for e in found:
        if not args.dry_run:
            probe_events.add(e)
    if not args.quiet:
        head = "Added new event:" if len(found) == 1 else "Added new events:"
        lines = "".join(f"  {e.name:<20} ({probe_events.described(e)})\n" for e in found)
        use = f"probescope record -e {found[-1].name} -aR sleep 1"
        sys.stderr.write(f"{head}\n{lines}\nYou can now use it in all perf tools, such as:\n\n\t{use}\n\n")
    return 0


def delete(args: argparse.Namespace, pattern: str) -> int:
    """Raises UsageError where no event matches."""
    from probescope.errors import KernelError
    from probescope.sources import probe_events, probe_remembered

    group, colon, event = pattern.rpartition(":")
    if not event or (colon and not group):  # an unset variable of a shell is not all events
        raise UsageError(
            f"--del: '{pattern}' lacks a name", hints=[f"{group or '*'}:{event or '*'} removes all of these"]
        )
    forgotten = probe_remembered.forget(pattern) if not args.dry_run else []
    try:
        found = probe_events.matching(pattern)
    except KernelError:
        if not forgotten:
            raise
        found = []
    if not found and not forgotten:
        raise UsageError(f"no dynamic event matches '{pattern}'", hints=["probescope probe -l shows what there is"])
    for e in found:
        if not args.dry_run:
            probe_events.remove(e)
        if not args.quiet:
            sys.stderr.write(f"Removed event: {e.name}\n")
    names = {e.name for e in found}
    if not args.quiet:
        sys.stderr.write("".join(f"Forgot event: {n}\n" for n in forgotten if n not in names))
    return 0


def listed(args: argparse.Namespace, pattern: str) -> int:
    from probescope.sources import probe_events, probe_remembered

    there = probe_events.matching(pattern or "*")
    if args.format == "json":
        from probescope.cli import probe_documents

        probe_documents.write(probe_documents.of_kept(e, probe_events.about(e)) for e in there)
        return 0
    for e in there:
        text = e.definition if args.verbose else f"{e.name:<20} ({probe_events.about(e)})"
        sys.stdout.write(f"  {text}\n")
    kept = {e.name for e in there}
    others = [n for n in probe_remembered.usable(MOST_TOLD) if n not in kept]
    if others and not pattern and not args.quiet:
        sys.stdout.flush()
        sys.stderr.write(f"remembered, for record -e and stat -e (-d forgets): {' '.join(others)}\n")
    return 0
