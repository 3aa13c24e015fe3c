"""Builtins that depend on where the probe is: ``args``, ``argN``, ``retval``, ``ctx``, ``probe``, ``func``,
``probetype``.

Each use is noted with ``Unit.ask``: sites that differ in what was asked become clauses of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.diagnostics import Span, nearest
from probescope.ir import expr as ir
from probescope.ir.context import CONTEXT
from probescope.lang.bt import ast
from probescope.lang.bt.lower_unit import Unit, space_of
from probescope.lang.bt.lower_value import NOTHING, V, add, cast, text, value
from probescope.lang.bt.types import UNKNOWN, lint, settle
from probescope.lang.bt.types_c import NO_TYPES
from probescope.model.site import Field, IterAttach, Location, MemBytes, Site, UprobeAttach
from probescope.model.types import U64, Bool, Enum, Int, Pointer, Record, Struct, Type

_ARGUMENTS = ("kprobe", "uprobe", "usdt", "rawtracepoint")
_FIELDS = ("tracepoint", "kprobe", "fentry", "fexit", "rawtracepoint", "uprobe", "iter")
_RETURNS = ("kretprobe", "uretprobe", "fexit")
_SPECIAL = frozenset({"begin", "end", "self"})
_PERF = ("profile", "interval", "software", "hardware", "watchpoint", "asyncwatchpoint")
_CONTEXTS = ("kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "iter", "fentry", "fexit", "rawtracepoint", *_PERF)
MAX_ARGUMENT = 31


def probe_type(site: Site) -> str:
    return "special" if site.source in _SPECIAL else "benchmark" if site.source == "bench" else site.source


def _wrong_probe(u: Unit, what: str, sources: tuple[str, ...], span: Span) -> bool:
    for site in u.sites:
        if site.source not in sources:
            where = "', '".join(sources)
            u.error(f'{what} can not be used with "{site.source}" probes', span, f"it is there in '{where}'")
            return True
    return False


# --- arguments --------------------------------------------------------------------------------------------------------


def argument(u: Unit, name: str, span: Span) -> V:
    """``arg0``, ``arg1``..."""
    n = int(name.lstrip("sarg"))
    if name.startswith("s"):
        return u.error(f"{name} is no longer part of the language", span, 'read the stack: *(reg("sp") + 8)')
    if _wrong_probe(u, f"The {name} builtin", _ARGUMENTS, span):
        return NOTHING
    if n > MAX_ARGUMENT:
        return u.error(f"there is no {name}", span)
    site = u.ask("arg", n)
    t = lint(8, False, tag="user" if space_of(site) == "user" else "kernel")
    if site.args is None:
        return V(t, ir.Arg(U64, n, span=span))
    if n >= len(site.args):
        message = f"{site.name} has {len(site.args)} arguments: there is no {name}"
        return u.error(message, span)
    found = site.args[n].type
    own = found if isinstance(found, Int | Pointer) else U64
    return V(t, cast(ir.Arg(own, n, span=span), U64))


def argument_field(u: Unit, base: ast.Name | ast.Call, node: ast.Field) -> V | None:
    """``args.name``; ``None`` if ``base`` is something else."""
    word = base.name if isinstance(base, ast.Name) else base.function if not base.args else ""
    if word != "args" or not isinstance(base, ast.Name | ast.Call):
        return None
    if _wrong_probe(u, "The args builtin", _FIELDS, base.span):
        return NOTHING
    for site in u.sites:  # all of them, so that the message names the one that lacks it
        found = site.field(node.name)
        if found is None:
            return _no_field(u, site, node)
    found = u.ask("field", node.name).field(node.name)
    assert found is not None
    return _field_value(u, found, node.span)


def _field_value(u: Unit, f: Field, span: Span) -> V:
    t: Type = f.type
    if isinstance(f.where, MemBytes):  # a place: what is not asked for is not read
        from probescope.lang.bt.lower_access import spread

        return V(spread(u, t), address=add(ir.Reg(U64, f.where.reg, span=span), f.where.offset), space="user")
    if isinstance(t, Pointer) and t.space == "none":
        t = Pointer(t.target, u.space, t.size)
        return V(t, cast(ir.Field(f.type, f.name, span=span), t))
    if isinstance(t, Int):
        tagged = lint(t.size, t.signed, tag="user") if t.size == 8 and u.space == "user" else t
        return V(tagged, ir.Field(t, f.name, span=span))
    return V(t, ir.Field(settle(t), f.name, span=span))


def _no_field(u: Unit, site: Site, node: ast.Field) -> V:
    names = [f.name for f in site.fields]
    lost = [n for n in site.notes if n.startswith(f"{node.name} cannot be read: ")]
    if lost:
        return u.error(f"{lost[0]} ({site.name})", node.span)
    near = [f"did you mean '{n}'?" for n in nearest(node.name, names)[:1]]
    if not names:
        near = list(site.notes) if site.source == "uprobe" else [_why_unknown(u, site)]
    elif not near:
        near = ["it has " + ", ".join(names[:12])]
    if node.name.startswith("common_"):
        return u.error("BPF does not support accessing common tracepoint fields", node.span)
    what = "function parameter" if site.source != "tracepoint" else "field"
    return u.error(f"Can't find {what} {node.name} of {site.name}", node.span, *near)


def _why_unknown(u: Unit, site: Site) -> str:
    if site.source in ("kprobe", "rawtracepoint") and not u.program.types.kernel_known:
        return f"{NO_TYPES}: use arg0, arg1..."
    return "its arguments are not known here"


def _args(u: Unit, span: Span) -> V:
    """``args`` as a whole: a record of all arguments. What all tracepoints have is not of them, and BPF cannot read
    it."""
    if _wrong_probe(u, "The args builtin", _FIELDS, span):
        return NOTHING
    site = u.ask("args")
    if not site.fields:
        hints = site.notes if site.source == "uprobe" else ()
        return u.error(f"the arguments of {site.name} are not known", span, *hints)
    own = [f for f in site.fields if site.source != "tracepoint" or not f.name.startswith("common_")]
    t = Record(tuple((f.name, settle(f.type)) for f in own))
    return V(t, ir.Pack(t, tuple(_whole(f, span) for f in own), span=span))


def _whole(f: Field, span: Span) -> ir.Expr:
    if isinstance(f.where, MemBytes):
        return ir.Load(settle(f.type), "user", add(ir.Reg(U64, f.where.reg, span=span), f.where.offset), span=span)
    return ir.Field(settle(f.type), f.name, span=span)


def _retval(u: Unit, span: Span) -> V:
    if _wrong_probe(u, "The retval builtin", _RETURNS, span):
        return NOTHING
    site = u.ask("ret")
    tag = "user" if space_of(site) == "user" else "kernel"
    if site.source != "fexit":
        number = site.ret.type if site.ret is not None else U64
        if isinstance(number, Int | Enum | Bool) and number != U64:
            return _small_result(number, span)
        return V(lint(8, False, tag=tag), ir.Ret(U64, span=span))  # type: ignore[arg-type]
    if site.ret is None:
        return u.error(f"{site.name} returns nothing", span)
    t = site.ret.type
    e = ir.Ret(settle(t), span=span)
    if isinstance(t, Pointer) and t.space == "none":
        t = Pointer(t.target, "kernel", t.size)
        return V(t, cast(e, t))
    return V(t, e)


def _small_result(t: Int | Enum | Bool, span: Span) -> V:
    """A number of which only some bytes of the register are returned, with its sign: what else is in the register is
    left over from before."""
    signed = not isinstance(t, Bool) and t.signed
    size = 1 if isinstance(t, Bool) else t.size
    return V(Int(8, signed), cast(ir.Ret(Int(size, signed), span=span), Int(8, signed)))


def typed_result(u: Unit, base: ast.Name | ast.Call) -> V | None:
    """``retval`` as the pointer that it is, for ``retval->member``; ``None`` for anything else. By itself it stays a
    number: scripts compare it with arguments, and use it as a key together with them."""
    word = base.name if isinstance(base, ast.Name) else base.function if not base.args else ""
    if word != "retval" or any(s.source != "uretprobe" for s in u.sites):
        return None
    site = u.ask("ret")
    if site.ret is None or not isinstance(site.ret.type, Pointer):
        return None
    return V(site.ret.type, cast(ir.Ret(U64, span=base.span), site.ret.type))


# --- the site itself --------------------------------------------------------------------------------------------------


def _ctx(u: Unit, span: Span) -> V:
    if any(s.source == "tracepoint" for s in u.sites):
        return u.error("Use args instead of ctx in tracepoint", span)
    if _wrong_probe(u, "The ctx builtin", _CONTEXTS, span):
        return NOTHING
    site = u.ask("ctx")
    e = ir.Context(CONTEXT["ctx"].type, "ctx", span=span)
    struct = _context_struct(site)
    if not struct:
        return value(e)
    t = Pointer(Struct(struct), "context")
    return V(t, cast(e, t))


def _context_struct(site: Site) -> str:
    """What the raw context is, by program type."""
    if isinstance(site.attach, IterAttach):
        return f"struct bpf_iter__{site.attach.target}"
    if site.source in _PERF:
        return "struct bpf_perf_event_data"
    if site.source in ("kprobe", "kretprobe", "uprobe", "uretprobe", "usdt"):
        return "struct pt_regs"
    return ""


def _probe(u: Unit, span: Span) -> V:
    return value(ir.Context(CONTEXT["probe"].type, "probe", span=span))


def _func(u: Unit, span: Span) -> V:
    if _wrong_probe(u, "The func builtin", _FUNCTIONS, span):
        return NOTHING
    return value(ir.Context(CONTEXT["func"].type, "func", span=span))


_FUNCTIONS = ("kprobe", "kretprobe", "fentry", "fexit", "uprobe", "uretprobe", "usdt", "tracepoint", "rawtracepoint")


def _probetype(u: Unit, span: Span) -> V:
    return text(probe_type(u.ask("source")).encode(), span)


LOWER: dict[str, Callable[[Unit, Span], V]] = {
    "args": _args,
    "retval": _retval,
    "ctx": _ctx,
    "probe": _probe,
    "func": _func,
    "probetype": _probetype,
}


def _fixed(f: Field) -> Location | None:
    """Places that end up in the code of a clause."""
    return f.where if isinstance(f.where, MemBytes) else None


def aspect(site: Site, ask: tuple[str, object]) -> object:
    """What a site answers to something that was asked of it: sites with equal answers share one clause."""
    what, detail = ask
    match what:
        case "field":
            found = site.field(str(detail))
            return (found.type, _fixed(found)) if found is not None else UNKNOWN
        case "arg":
            n = int(str(detail))
            own = site.args[n].type if site.args is not None and n < len(site.args) else None
            return (site.args is None, own, space_of(site))
        case "args":
            return tuple((f.name, f.type, _fixed(f)) for f in site.fields)
        case "ret":
            return (site.source == "fexit", site.ret.type if site.ret is not None else None, space_of(site))
        case "space":
            return space_of(site)
        case "ctx":
            return _context_struct(site)
        case "binary":
            return site.attach.path if isinstance(site.attach, UprobeAttach) else ""
        case "source":
            return site.source
        case _:
            return site.name
