"""Tracepoints with the arguments that the kernel passes to them: ``rawtracepoint:sched_switch``,
``rawtracepoint:vmlinux:sys_enter``.

They cost less than ``tracepoint`` probes, since no record is made. Their arguments are typed where the kernel has BTF:
a typedef ``btf_trace_EVENT`` holds the signature, in vmlinux or in the module that defines the event. Each argument is
one 64-bit slot of the context (kernel/trace/bpf_trace.c, ``struct bpf_raw_tracepoint_args``; at most 12 of them).
"""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import NoSuchProbe, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import CtxArg, Field, RawTracepointAttach, Site
from probescope.model.types import U64
from probescope.sources import kernel_btf
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.globs import is_glob, matches, select

SOURCES = ("rawtracepoint",)
MAX_ARGS = 12


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """``vmlinux:EVENT``, ``MODULE:EVENT``; without BTF, what tracefs knows, under vmlinux."""
    if not kernel_btf.functions():
        return [f"{kernel_btf.VMLINUX}:{n}" for n in sorted(set(_tracefs_names())) if matches(pattern, f"vmlinux:{n}")]
    wanted, colon, _ = pattern.partition(":")
    if not colon:
        wanted, pattern = "*", f"*:{pattern}"
    out: list[str] = []
    for module in (kernel_btf.VMLINUX, *kernel_btf.modules()):
        if matches(wanted, module) or is_glob(wanted):
            found = kernel_btf.functions(module)
            names = found.tracepoint_names() if found else []
            out += select(pattern, sorted(f"{module}:{n}" for n in names))
    return out


def _tracefs_names() -> list[str]:
    from probescope.sources import events

    return [n.split(":")[1] for n in events.names() if not n.startswith("syscalls:")]


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [f"rawtracepoint:{n}" for n in list_names(spec.source, f"{spec.target or '*'}:{spec.name}", ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError`` with the nearest names if nothing matches."""
    if not is_glob(spec.target + spec.name):
        site = _in_vmlinux(spec, ctx)
        if site is not None:
            return [site]
    names = [n.removeprefix("rawtracepoint:").split(":") for n in match(spec, ctx)]
    if not names:
        raise _unknown(spec, ctx)
    check_count(spec, len(names), ctx)
    return [_site(module, event, ctx) for module, event in names]


def _in_vmlinux(spec: ProbeSpec, ctx: ResolveContext) -> Site | None:
    """Without looking at any module, as long as none is named: nearly every probe is found so."""
    if spec.target not in ("", kernel_btf.VMLINUX):
        return None
    found = kernel_btf.functions()
    known = found.tracepoint(spec.name) if found else None
    return _site(kernel_btf.VMLINUX, spec.name, ctx) if known else None


def _site(module: str, event: str, ctx: ResolveContext) -> Site:
    found = kernel_btf.functions(module)
    signature = found.tracepoint(event) if found else None
    if signature is None:
        args = tuple(Field(f"arg{i}", U64, CtxArg(i)) for i in range(MAX_ARGS))
        attach = RawTracepointAttach(event)
        return Site(f"rawtracepoint:{module}:{event}", "rawtracepoint", attach, (), args, func=event, pid=ctx.pid)
    args = tuple(Field(p.name, p.type, CtxArg(i)) for i, p in enumerate(signature.params))
    attach = RawTracepointAttach(event, signature.btf_id, "" if module == kernel_btf.VMLINUX else module)
    return Site(f"rawtracepoint:{module}:{event}", "rawtracepoint", attach, args, args, func=event, pid=ctx.pid)


def _unknown(spec: ProbeSpec, ctx: ResolveContext) -> ProbeError:
    wanted = f"{spec.target}:{spec.name}" if spec.target else spec.name
    if spec.is_glob:
        return ProbeError(f"no raw tracepoint matches '{wanted}'", hints=["probescope list 'rawtracepoint:*'"])
    events = [n.split(":")[1] for n in list_names(spec.source, "*", ctx)]
    if spec.name in events:
        return NoSuchProbe(
            f"module '{spec.target}' has no raw tracepoint {spec.name}", hints=[f"rawtracepoint:{spec.name}"]
        )
    hints = [f"did you mean rawtracepoint:{n}?" for n in nearest(spec.name, events)]
    if spec.name.startswith(("sys_enter_", "sys_exit_")):
        hints.insert(0, f"single system calls are tracepoints: tracepoint:syscalls:{spec.name}")
    return NoSuchProbe(f"there is no raw tracepoint {wanted}", hints=hints)


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """The parameters as C declares them; empty without BTF."""
    from probescope.sources import btf_text

    attach = site.attach
    assert isinstance(attach, RawTracepointAttach)
    found = kernel_btf.functions(attach.module)
    if found is None or not attach.btf_id:
        return []
    btf = found.btf
    rows = btf.params(btf.raw(btf.raw(attach.btf_id).third).third)[1:]
    names = [f.name for f in site.fields]
    return [btf_text.declaration(btf, t, n) for n, (_, t) in zip(names, rows, strict=False)]
