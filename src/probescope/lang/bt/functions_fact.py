"""Builtins that take a parameter: a clock, a namespace, a task, a process id."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.functions_args import int_arg, word_arg
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, value
from probescope.lang.bt.types import lint
from probescope.model.types import U32, U64, String

_CLOCKS = ("boot", "monotonic", "tai", "sw_tai")
_NAMESPACES = ("curr_ns", "init")
_TASK = {
    "ppid": ("real_parent", "pid"),
    "pcomm": ("real_parent", "comm"),
    "leader_comm": ("group_leader", "comm"),
    "leader_tid": ("group_leader", "pid"),
}


def nsecs_(u: Unit, node: ast.Call) -> V:
    clock = word_arg(node, 0)
    if clock not in _CLOCKS:
        shown = clock if clock is not None else "not a word"
        return u.error(f"Invalid timestamp mode: {shown}", node.args[0].span, "modes are " + ", ".join(_CLOCKS))
    arg = "" if clock == "boot" else clock
    return V(lint(8, False, tag=clock), ir.Context(U64, "nsecs", arg, span=node.span))  # type: ignore[arg-type]


def _process(u: Unit, node: ast.Call) -> V:
    from probescope.lang.bt.builtins import process_id

    namespace = word_arg(node, 0)
    if namespace not in _NAMESPACES:
        shown = namespace if namespace is not None else "not a word"
        message = f"Invalid PID namespace mode: {shown} (expects: curr_ns or init)"
        return u.error(message, node.args[0].span)
    return process_id(u, node.function, namespace, node.span)


pid_ = tid_ = _process


def comm_(u: Unit, node: ast.Call) -> V:
    e = int_arg(u, node, 0, U32)
    return NOTHING if e is None else value(ir.Call(String(16), "comm_of", (e,), span=node.span))


def _member(u: Unit, node: ast.Call) -> V:
    """``ppid(task)`` and its like."""
    e: ast.Expr = node.args[0]
    for name in _TASK[node.function]:
        e = ast.Field(node.span, e, name)
    return u.expr(e)


ppid_ = pcomm_ = leader_comm_ = leader_tid_ = _member
