"""The way into this package: probe names to sites, lists of names, descriptions.

Sources are looked up by name in ``_MODULES`` and imported on first use: a program pays for the sources that it names.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Protocol, cast

from probescope.diagnostics import nearest
from probescope.errors import FormatError, KernelError, ProbeError
from probescope.model.probe import FOR_PEOPLE, SHORT_NAMES, SOURCES, ProbeSpec
from probescope.model.site import Site
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.globs import is_glob, matches

_MODULES: dict[str, str] = {
    **dict.fromkeys(("begin", "end", "self", "test", "bench"), "user"),
    **dict.fromkeys(("profile", "interval"), "timer"),
    **dict.fromkeys(("software", "hardware"), "pmu"),
    **dict.fromkeys(("watchpoint", "asyncwatchpoint"), "watchpoint"),
    "tracepoint": "tracepoint",
    "rawtracepoint": "rawtracepoint",
    **dict.fromkeys(("kprobe", "kretprobe"), "kprobe"),
    **dict.fromkeys(("fentry", "fexit"), "fentry"),
    "iter": "iter",
    **dict.fromkeys(("uprobe", "uretprobe"), "uprobe"),
    "usdt": "usdt",
}

LISTED: tuple[str, ...] = ("fentry", "hardware", "iter", "kprobe", "rawtracepoint", "software", "tracepoint")
"""Sources whose names ``list`` shows without being asked for: those of the kernel. Return probes have the names of
their entries."""
LISTED_WITH_PID = ("uprobe", "usdt")
"""Shown as well where one process is named."""


class Source(Protocol):
    """What every module of this package offers; ``source`` is the name it is called by, since one file may serve
    two."""

    def list_names(self, source: str, pattern: str, ctx: ResolveContext) -> list[str]:
        """Names without their source that match the glob ``pattern``."""
        ...

    def match(self, spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
        """Full names of the sites that ``spec`` stands for, without looking into them; empty if none."""
        ...

    def resolve(self, spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
        """At least one site, or ``ProbeError``."""
        ...

    def describe(self, site: Site, ctx: ResolveContext) -> list[str]:
        """The arguments as C declares them, one a line."""
        ...


_PERFS = "what perf calls sched:sched_switch is tracepoint:sched:sched_switch"


def source(name: str) -> Source:
    """Raises ``ProbeError`` on a source that does not exist, with the nearest names."""
    module = _MODULES.get(SHORT_NAMES.get(name, name))
    if module is None:
        near = nearest(name, [*FOR_PEOPLE, *(s for s in SHORT_NAMES if len(s) > 2)])
        hints = [f"did you mean '{near[0]}'?"] if near else [_PERFS, "sources are " + ", ".join(FOR_PEOPLE)]
        raise ProbeError(f"there is no source '{name}'", hints=hints)
    return cast("Source", importlib.import_module(f"probescope.sources.{module}"))


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """The sites that a probe stands for, at least one. A site that exists and cannot be used has a ``reason``.

    Raises ``ProbeError`` (no such thing; with the nearest names), ``LimitError`` (more than ``ctx.max_probes``),
    ``KernelError`` and ``FormatError`` where this host cannot be looked at."""
    sites = source(spec.source).resolve(spec, ctx)
    check_count(spec, len(sites), ctx)
    return sites


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    """Full names of the sites that a probe stands for, cheaper than ``resolve``; empty if none."""
    return source(spec.source).match(spec, ctx)


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """The arguments of a site as C declares them: ``const char * filename``; empty if nothing is known."""
    return source(site.source).describe(site, ctx)


def unavailable(name: str) -> str:
    """Why this kernel has nothing at all of a source, as a sentence; empty if it has, or cannot be asked."""
    name = SHORT_NAMES.get(name, name)
    if name in {"kprobe", "kretprobe"}:
        from probescope.sources import kprobe

        return "" if kprobe.available() else kprobe.NO_KPROBES
    if name in {"fentry", "fexit", "iter"}:
        from probescope.sources import kernel_btf

        return "" if kernel_btf.functions() else f"{name} needs BTF, which this kernel has not"
    return ""


def list_probes(pattern: str, ctx: ResolveContext) -> Iterator[str]:
    """Full names that match, by source, sorted within each.

    *              everything of the kernel        kprobe:vfs_*    one source
    *:./x:*        whatever a program has
    *sys_enter*    in the names of every source    vfs_read        names that contain the text
    """
    head, colon, rest = pattern.partition(":")
    of_programs = ctx.pid > 0 or "/" in rest.partition(":")[0]
    listed = LISTED + (LISTED_WITH_PID if of_programs else ())
    wanted = [s for s in listed if matches(head, s)] if is_glob(head) else [SHORT_NAMES.get(head, head)]
    if not colon:
        if head in SOURCES or head in SHORT_NAMES:
            rest = "*"
        else:
            wanted, rest = list(listed), head if is_glob(head) else f"*{head}*"
    for name in wanted:
        # a word is looked for in the names of functions, not of binaries: those of the process are all looked into
        full = f"*:{rest}" if name in LISTED_WITH_PID and not colon else rest
        try:
            names = source(name).list_names(name, full or "*", ctx)
        except (KernelError, ProbeError, FormatError):
            if len(wanted) == 1:
                raise
            continue  # one source that cannot be asked must not hide the others
        for found in names:
            yield f"{name}:{found}"
