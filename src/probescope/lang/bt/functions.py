"""The functions of the language: one table of what each takes, means and needs, and the way to its lowering.

``args`` of a row has one word a parameter, those behind a ``?`` may be left out:

    int text any    values           lit str     an integer or a string known while compiling
    map slot        @m, @m[k]        ...         a format's values
    word type       names            ptr         pointer or number

Lowering functions are in the module of the row's group (``functions_GROUP.py``) under the function's name, and are
loaded when first called: a script pays for what it uses."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from probescope.diagnostics import nearest
from probescope.lang.bt import ast
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V

MANY = 128


class Function(NamedTuple):
    group: str
    args: str
    about: str
    least: int = 0
    most: int = 0
    unsafe: bool = False
    probes: tuple[str, ...] = ()


def _f(group: str, args: str, about: str, *, unsafe: bool = False, probes: str = "") -> Function:
    needed, _, optional = args.partition("?")
    least = len(needed.replace("...", "").split())
    most = MANY if "..." in args else least + len(optional.split())
    return Function(group, args, about, least, most, unsafe, tuple(probes.split()))


_REGISTERS = "kprobe kretprobe uprobe uretprobe usdt profile interval software hardware watchpoint"
_SIGNALS = "kprobe kretprobe fentry fexit uprobe uretprobe usdt tracepoint rawtracepoint profile watchpoint"

FUNCTIONS: dict[str, Function] = {
    # output
    "print": _f(
        "output",
        "any ? any lit lit",
        "prints a value, or a map: its greatest `top` values, divided by `div`; a string before them is a printf "
        "format for each entry",
    ),
    "printf": _f("output", "str ...", "prints formatted text"),
    "errorf": _f("output", "str ...", "prints formatted text as an error with its place in the script"),
    "warnf": _f("output", "str ...", "prints formatted text as a warning with its place in the script"),
    "debugf": _f("output", "str ...", "prints formatted text into the trace of the kernel (trace_pipe of tracefs)"),
    "cat": _f("output", "str ...", "prints a file"),
    "system": _f("output", "str ...", "runs a shell command and prints what it prints", unsafe=True),
    "join": _f("output", "ptr ? str", "prints an array of strings, such as argv"),
    "time": _f("output", "? str", "prints the time of day, as strftime(3) formats it"),
    "exit": _f("output", "? int", "ends tracing; the number becomes the exit code"),
    "skboutput": _f(
        "output",
        "str ptr int int",
        "writes a packet to a pcap file",
        probes="fentry fexit tracepoint rawtracepoint kprobe",
    ),
    # maps
    "clear": _f("map", "map", "removes all keys"),
    "zero": _f("map", "map", "sets all values to zero"),
    "delete": _f("map", "slot ? any", "removes one key; says whether it was there"),
    "has_key": _f("map", "map any", "whether a key is there"),
    "find": _f("map", "map any any", "whether a key is there; its value is put into a variable"),
    "len": _f("map", "any", "number of keys of a map, or of frames of a stack"),
    "is_scalar": _f("map", "map", "whether a map has no keys"),
    # aggregations
    "count": _f("agg", "", "counts"),
    "sum": _f("agg", "int", "adds up"),
    "min": _f("agg", "int", "keeps the least"),
    "max": _f("agg", "int", "keeps the greatest"),
    "avg": _f("agg", "int", "keeps the average"),
    "stats": _f("agg", "int", "keeps count, average and total"),
    "hist": _f("agg", "int ? lit", "histogram of powers of two, each cut into 2^k"),
    "lhist": _f("agg", "int lit lit lit", "histogram from min to max by step"),
    "tseries": _f("agg", "int lit lit ? str", "values over time: interval in ns, number of intervals, aggregation"),
    # strings and memory
    "str": _f("text", "any ? int", "reads a string from memory"),
    "buf": _f("text", "any ? int", "reads bytes from memory"),
    "strlen": _f("text", "any", "length of a string"),
    "strcap": _f("text", "any", "capacity of a string"),
    "strncmp": _f("text", "text text lit", "0 if the first n characters are equal"),
    "strstr": _f("text", "text text", "where the second string is in the first, or -1"),
    "strcontains": _f("text", "text text", "whether the second string is in the first"),
    "str_concat": _f("text", "text text", "one string after the other"),
    "memcmp": _f("text", "any any int", "0 if the first n bytes are equal"),
    "strerror": _f("text", "int", "message of an error number"),
    "syscall_name": _f("text", "int", "name of a system call"),
    "signal_name": _f("text", "int", "name of a signal"),
    "strftime": _f("text", "str int", "a time since boot, as strftime(3) formats it"),
    "path": _f("text", "any ? lit", "the path behind a struct path", probes="fentry fexit iter"),
    "assert_str": _f("meta", "any", "refuses what is not like a string"),
    # patterns
    "strglob": _f("match", "text str", "whether a glob matches the whole string: `*`, `?`, `[a-z]`, `[!a-z]`"),
    "strmatch": _f(
        "match",
        "text str",
        r"whether a regular expression matches anywhere in the string: `. [a-z] \d \w \s ( ) | * + ? {2,5} ^ $`, "
        "`(?i)` at its start",
    ),
    # addresses
    "ksym": _f("address", "any", "symbol of a kernel address"),
    "usym": _f("address", "any", "symbol of a user address"),
    "kaddr": _f("address", "str", "address of a kernel symbol"),
    "uaddr": _f("address", "str", "address of a symbol of the traced binary", probes="uprobe uretprobe usdt"),
    "percpu_kaddr": _f("address", "str ? int", "address of a per-CPU symbol of the kernel, on this CPU or another"),
    "kptr": _f("address", "ptr", "takes a pointer for one into kernel memory"),
    "uptr": _f("address", "ptr", "takes a pointer for one into user memory"),
    "reg": _f("address", "str", "a register of the interrupted code", probes=_REGISTERS),
    "container_of": _f("address", "ptr type word", "the struct around a member"),
    "is_err": _f("address", "any", "whether a pointer is an error number"),
    # network, cgroups
    "ntop": _f("net", "any ? any", "an IP address as text"),
    "pton": _f("net", "str", "an IP address as bytes"),
    "macaddr": _f("net", "any", "a hardware address as text"),
    "bswap": _f("net", "int", "bytes reversed"),
    "socket_cookie": _f("net", "ptr", "the number that the kernel gives a socket", probes="fentry fexit rawtracepoint"),
    "cgroupid": _f("net", "str", "cgroup v2 id of a path"),
    "container": _f("net", "? int", "name of the container or systemd unit of this process, or of a cgroup v2 id"),
    "cgroup_path": _f("net", "int ? str", "path of a cgroup v2 id"),
    # stacks
    "kstack": _f("stack", "? any any", "the kernel's call stack: mode, limit"),
    "ustack": _f("stack", "? any any", "the user program's call stack: mode, limit"),
    "dw_ustack": _f("stack", "? any any", "the user program's call stack, by unwind tables"),
    # facts with a parameter
    "nsecs": _f("fact", "? word", "nanoseconds of a clock: boot, monotonic, tai, sw_tai"),
    "pid": _f("fact", "? word", "process id: curr_ns, init"),
    "tid": _f("fact", "? word", "thread id: curr_ns, init"),
    "comm": _f("fact", "? int", "name of the current thread, or of a process"),
    "ppid": _f("fact", "? any", "parent's process id of a task"),
    "pcomm": _f("fact", "? any", "parent's name of a task"),
    "leader_comm": _f("fact", "? any", "name of a task's leader"),
    "leader_tid": _f("fact", "? any", "thread id of a task's leader"),
    # effects
    "signal": _f("effect", "any", "sends a signal to the process", unsafe=True, probes=_SIGNALS),
    "signal_thread": _f("effect", "any", "sends a signal to the thread", unsafe=True, probes=_SIGNALS),
    "override": _f("effect", "int", "returns instead of the traced function", unsafe=True, probes="kprobe"),
    "write_user": _f("effect", "ptr any int", "writes to user memory", unsafe=True),
    "unwatch": _f("effect", "int", "removes a watchpoint"),
    # while compiling
    "assert": _f("meta", "any str", "ends tracing with an error unless the condition holds"),
    "static_assert": _f("meta", "any str", "refuses the script unless the condition holds"),
    "fail": _f("meta", "str ...", "refuses the script"),
    "is_array": _f("meta", "any", "whether it is an array"),
    "is_integer": _f("meta", "any", "whether it is an integer"),
    "is_literal": _f("meta", "any", "whether it is a literal"),
    "is_ptr": _f("meta", "any", "whether it is a pointer"),
    "is_str": _f("meta", "any", "whether it is a string"),
    "is_unsigned_integer": _f("meta", "any", "whether it is an unsigned integer"),
    "kfunc_exist": _f("meta", "str", "whether this kernel has a kernel function for BPF"),
    "kfunc_allowed": _f("meta", "str", "whether such a function may be called from this probe"),
}


def lower_call(u: Unit, node: ast.Call) -> V:
    """A call: a function of the table, one of the script, or a builtin with parentheses."""
    fn = FUNCTIONS.get(node.function)
    own = u.program.subprogs.get(node.function)
    if own is not None:
        from probescope.lang.bt.lower_subprog import call_subprog

        return call_subprog(u, node, own)
    if fn is None or (not node.args and fn.group in ("fact", "stack") and fn.least == 0):
        return _builtin(u, node, fn)
    if fn.group == "agg":
        return u.error(f"{node.function}() must be assigned directly to a map", node.span)
    if not allowed(u, node, fn):
        return NOTHING
    found: V = getattr(_module(fn.group), node.function + "_")(u, node)
    return found


def _module(group: str) -> object:
    return importlib.import_module(f"probescope.lang.bt.functions_{group}")


def assign_call(u: Unit, node: ast.Assign, call: ast.Call) -> bool:
    """``@m = count()``: true if the value is an aggregation, which is then taken care of."""
    fn = FUNCTIONS.get(call.function)
    if fn is None or fn.group != "agg" or call.function in u.program.subprogs:
        return False
    if allowed(u, call, fn):
        from probescope.lang.bt.functions_agg import update

        update(u, node, call)
    return True


def _builtin(u: Unit, node: ast.Call, fn: Function | None) -> V:
    from probescope.lang.bt.builtins import BUILTINS, lower_name

    is_value = node.function in BUILTINS or node.function.lstrip("s").removeprefix("arg").isdigit()
    if is_value and not node.args:
        return lower_name(u, ast.Name(node.span, node.function))
    if is_value:
        return u.error(f"{node.function}() requires no arguments ({len(node.args)} provided)", node.span)
    if fn is not None:
        found: V = getattr(_module(fn.group), node.function + "_")(u, node)
        return found
    near = nearest(node.function, [*FUNCTIONS, *u.program.subprogs])
    hints = [f"did you mean '{n}'?" for n in near[:1]]
    return u.error(f"Unknown function: '{node.function}'", node.span, *hints)


_UNSAFE = "unsafe. To use you need the --unsafe flag"


def allowed(u: Unit, node: ast.Call, fn: Function) -> bool:
    """Whether a call may be made at all: safety, number of arguments, type of probe."""
    if fn.unsafe and not u.program.env.unsafe:
        told = "an unsafe function being used in safe mode" if node.function == "system" else _UNSAFE
        u.error(f"{node.function}() is {told}", node.span, "run with --unsafe")
        return False
    if fn.unsafe:
        u.program.needs_unsafe.add(node.function)
    wrong = _count(len(node.args), fn.least, fn.most)
    if wrong:
        u.error(f"{node.function}() {wrong} ({len(node.args)} provided)", node.span)
        return False
    for site in u.sites:
        if fn.probes and site.source not in fn.probes:
            where = ", ".join(fn.probes)
            u.error(f'{node.function} can not be used with "{site.source}" probes', node.span, f"it can in {where}")
            return False
    return True


def _count(n: int, least: int, most: int) -> str:
    if least <= n <= most:
        return ""
    if least == most:
        number = {0: "no arguments", 1: "one argument"}.get(least, f"{least} arguments")
        return f"requires {number}"
    if n < least:
        return f"requires at least {'one argument' if least == 1 else f'{least} arguments'}"
    return f"takes up to {'one argument' if most == 1 else f'{most} arguments'}"
