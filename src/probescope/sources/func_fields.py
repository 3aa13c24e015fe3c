"""Where the arguments of a kernel function are, by its BTF signature: in registers (kprobes) or in slots (fentry,
fexit).

    long f(struct file *file, struct pair p, int n)      p is two words

    kprobe, x86-64     file di   p si dx   n cx
    fentry             file [0]  p [1][2]  n [3]  result [4]

A struct of up to 16 bytes takes one or two registers by both calling conventions (System V psABI 3.2.3, AAPCS64 6.8.2);
a larger one lies on the stack (x86-64) or is passed by its address (AArch64). BPF trampolines number their slots by
words (``get_ctx_arg_idx`` of kernel/bpf/btf.c) and refuse arguments of more than 16 bytes.
"""

from __future__ import annotations

from probescope.debuginfo.btf_funcs import BtfFunctions, Function
from probescope.debuginfo.btf_types import BtfTypes
from probescope.model.site import CtxArg, CtxBytes, Field, RegArg, RegRet, RetSlot
from probescope.model.types import U64, Array, Struct, Type, Void, is_scalar
from probescope.sources.context import ResolveContext

RETVAL = "retval"


def registers(fn: Function, types: BtfTypes, ctx: ResolveContext) -> tuple[Field, ...]:
    """Those arguments of a function at its entry that fill one register or stack slot."""
    out: list[Field] = []
    slot = 0
    for p in fn.params:
        size = _size(p.type, types)
        if is_scalar(p.type):
            out.append(Field(p.name, p.type, RegArg(slot)))
            slot += 1
        elif size <= 16:
            slot += (size + 7) // 8
        elif ctx.arch.name == "aarch64":
            slot += 1
        else:
            continue  # in memory: takes no register
    return tuple(out)


def slots(fn: Function, types: BtfTypes) -> tuple[tuple[Field, ...], Field | None]:
    """The arguments as a BPF trampoline passes them, and the return value (of fexit)."""
    out: list[Field] = []
    slot = 0
    for p in fn.params:
        size = _size(p.type, types)
        out.append(Field(p.name, p.type, CtxArg(slot) if is_scalar(p.type) else CtxBytes(8 * slot, size)))
        slot += (size + 7) // 8
    return tuple(out), None if isinstance(fn.result, Void) else Field(RETVAL, fn.result, RetSlot(slot))


def returned(fn: Function | None) -> Field | None:
    """The return value in its register: of unknown type where there is no signature."""
    if fn is None:
        return Field(RETVAL, U64, RegRet())
    return Field(RETVAL, fn.result, RegRet()) if is_scalar(fn.result) else None


def _size(t: Type, types: BtfTypes) -> int:
    if is_scalar(t):
        return 8
    if isinstance(t, Struct):
        layout = types.layout(t.name)
        return layout.size if layout else 8
    if isinstance(t, Array):
        return t.count * _size(t.element, types)
    return 8


def describe(found: BtfFunctions, fn: Function, *, arguments: bool, result: bool) -> list[str]:
    """Parameters, and the result as ``retval``, as C declares them."""
    from probescope.sources import btf_text

    btf = found.btf
    proto = btf.raw(fn.btf_id).third
    names = [p.name for p in fn.params]
    rows = btf.params(proto)
    out = [btf_text.declaration(btf, t, n) for n, (_, t) in zip(names, rows, strict=False)] if arguments else []
    if result and not isinstance(fn.result, Void):
        out.append(btf_text.declaration(btf, btf.raw(proto).third, RETVAL))
    return out
