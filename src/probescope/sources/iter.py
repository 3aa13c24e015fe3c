"""Walks over kernel objects: ``iter:task``, ``iter:task_file``, ``iter:bpf_map``; optionally pinned:
``iter:task:/sys/fs/bpf/tasks``.

A target NAME exists if BTF has the function ``bpf_iter_NAME``; the program's context is ``struct bpf_iter__NAME``,
whose members are the fields (``ctx.task``). include/linux/bpf.h, ``DEFINE_BPF_ITER_FUNC``; "bpf: Introduce bpf_iter"
(5.8).
"""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import CtxBytes, CtxLoad, Field, IterAttach, Site
from probescope.model.types import Struct, Type, is_scalar, width
from probescope.sources import kernel_btf
from probescope.sources.context import ResolveContext
from probescope.sources.globs import is_glob, select

SOURCES = ("iter",)
BPFFS = "/sys/fs/bpf"
_META = "meta"


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    return select(pattern, _targets())


def _targets() -> list[str]:
    """Of the kernel and of the modules (``iter:cxl_...``), as far as they bring BTF."""
    found = [kernel_btf.functions(), *map(kernel_btf.functions, kernel_btf.modules())]
    return sorted({t for f in found if f for t in f.iterators()})


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [f"iter:{n}" for n in list_names("iter", spec.name, ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """Raises ``ProbeError`` with the nearest names if there is no such target."""
    if not kernel_btf.functions():
        raise ProbeError("iter needs BTF, which this kernel has not", hints=["CONFIG_DEBUG_INFO_BTF=y"])
    if is_glob(spec.name):
        raise ProbeError("iter takes no wildcards: an iterator runs alone", hints=["probescope list 'iter:*'"])
    for module in (kernel_btf.VMLINUX, *kernel_btf.modules()):
        found = kernel_btf.functions(module)
        known = found.iterator(spec.name) if found else None
        if found and known:
            layout = found.types.layout(known[1])
            members = layout.members if layout else ()
            fields = tuple(_field(m.name, m.type, m.offset) for m in members if m.name and not m.bit_size)
            attach = IterAttach(spec.name, pin_path(spec.target))
            return [Site(f"iter:{spec.name}", "iter", attach, fields, func=f"bpf_iter_{spec.name}")]
    hints = [f"did you mean iter:{n}?" for n in nearest(spec.name, _targets())]
    raise ProbeError(f"this kernel has no iterator '{spec.name}'", hints=hints or ["probescope list 'iter:*'"])


def pin_path(text: str) -> str:
    """Where to pin, absolute: a relative path is below /sys/fs/bpf. Raises ``ProbeError`` for a place outside of it."""
    if not text:
        return ""
    path = text if text.startswith("/") else f"{BPFFS}/{text}"
    if ".." in path.split("/") or "\0" in path or path.endswith("/"):
        raise ProbeError(f"'{text}' is not a place to pin an iterator", hints=[f"a file below {BPFFS}"])
    return path


def _field(name: str, t: Type, offset: int) -> Field:
    if is_scalar(t):
        return Field(name, t, CtxLoad(offset, width(t)))
    return Field(name, t, CtxBytes(offset, _size(t)))


def _size(t: Type) -> int:
    types = kernel_btf.types()
    layout = types.layout(t.name) if types and isinstance(t, Struct) else None
    return layout.size if layout else 0


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    """What the context offers besides the iterator's own bookkeeping, by the parameters of ``bpf_iter_NAME``."""
    from probescope.sources import btf_text

    attach = site.attach
    assert isinstance(attach, IterAttach)
    for module in (kernel_btf.VMLINUX, *kernel_btf.modules()):
        found = kernel_btf.functions(module)
        known = found.iterator(attach.target) if found else None
        if found and known:
            btf = found.btf
            return [btf_text.declaration(btf, t, n) for n, t in btf.params(btf.raw(known[0]).third) if n != _META]
    return []
