"""Builtins: words that are values. One table says what each is; ``list`` and the documentation read it too.

Most are facts of the moment (``ir/context.py``); those that depend on the probe are in ``builtins_site.py``. Every
one may be written with empty parentheses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probescope.diagnostics import Span, nearest
from probescope.ir import expr as ir
from probescope.ir.context import CONTEXT
from probescope.lang.bt import ast
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, const, text, truth, value
from probescope.lang.bt.types import lint
from probescope.model.types import U8, U64, Opaque, Record, Type

_INTERRUPTING = frozenset(
    "kprobe kretprobe uprobe uretprobe usdt profile interval software hardware watchpoint asyncwatchpoint".split()
)
"""Sources of which one can tell what was interrupted: user code or the kernel."""

Lower = Callable[[Unit, Span], V]


class Builtin(NamedTuple):
    """``type`` in the words of the language; ``unless`` says where it cannot be used."""

    type: str
    about: str
    lower: Lower


def _context(name: str, arg: str = "") -> Lower:
    def lower(u: Unit, span: Span) -> V:
        return value(ir.Context(CONTEXT[name].type, name, arg, span=span))

    return lower


def _time(name: str) -> Lower:
    def lower(u: Unit, span: Span) -> V:
        return V(lint(8, False, tag="boot"), ir.Context(U64, name, "", span=span))

    return lower


def _process(name: str) -> Lower:
    def lower(u: Unit, span: Span) -> V:
        return process_id(u, name, "curr_ns", span)

    return lower


def process_id(u: Unit, name: str, namespace: str, span: Span) -> V:
    """``pid`` or ``tid``. Where probescope itself runs in the initial namespace, that is the one to ask."""
    arg = namespace if u.program.env.namespace is not None else ""
    return value(ir.Context(CONTEXT[name].type, name, arg, span=span))


def _usermode(u: Unit, span: Span) -> V:
    source = u.ask("source").source
    if source not in _INTERRUPTING:
        return const(int(source in ("begin", "end", "self", "test", "bench")), U8, span)
    return V(U8, cast(ir.Context(CONTEXT["usermode"].type, "usermode", span=span), U8))


def _username(u: Unit, span: Span) -> V:
    return value(ir.Cast(Opaque("username"), ir.Context(CONTEXT["uid"].type, "uid", span=span), span=span))


def _container(u: Unit, span: Span) -> V:
    return value(ir.Cast(Opaque("container"), ir.Context(CONTEXT["cgroup"].type, "cgroup", span=span), span=span))


def _ncpus(u: Unit, span: Span) -> V:
    return V(U64, ir.Const(U64, u.program.env.ncpus, span=span))


def _has_cpid(u: Unit, span: Span) -> V:
    return truth(bool(u.program.env.child))


def _cpid(u: Unit, span: Span) -> V:
    if not u.program.env.child:
        hint = "-c 'COMMAND ARG ...' runs one; what follows -- are parameters of the program"
        u.warn("No child command (`-c`); cpid is zero", span, hint)
        return const(0, CONTEXT["cpid"].type, span)
    return value(ir.Context(CONTEXT["cpid"].type, "cpid", span=span))


def _length(u: Unit, span: Span) -> V:
    return const(u.program.settings.max_strlen, span=span)


def _config(u: Unit, span: Span) -> V:
    """The configuration as a record; the fields that are asked for are constants."""
    items: list[ir.Expr] = []
    names: list[tuple[str, Type]] = []
    for key, setting in u.program.config_values():
        v = (
            truth(setting)
            if isinstance(setting, bool)
            else const(setting)
            if isinstance(setting, int)
            else text(setting.encode())
        )
        assert v.ir is not None
        items.append(v.ir)
        names.append((key, v.ir.type))
    t = Record(tuple(names))
    return V(t, ir.Pack(t, tuple(items), span=span))


def _task(path: tuple[str, ...]) -> Lower:
    """A member of the current task, by its path."""

    def lower(u: Unit, span: Span) -> V:
        node: ast.Expr = ast.Name(span, "curtask")
        for member in path:
            node = ast.Field(span, node, member)
        return u.expr(node)

    return lower


def _site(name: str) -> Lower:
    def lower(u: Unit, span: Span) -> V:
        from probescope.lang.bt import builtins_site

        return builtins_site.LOWER[name](u, span)

    return lower


def _stack(kind: str) -> Lower:
    def lower(u: Unit, span: Span) -> V:
        from probescope.lang.bt.functions_stack import stack

        return stack(u, kind, "", 0, span)

    return lower


def _dw_ustack(u: Unit, span: Span) -> V:
    from probescope.lang.bt.functions_stack import dw_ustack_value

    return dw_ustack_value(u, span)


BUILTINS: dict[str, Builtin] = {
    "args": Builtin("struct", "the arguments of the probe, by name", _site("args")),
    "cgroup": Builtin("uint64", "cgroup v2 id of the current process", _context("cgroup")),
    "comm": Builtin("string", "name of the current thread", _context("comm")),
    "container": Builtin("container_t", "name of the container or systemd unit of the current process", _container),
    "config": Builtin("record", "the configuration of this run", _config),
    "cpid": Builtin("uint32", "process id of the child started by -c", _cpid),
    "cpu": Builtin("uint32", "number of the current CPU", _context("cpu")),
    "ctx": Builtin("pointer", "the raw context of the probe", _site("ctx")),
    "curtask": Builtin("struct task_struct *", "the current task", _context("curtask")),
    "default_str_length": Builtin("int", "greatest length of strings read without one", _length),
    "elapsed": Builtin("uint64", "nanoseconds since tracing began", _context("elapsed")),
    "func": Builtin("symbol", "name of the traced function", _site("func")),
    "gid": Builtin("uint32", "group id of the current process", _context("gid")),
    "dw_ustack": Builtin("ustack_t", "the user program's call stack, by unwind tables", _dw_ustack),
    "has_cpid": Builtin("bool", "whether -c started a child", _has_cpid),
    "jiffies": Builtin("uint64", "the kernel's jiffies", _context("jiffies")),
    "kstack": Builtin("kstack_t", "the kernel's call stack", _stack("kstack")),
    "leader_comm": Builtin("string", "name of the thread group's leader", _task(("group_leader", "comm"))),
    "leader_tid": Builtin("int32", "thread id of the thread group's leader", _task(("group_leader", "pid"))),
    "ncpus": Builtin("uint64", "number of CPUs", _ncpus),
    "nsecs": Builtin("uint64", "nanoseconds since boot, sleep included", _time("nsecs")),
    "numaid": Builtin("uint32", "number of the current NUMA node", _context("numaid")),
    "pcomm": Builtin("string", "name of the parent process", _task(("real_parent", "comm"))),
    "pid": Builtin("uint32", "process id, as this process sees it", _process("pid")),
    "ppid": Builtin("int32", "process id of the parent", _task(("real_parent", "pid"))),
    "probe": Builtin("string", "full name of the probe", _site("probe")),
    "probetype": Builtin("string", "type of the probe: kprobe, tracepoint...", _site("probetype")),
    "rand": Builtin("uint32", "a pseudo-random number", _context("rand")),
    "retval": Builtin("uint64", "what the function returns; typed in fexit", _site("retval")),
    "tid": Builtin("uint32", "thread id, as this process sees it", _process("tid")),
    "uid": Builtin("uint32", "user id of the current process", _context("uid")),
    "usermode": Builtin("uint8", "1 if user code was interrupted", _usermode),
    "username": Builtin("username_t", "name of the current user", _username),
    "ustack": Builtin("ustack_t", "the user program's call stack", _stack("ustack")),
}


def lower_name(u: Unit, node: ast.Name) -> V:
    """A bare word: builtin, argument, constant, or function without its parentheses."""
    found = BUILTINS.get(node.name.removeprefix("__builtin_"))
    if found is not None:
        return found.lower(u, node.span)
    if node.name.startswith(("arg", "sarg")) and node.name.lstrip("sarg").isdigit():
        from probescope.lang.bt.builtins_site import argument

        return argument(u, node.name, node.span)
    return _constant(u, node)


def _constant(u: Unit, node: ast.Name) -> V:
    from probescope.lang.bt import consts
    from probescope.lang.bt.functions import FUNCTIONS, lower_call

    fn = FUNCTIONS.get(node.name)
    if fn is not None and fn.least == 0:
        return lower_call(u, ast.Call(node.span, node.name, ()))
    enumerator = u.enumerator(node.name)
    if enumerator is not None:
        t, number = enumerator
        return V(t, ir.Const(t, number, span=node.span), literal=True)
    known = consts.lookup(node.name, u.program.env.arch.name)
    if known is not None:
        return const(known, span=node.span)
    return _unknown(u, node, list(FUNCTIONS))


def _unknown(u: Unit, node: ast.Name, functions: list[str]) -> V:
    near = nearest(node.name, [*BUILTINS, *functions, "arg0"])
    hints = [f"did you mean '{n}'?" for n in near[:1]]
    if u.scopes.find(node.name) is not None:
        hints = [f"did you mean '${node.name}'?"]
    u.error(f"Unknown identifier: '{node.name}'", node.span, *hints)
    return NOTHING
