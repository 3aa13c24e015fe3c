"""Tracepoints of the kernel, by category and event: ``tracepoint:sched:sched_switch``.

Their arguments are the fields of ``format`` files in tracefs. Those of system calls come from one place in the kernel
(``syscalls:sys_enter_NAME``, ``sys_exit_NAME``); ``TracepointAttach.syscall`` holds the call's number, which lets the
planner use one raw tracepoint for all of them.
"""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import NoSuchProbe, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import Field, Site, TracepointAttach
from probescope.model.types import Layout, Type
from probescope.sources import events
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.ctypes_text import CTypes
from probescope.sources.globs import is_glob, select
from probescope.sources.tracepoint_format import FormatParser, declarations, parse_id

SOURCES = ("tracepoint",)


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    return select(pattern, events.names())


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [f"tracepoint:{n}" for n in _select(spec)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError`` with the nearest names if nothing matches, ``KernelError`` if tracefs cannot be read."""
    if not spec.target or not spec.name:
        raise ProbeError("a tracepoint needs a category and an event", hints=["write tracepoint:CATEGORY:EVENT"])
    if not is_glob(spec.target + spec.name):
        site = _site(spec.target, spec.name, ctx)
        if site is None:
            raise _unknown(spec)
        return [site]
    names = _select(spec)
    check_count(spec, len(names), ctx)
    found = [_site(*_parts(n), ctx) for n in names]
    sites = [s for s in found if s is not None]
    if not sites:
        raise _unknown(spec)
    return sites


def _select(spec: ProbeSpec) -> list[str]:
    return select(f"{spec.target}:{spec.name}", events.names())


def _parts(name: str) -> tuple[str, str]:
    category, _, event = name.partition(":")
    return category, event


def _site(category: str, event: str, ctx: ResolveContext) -> Site | None:
    """``None`` if there is no such event, or it went away with its module."""
    call = _syscall_number(category, event, ctx)
    if not ctx.need_fields:
        number = events.event_id(category, event)
        fields: tuple[Field, ...] = ()
    else:
        text = events.format_text(category, event)
        number = parse_id(text) if text else None
        fields = _parser(ctx).fields(text, syscall=category == "syscalls") if text else ()
    if number is None:
        return None
    attach = TracepointAttach(category, event, number, call)
    return Site(f"tracepoint:{category}:{event}", "tracepoint", attach, fields, func=event, pid=ctx.pid)


def _parser(ctx: ResolveContext) -> FormatParser:
    parser = ctx.cache.get("tracepoint.parser")
    if parser is None or parser.max_strlen != ctx.max_strlen:
        parser = ctx.cache["tracepoint.parser"] = FormatParser(_types(ctx), ctx.max_strlen)
    assert isinstance(parser, FormatParser)
    return parser


def _types(ctx: ResolveContext) -> CTypes:
    return ctx.types if ctx.types is not None else _KernelTypes()


class _KernelTypes:
    """The kernel's BTF, of which even the reader is imported only when a format holds an uncommon name."""

    def named(self, name: str) -> Type | None:
        from probescope.sources.kernel_btf import types

        found = types()
        return found.named(name) if found else None

    def layout(self, name: str) -> Layout | None:
        from probescope.sources.kernel_btf import types

        found = types()
        return found.layout(name) if found else None


def _syscall_number(category: str, event: str, ctx: ResolveContext) -> int:
    if category != "syscalls":
        return -1
    from probescope.model import syscalls

    name = event.removeprefix("sys_enter_").removeprefix("sys_exit_")
    return syscalls.number_of_event(name, ctx.arch.name)


def _unknown(spec: ProbeSpec) -> ProbeError:
    all_names = events.names()
    wanted = f"{spec.target}:{spec.name}"
    if is_glob(wanted):
        return ProbeError(f"no tracepoint matches '{wanted}'", hints=["probescope list 'tracepoint:*' shows them all"])
    same_event = [n for n in all_names if n.endswith(":" + spec.name)][:3]
    same_category = [n for n in all_names if n.startswith(spec.target + ":")]
    near = same_event or nearest(wanted, same_category or all_names)
    hints = [f"did you mean tracepoint:{n}?" for n in near]
    return NoSuchProbe(f"there is no tracepoint {wanted}", hints=hints or [_why_absent(spec, bool(same_category))])


def _why_absent(spec: ProbeSpec, category_exists: bool) -> str:
    if category_exists:
        return f"probescope list 'tracepoint:{spec.target}:*' shows what this category has"
    return f"no category '{spec.target}': a module that is not loaded, or a kernel built without it"


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """The fields as the kernel declares them: ``const char * filename``."""
    attach = site.attach
    assert isinstance(attach, TracepointAttach)
    return declarations(events.format_text(attach.category, attach.event))
