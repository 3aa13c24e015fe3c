"""Entries and returns of kernel functions, and instructions inside them: ``kprobe:vfs_read``, ``kretprobe:nf_*``,
``kprobe:f+12``.

Where the kernel has BTF, arguments have names and types (``args.file``). BTF is also asked first whether a function
exists: it answers in a fraction of a millisecond, /proc/kallsyms takes a hundred.
"""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import KernelError, NoSuchProbe, ProbeError
from probescope.frozen import replace
from probescope.kernel import perf_attr, tracefs
from probescope.kernel.host import host
from probescope.model.probe import ProbeSpec
from probescope.model.site import Field, KprobeAttach, Site
from probescope.sources import func_fields, kernel_btf, kernel_functions
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.globs import is_glob

SOURCES = ("kprobe", "kretprobe")
NO_KPROBES = "this kernel has no kprobes (CONFIG_KPROBES)"


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    """``FUNCTION``, or ``MODULE:FUNCTION`` where the pattern names modules. Raises ``KernelError`` without
    privileges."""
    if not available():
        return []
    module, colon, name = pattern.rpartition(":")
    found = _candidates(name, module if colon else "")
    if colon:
        return sorted({f"{m or 'vmlinux'}:{n}" for n, m in found})
    return sorted({n for n, _ in found})


def available() -> bool:
    """Whether this kernel can place kprobes by any interface; true where it cannot be told."""
    h = host()
    try:
        return h.exists(f"{perf_attr.PMU_DIR}/kprobe/type") or h.exists(tracefs.find_root() + "/kprobe_events")
    except KernelError:
        return True


def _candidates(pattern: str, module: str) -> list[tuple[str, str]]:
    """What ftrace can take, without the split-off parts of functions, on which nobody means to probe."""
    try:
        found = kernel_functions.traceable().match(pattern, module)
    except KernelError:
        listed = kernel_functions.TraceableFunctions(_as_list(kernel_functions.symbols()))
        found = listed.match(pattern, module)
    return [(n, m) for n, m in found if ".part." not in n and ".cold" not in n]


def _as_list(names: list[tuple[str, str]]) -> str:
    return "\n".join(f"{n} [{m}]" if m else n for n, m in names)


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    if spec.address is not None or not is_glob(spec.target + spec.name):
        try:
            return [s.name for s in resolve(spec, ctx)]
        except ProbeError:
            return []
    return [f"{spec.source}:{n}" for n in list_names(spec.source, _pattern(spec), ctx)]


def _pattern(spec: ProbeSpec) -> str:
    return f"{spec.target}:{spec.name}" if spec.target else spec.name


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError`` with the nearest names if there is no such function."""
    if spec.address is not None:
        return [_by_address(spec, spec.address, ctx)]
    if not is_glob(spec.target + spec.name):
        return [_by_name(spec, ctx)]
    names = sorted(set(_candidates(spec.name, spec.target)))
    if not names:
        hint = NO_KPROBES if not available() else f"probescope list '{spec.source}:*' shows what there is"
        raise ProbeError(f"no kernel function matches '{_pattern(spec)}'", hints=[hint])
    check_count(spec, len(names), ctx)
    traceable = kernel_functions.loaded() is not None
    seen: dict[str, Site] = {}
    for name, module in names:
        site = _site(spec, name, module, ctx, traceable=traceable)
        if site.name not in seen and not kernel_functions.forbidden(name):
            seen[site.name] = site
    return list(seen.values())


def _by_address(spec: ProbeSpec, address: int, ctx: ResolveContext) -> Site:
    if not ctx.unsafe:
        hints = ["use a function's name, or run with --unsafe: the kernel checks only that the address lies in code"]
        raise ProbeError(f"probing the bare address {address:#x} is unsafe", hints=hints)
    attach = KprobeAttach("", address=address, ret=_is_ret(spec))
    func = kernel_functions.name_at(address)
    # in decimal, as scripts know it from bpftrace
    return Site(f"{spec.source}:{address}", spec.source, attach, ret=_ret(spec), func=func, reason=_reason(""))


def _by_name(spec: ProbeSpec, ctx: ResolveContext) -> Site:
    if not spec.name:
        raise ProbeError(f"{spec.source} needs a function", hints=[f"for example {spec.source}:vfs_read"])
    module = spec.target
    if module and not kernel_functions.module_loaded(module):
        raise _not_loaded(spec)
    there = _module_of(spec)
    if there is None:
        missing = _unknown(spec)
        if not ctx.tries:
            raise missing
        site = _site(spec, spec.name, module, ctx, traceable=False)
        return replace(site, doubt=missing.doubt, notes=missing.hints)
    listed = kernel_functions.loaded()
    return _site(spec, spec.name, there, ctx, traceable=listed is not None and listed.has(spec.name, there))


def _module_of(spec: ProbeSpec) -> str | None:
    """Where the function is: an empty text is the kernel itself; ``None``: nowhere, or not on the list that somebody
    gave."""
    chosen = kernel_functions.chosen_list()
    if chosen is not None and not chosen.has(spec.name, spec.target):
        return None
    btf = kernel_btf.functions(spec.target)
    if btf is not None and btf.find(spec.name) is not None:
        return spec.target
    found = kernel_functions.find_symbol(spec.name, spec.target)
    return None if found is None else found[1]


def _site(spec: ProbeSpec, name: str, module: str, ctx: ResolveContext, *, traceable: bool) -> Site:
    module = "" if module == kernel_btf.VMLINUX else module
    ret = _is_ret(spec)
    attach = KprobeAttach(name, spec.offset, ret=ret, module=module, traceable=traceable and not spec.offset)
    full = f"{spec.target and (module or 'vmlinux') + ':'}{name}{f'+{spec.offset}' if spec.offset else ''}"
    btf = kernel_btf.functions(module) if ctx.need_fields and not spec.offset else None
    fn = btf.find(name) if btf else None
    fields = func_fields.registers(fn, btf.types, ctx) if btf and fn and not ret else ()
    result = func_fields.returned(fn) if ret else None
    return Site(
        f"{spec.source}:{full}", spec.source, attach, fields, ret=result, func=name, pid=ctx.pid, reason=_reason(name)
    )


def _is_ret(spec: ProbeSpec) -> bool:
    if spec.source == "kretprobe" and spec.offset:
        raise ProbeError("kretprobe takes no offset: it fires where the function returns")
    return spec.source == "kretprobe"


def _ret(spec: ProbeSpec) -> Field | None:
    return func_fields.returned(None) if spec.source == "kretprobe" else None


def _reason(name: str) -> str:
    if not available():
        return NO_KPROBES
    if name and kernel_functions.forbidden(name):
        return f"the kernel forbids kprobes on {name} (debugfs kprobes/blacklist)"
    return ""


def _not_loaded(spec: ProbeSpec) -> ProbeError:
    def elsewhere() -> list[str]:
        found = kernel_functions.find_symbol(spec.name)
        return [f"write {spec.source}:{spec.name}, or load the module"] if found else ["modprobe loads a module"]

    probe = f"{spec.source}:{spec.target}:{spec.name}"
    return ProbeError(f"specified module {spec.target} in probe {probe} is not loaded.", hints=elsewhere)


def _unknown(spec: ProbeSpec) -> NoSuchProbe:
    doubt = (
        f'{spec.name} is not traceable (either non-existing, inlined, or marked as "notrace"); '
        "attaching to it will likely fail"
    )
    if spec.target not in ("", kernel_btf.VMLINUX) and kernel_functions.find_symbol(spec.name):
        hint = f"write {spec.source}:{spec.name}"
        return NoSuchProbe(f"module '{spec.target}' has no function {spec.name}", hints=[hint], doubt=doubt)
    if kernel_functions.find_symbol(spec.name):
        return NoSuchProbe(f"{spec.name} is not on the list of functions to trace", doubt=doubt)
    return NoSuchProbe(f"there is no kernel function {spec.name}", hints=lambda: _like(spec), doubt=doubt)


def _like(spec: ProbeSpec) -> list[str]:
    names = kernel_functions.names()
    inlined = _beginning(names, spec.name + ".")
    hints = [f"the compiler changed it into {n}: probe that" for n in inlined[:2]]
    hints += [f"did you mean {spec.source}:{n}?" for n in nearest_function(spec.name, names)]
    return hints or ["it may be inlined, or belong to a module that is not loaded"]


def nearest_function(name: str, names: list[str]) -> list[str]:
    """Among sorted names with the same first letters: comparing all 100,000 would take seconds."""
    for prefix in (name[:4], name[:2], name[:1]):
        few = _beginning(names, prefix) if prefix else []
        found = list(nearest(name, few)) if len(few) < 5000 else []
        if found:
            return found
    return []


def _beginning(names: list[str], prefix: str) -> list[str]:
    """Those of sorted ``names`` that begin so."""
    from bisect import bisect_left

    return names[bisect_left(names, prefix) : bisect_left(names, prefix + "\U0010ffff")]


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """Arguments of an entry, the result of a return; empty without BTF."""
    attach = site.attach
    assert isinstance(attach, KprobeAttach)
    btf = kernel_btf.functions(attach.module)
    fn = btf.find(attach.symbol) if btf and attach.symbol and not attach.offset else None
    if btf is None or fn is None:
        return []
    return func_fields.describe(btf, fn, arguments=not attach.ret, result=attach.ret)
