"""Kernel functions through BPF trampolines: ``fentry:vfs_read``, ``fexit:ext4:ext4_sync_file``. Cheaper than kprobes,
and typed. Functions of BPF programs, ``fentry:bpf:NAME``, are in ``bpf_programs``.

A function can be traced so if BTF knows its signature and ftrace its entry. BTF of the kernel is asked first, then that
of the modules; whether ftrace can take a single named function shows when it is attached, for reading the list of all
takes tenths of a second.
"""

from __future__ import annotations

from probescope.errors import KernelError, NoSuchProbe, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import FentryAttach, Site
from probescope.sources import bpf_programs, func_fields, kernel_btf, kernel_functions
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.globs import is_glob, matches

SOURCES = ("fentry", "fexit")


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """``vmlinux:FUNCTION``, ``MODULE:FUNCTION``. Raises ``KernelError`` where ftrace cannot be asked."""
    if pattern.startswith(f"{bpf_programs.TARGET}:"):
        return bpf_programs.list_names(pattern.partition(":")[2])
    module, colon, name = pattern.rpartition(":")
    if not kernel_btf.functions():
        return []
    by_module: dict[str, set[str]] = {}
    for n, m in kernel_functions.traceable().match(name, module if colon else ""):
        by_module.setdefault(m or kernel_btf.VMLINUX, set()).add(n)
    out: list[str] = []
    for m, names in sorted(by_module.items()):
        found = kernel_btf.functions(m)
        out += [f"{m}:{n}" for n in sorted(names.intersection(found.names()))] if found else []
    return out


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    if not is_glob(spec.target + spec.name):
        try:
            return [s.name for s in resolve(spec, ctx)]
        except ProbeError:
            return []
    parts = (spec.target, spec.namespace, spec.name)
    pattern = ":".join(p for p in parts if p)
    return [f"{spec.source}:{n}" for n in list_names(spec.source, pattern, ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError``: no BTF, no such function (with the nearest names)."""
    if spec.target == bpf_programs.TARGET:
        return bpf_programs.resolve(spec, ctx)
    if not kernel_btf.functions():
        hints = [f"kprobe:{spec.name} needs no BTF", "the kernel must be built with CONFIG_DEBUG_INFO_BTF"]
        raise ProbeError(f"{spec.source} needs BTF, which this kernel has not", hints=hints)
    if not is_glob(spec.target + spec.name):
        return [_by_name(spec, ctx)]
    names = match(spec, ctx)
    check_count(spec, len(names), ctx)
    sites = [_site(spec, *_split(n), ctx) for n in names]
    found = [s for s in sites if s is not None and not s.reason]
    if not found:
        pattern = f"{spec.target}:{spec.name}" if spec.target else spec.name
        raise ProbeError(f"no traceable function matches '{pattern}'", hints=[f"probescope list '{spec.source}:*'"])
    return found


def _split(name: str) -> tuple[str, str]:
    _, module, func = name.split(":", 2)
    return module, func


def _by_name(spec: ProbeSpec, ctx: ResolveContext) -> Site:
    site = _site(spec, spec.target or kernel_btf.VMLINUX, spec.name, ctx)
    if site is None and not spec.target:
        module = _module_with(spec.name)
        site = _site(spec, module, spec.name, ctx) if module else None
    if site is None:
        raise _unknown(spec)
    return site


def _module_with(name: str) -> str:
    """The loaded module that defines the function; empty if none does."""
    try:
        found = kernel_functions.find_symbol(name)
    except KernelError:
        return ""
    return found[1] if found else ""


def _site(spec: ProbeSpec, module: str, name: str, ctx: ResolveContext) -> Site | None:
    btf = kernel_btf.functions(module)
    fn = btf.find(name) if btf else None
    if btf is None or fn is None:
        return None
    ret = spec.source == "fexit"
    inside = "" if module == kernel_btf.VMLINUX else module
    fields, result = func_fields.slots(fn, btf.types) if ctx.need_fields else ((), None)
    attach = FentryAttach(name, fn.btf_id, inside, ret)
    return Site(
        f"{spec.source}:{module}:{name}",
        spec.source,
        attach,
        fields,
        fields,
        result if ret else None,
        func=name,
        pid=ctx.pid,
        reason=_reason(name, inside),
    )


def _reason(name: str, module: str) -> str:
    listed = kernel_functions.loaded()
    if listed is not None and not listed.has(name, module):
        return f"ftrace cannot trace {name}: it is not in available_filter_functions"
    return ""


def _unknown(spec: ProbeSpec) -> ProbeError:
    from probescope.sources.kprobe import nearest_function

    btf = kernel_btf.functions(spec.target)
    if btf is None:
        known = ", ".join(m for m in kernel_btf.modules() if matches(spec.target[:2] + "*", m))
        hints = [
            f"modules with BTF and such a name: {known}" if known else "it is not loaded, or was built without BTF"
        ]
        return ProbeError(f"no BTF for module '{spec.target}'", hints=hints)
    where = f" in {spec.target}" if spec.target else ""

    def like() -> list[str]:
        if kernel_functions.find_symbol(spec.name, spec.target):
            return [f"kprobe:{spec.name} can probe it: BTF lacks its signature"]
        return [f"did you mean {spec.source}:{n}?" for n in nearest_function(spec.name, sorted(set(btf.names())))]

    return NoSuchProbe(f"there is no function {spec.name} with BTF{where}", hints=like)


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """The arguments, and for fexit the result, as C declares them."""
    attach = site.attach
    assert isinstance(attach, FentryAttach)
    if attach.program:
        return []
    btf = kernel_btf.functions(attach.module)
    fn = btf.find(attach.func) if btf else None
    if btf is None or fn is None:
        return []
    return func_fields.describe(btf, fn, arguments=True, result=attach.ret)
