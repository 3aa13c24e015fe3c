"""The words of the language, for telling builtins from types and for hints: names only, their meaning is elsewhere."""

from __future__ import annotations

KEYWORDS = (
    "break comptime config continue else enum false fn for if import let macro offsetof return sizeof struct "
    "true typeinfo typeof union unroll while"
).split()

BUILTIN_VALUES = frozenset(
    (
        "args cgroup comm config cpid cpu ctx curtask default_str_length dw_ustack elapsed func gid has_cpid "
        "jiffies kstack leader_comm leader_tid ncpus nsecs numaid pcomm pid ppid probe probetype rand retval tid "
        "uid username usermode ustack"
    ).split()
)
"""Builtins that are values when written without parentheses (``argN`` and ``sargN`` are recognised by
``is_builtin``)."""

FUNCTIONS = frozenset(
    (
        "assert assert_str avg bswap buf cat cgroup cgroup_path cgroupid clear comm config container_of count "
        "cpid cpu curtask debugf default_str_length delete dw_ustack elapsed errorf exit fail find func getopt "
        "gid has_cpid has_key hist is_array is_err is_integer is_literal is_ptr is_scalar is_str is_unsigned_integer "
        "jiffies join kaddr kfunc_allowed kfunc_exist kptr kstack ksym leader_comm leader_tid len lhist macaddr "
        "max memcmp min ncpus nsecs ntop numaid override override_return path pcomm percpu_kaddr pid ppid print "
        "printf probe probetype pton rand reg retval signal signal_name signal_thread skboutput socket_cookie "
        "static_assert stats str strcap str_concat strcontains strerror strftime strlen strncmp strstr sum "
        "syscall_name system tid time tseries uaddr uid unwatch uptr username usermode usleep ustack usym warnf "
        "write_user zero"
    ).split()
)
"""Everything of the standard library that can be called, whether a builtin or a macro there."""

RESERVED = frozenset("args ctx kstack nsecs pid tid ustack".split())
"""Builtins whose names a macro's parameter cannot have, besides ``argN`` and ``__builtin_*``."""


def is_reserved(name: str) -> bool:
    return is_builtin(name) and (name in RESERVED or name not in BUILTIN_VALUES)


def is_builtin(name: str) -> bool:
    """Whether a bare word is a value of the language rather than a type or a macro: decides ``(pid) * 2``."""
    if name in BUILTIN_VALUES or name.startswith("__builtin_"):
        return True
    stem = name.rstrip("0123456789")
    return stem in ("arg", "sarg") and stem != name


C_TYPE_WORDS = frozenset("unsigned signed long short int char double float".split())
"""Words of which several make one type name: ``unsigned long long``."""

QUALIFIERS = frozenset("const volatile restrict __restrict".split())
