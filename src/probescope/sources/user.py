"""Probes that probescope fires itself: ``begin``, ``end``, ``self:signal:NAME``, ``test:NAME``, ``bench:NAME``."""

from __future__ import annotations

from typing import Literal, cast

from probescope.diagnostics import nearest
from probescope.errors import ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import Site, UserAttach
from probescope.sources.context import ResolveContext
from probescope.sources.globs import select

SOURCES = ("begin", "end", "self", "test", "bench")
SIGNALS = ("SIGUSR1",)

_Kind = Literal["begin", "end", "test", "bench"]


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """Names after the source's own: only signals can be listed, the others are made by the program that names them."""
    return select(pattern, (f"signal:{s}" for s in SIGNALS)) if source == "self" else []


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [s.name for s in resolve(spec, ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    source = spec.source
    if source in ("begin", "end"):
        return [Site(source, source, UserAttach(cast("_Kind", source)))]
    if source == "self":
        return [_signal(spec)]
    name = spec.name or spec.target
    if not name:
        raise ProbeError(f"a {source} probe needs a name", hints=[f"write {source}:NAME"])
    return [Site(f"{source}:{name}", source, UserAttach(cast("_Kind", source), name))]


def _signal(spec: ProbeSpec) -> Site:
    if spec.target != "signal":
        raise ProbeError(f"self has no trigger '{spec.target}'", hints=["write self:signal:SIGUSR1"])
    if spec.name not in SIGNALS:
        near = nearest(spec.name, SIGNALS) or SIGNALS
        raise ProbeError(f"{spec.name} is not a signal that can be probed", hints=[f"self:signal:{s}" for s in near])
    return Site(f"self:signal:{spec.name}", "self", UserAttach("signal", spec.name))


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    return []
