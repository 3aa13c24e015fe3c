"""The macros of bpftrace's standard library, which are builtins here: their names and the parameters of each form.

A parameter is written as in ``macro``: ``$x`` must be a variable, ``@m`` a map, a bare name any expression. The
meaning of each is with the lowering; this table is what hints and overload checks go by.
"""

from __future__ import annotations

STDLIB: dict[str, tuple[str, ...]] = {
    "assert": ("cond, msg",),
    "assert_str": ("exp",),
    "cgroup": ("",),
    "comm": ("", "$pid", "pid"),
    "config": ("",),
    "container_of": ("ptr, type, member",),
    "cpid": ("",),
    "cpu": ("",),
    "curtask": ("",),
    "default_str_length": ("",),
    "delete": ("@map", "@map, $key", "@map, key", "map_item"),
    "dw_ustack": ("", "mode", "mode, limit"),
    "elapsed": ("",),
    "find": ("@map, key, $var",),
    "func": ("",),
    "gid": ("",),
    "has_cpid": ("",),
    "has_key": ("@map, key",),
    "is_array": ("expr",),
    "is_err": ("ptr",),
    "is_integer": ("expr",),
    "is_literal": ("expr",),
    "is_ptr": ("expr",),
    "is_str": ("expr",),
    "is_unsigned_integer": ("expr",),
    "jiffies": ("",),
    "kfunc_allowed": ("name",),
    "kfunc_exist": ("name",),
    "leader_comm": ("", "task"),
    "leader_tid": ("", "task"),
    "len": ("@map", "expr"),
    "memcmp": ("left, right, count",),
    "ncpus": ("",),
    "numaid": ("",),
    "override": ("expr",),
    "pcomm": ("", "task"),
    "ppid": ("", "task"),
    "probe": ("",),
    "probetype": ("",),
    "rand": ("",),
    "retval": ("",),
    "signal": ("expr",),
    "signal_name": ("sig",),
    "signal_thread": ("expr",),
    "static_assert": ("cond, msg",),
    "str_concat": ("s1, s2",),
    "strcap": ("exp",),
    "strcontains": ("haystack, needle",),
    "strerror": ("errno",),
    "strlen": ("$var", "exp"),
    "strstr": ("haystack, needle",),
    "syscall_name": ("n",),
    "uaddr": ("sym",),
    "uid": ("",),
    "usermode": ("",),
    "username": ("",),
    "write_user": ("dst, src, len",),
}
"""Name -> its forms; ``""`` is the form without parameters, which may be called without brackets."""


def arities(name: str) -> tuple[int, ...]:
    """The numbers of arguments that a macro of the standard library can be called with; empty if it is none."""
    return tuple(sorted({len(form.split(",")) if form else 0 for form in STDLIB.get(name, ())}))
