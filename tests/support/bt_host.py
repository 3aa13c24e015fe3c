"""A host out of a dictionary for scripts: probes that exist as soon as they are named, a few C types, no kernel."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.diagnostics import Diagnostic, Source
from probescope.errors import ProbeError, ScriptError
from probescope.ir.program import Program
from probescope.ir.rules import check
from probescope.ir.text import value_to_text
from probescope.lang.bt.compiler import Compiled, Environment, UserSymbol, compile_script
from probescope.lang.bt.frontend import ScriptOptions
from probescope.lang.bt.params import Params
from probescope.model.probe import ProbeSpec
from probescope.model.site import (
    CtxArg,
    CtxBytes,
    CtxLoad,
    FentryAttach,
    Field,
    IntervalAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    RegMem,
    RetSlot,
    Site,
    TracepointAttach,
    UprobeAttach,
    UserAttach,
)
from probescope.model.types import (
    CHAR,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Array,
    Enum,
    Layout,
    Member,
    Pointer,
    String,
    Struct,
    Type,
)

REASON = Enum("drop_reason", 4)


def pointer(name: str, space: str = "kernel") -> Pointer:
    return Pointer(Struct(f"struct {name}"), space)  # type: ignore[arg-type]


class FakeTypes:
    """What BTF would know. ``asked`` counts: a script that needs no kernel type must never come here."""

    def __init__(self) -> None:
        self.asked = 0
        layouts = [
            Layout(
                "struct task_struct",
                128,
                (
                    Member("pid", I32, 0),
                    Member("comm", Array(CHAR, 16), 8),
                    Member("real_parent", pointer("task_struct"), 24),
                    Member("group_leader", pointer("task_struct"), 32),
                    Member("flags", U32, 40, 3, 2),  # bits 3 and 4 of the word at 40
                    Member("delta", I32, 44, 4, 3),  # a signed bit field
                    Member("files", Array(pointer("file"), 4), 48),
                    Member("percpu_thing", Pointer(U64, "kernel"), 80),
                    Member("arg", Pointer(CHAR, "user"), 88),
                ),
                (("percpu_thing", "percpu"), ("arg", "user")),
            ),
            Layout("struct file", 32, (Member("f_path", Struct("struct path"), 0), Member("f_mode", U32, 16))),
            Layout(
                "struct path", 16, (Member("mnt", Pointer(U64, "kernel"), 0), Member("dentry", pointer("dentry"), 8))
            ),
            Layout(
                "struct dentry", 64, (Member("name", Pointer(U8, "kernel"), 0), Member("iname", Array(CHAR, 32), 8))
            ),
            Layout(
                "struct sock", 64, (Member("family", U16, 0), Member("daddr", U32, 4), Member("v6", Array(U8, 16), 8))
            ),
            Layout("struct sk_buff", 64, (Member("data", Pointer(U8, "kernel"), 16), Member("len", U32, 24))),
            Layout("struct timespec", 16, (Member("tv_sec", I64, 0), Member("tv_nsec", I64, 8))),
            Layout("struct pt_regs", 168, (Member("ax", U64, 80), Member("di", U64, 112))),
            Layout(
                "struct bpf_iter__task",
                16,
                (Member("meta", Pointer(U64, "kernel"), 0), Member("task", pointer("task_struct"), 8)),
            ),
        ]
        self._layouts = {one.name: one for one in layouts}

    def layout(self, name: str) -> Layout | None:
        self.asked += 1
        return self._layouts.get(name)

    def named(self, name: str) -> Type | None:
        self.asked += 1
        if name == "pid_t":
            return I32
        return Struct(name) if name in self._layouts else REASON if name == "enum drop_reason" else None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        self.asked += 1
        value = dict(self.enum_values("drop_reason")).get(name)
        return None if value is None else (REASON, value)

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return (("REASON_NONE", 0), ("REASON_FULL", 2)) if name == "drop_reason" else ()

    def names(self) -> list[str]:
        return list(self._layouts)


_PID, _FD = Field("pid", I32, CtxLoad(8, 4)), Field("fd", I32, CtxLoad(16, 4))
_NAME = Field("filename", Pointer(CHAR, "user"), CtxLoad(24, 8))
TRACEPOINTS: dict[str, tuple[Field, ...]] = {
    "syscalls:sys_enter_open": (_NAME, Field("flags", I32, CtxLoad(32, 4))),
    "syscalls:sys_enter_openat": (
        Field("dfd", I32, CtxLoad(16, 4)),
        Field("filename", Pointer(CHAR, "user"), CtxLoad(32, 8)),
    ),
    "syscalls:sys_enter_execve": (_NAME, Field("argv", Pointer(Pointer(CHAR, "user"), "user"), CtxLoad(32, 8))),
    "syscalls:sys_enter_nanosleep": (Field("rqtp", pointer("timespec", "user"), CtxLoad(16, 8)),),
    "syscalls:sys_exit_open": (Field("ret", I64, CtxLoad(16, 8)),),
    "sched:sched_switch": (
        Field("prev_comm", String(16), CtxBytes(8, 16)),
        Field("prev_pid", I32, CtxLoad(24, 4)),
        Field("next_pid", I32, CtxLoad(56, 4)),
    ),
    "sched:sched_wide": (Field("next_pid", I64, CtxLoad(56, 8)),),
    "skb:kfree_skb": (Field("skbaddr", Pointer(U8, "kernel"), CtxLoad(8, 8)), Field("reason", REASON, CtxLoad(28, 4))),
}
_SK = (Field("sk", pointer("sock"), CtxArg(0)), Field("how", I32, CtxArg(1)))
FUNCTIONS: dict[str, tuple[tuple[Field, ...], Type | None]] = {
    "tcp_shutdown": (_SK, None),
    "vfs_read": ((Field("file", pointer("file"), CtxArg(0)), Field("count", U64, CtxArg(1))), I64),
    "fget": ((Field("fd", U32, CtxArg(0)),), pointer("file")),
}


def resolve(spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
    """``absent`` in a name is what is not there; ``*`` stands for two of it."""
    if "absent" in spec.name:
        raise ProbeError(f"there is no {spec.source} {spec.name}", hints=["did you mean another?"])
    names = [spec.name.replace("*", n) for n in ("a", "b")] if "*" in spec.name else [spec.name]
    return [_site(spec, n, need_fields) for n in names]


def _site(spec: ProbeSpec, name: str, need_fields: bool) -> Site:
    s = spec.source
    full = ":".join(p for p in (s, spec.target, spec.namespace, name) if p)
    match s:
        case "begin" | "end":
            return Site(s, s, UserAttach(s))
        case "test" | "bench":
            return Site(full, s, UserAttach(s, name))
        case "self":
            return Site(full, s, UserAttach("signal", name))
        case "interval":
            return Site(full, s, IntervalAttach(10**9))
        case "kprobe" | "kretprobe":
            return Site(full, s, KprobeAttach(name, ret=s == "kretprobe"), func=name)
        case "uprobe" | "uretprobe":
            return Site(full, s, UprobeAttach(spec.target, 0x100, ret=s == "uretprobe"), func=name)
        case "usdt":
            args = (Field("arg0", I32, RegMem("bp", -4, 4)), Field("arg1", U64, RegMem("bp", -16, 8)))
            return Site(full, s, UprobeAttach(spec.target, 0x200), args=args, func=name)
        case "tracepoint":
            fields = TRACEPOINTS.get(f"{spec.target}:{name}", (_PID, _FD)) if need_fields else ()
            return Site(full, s, TracepointAttach(spec.target, name, 7), fields, func=name)
        case "rawtracepoint":
            return Site(full, s, RawTracepointAttach(name), _SK, _SK, func=name)
        case "fentry" | "fexit":
            fields, ret = FUNCTIONS.get(name, ((), None))
            out = None if ret is None else Field("retval", ret, RetSlot(len(fields)))
            return Site(full, s, FentryAttach(name, 1, ret=s == "fexit"), fields, ret=out, func=name)
        case "iter":
            return Site(full, s, IterAttach(name))
        case _:
            return Site(full or str(spec), s, PerfAttach(1, 0, 1))


KERNEL_SYMBOLS = {"avenrun": 0xFFFFFFFF81234560, "runqueues": 0x2C000}


def environment(**how: object) -> Environment:
    """``params``, ``named`` and ``variables`` go to the script; the rest are fields of ``Environment``."""
    params = Params(tuple(how.pop("params", ())), dict(how.pop("named", {})))  # type: ignore[call-overload, arg-type]
    options = ScriptOptions(params=params, environment=dict(how.pop("variables", {})))  # type: ignore[call-overload]
    given: dict[str, object] = {
        "resolve": resolve,
        "types": FakeTypes(),
        "kaddr": KERNEL_SYMBOLS.get,
        "uaddr": lambda _, name: UserSymbol(0x4010, 4) if name == "counter" else None,
        "cgroupid": lambda path: 77 if path == "/sys/fs/cgroup/x" else None,
        "kfunc": lambda name, _: name == "bpf_known",
        "ncpus": 4,
        "script": options,
        **how,
    }
    return Environment(**given)  # type: ignore[arg-type]


def compiled(text: str, **how: object) -> Compiled:
    done = compile_script(Source("stdin", text), environment(**how))
    check(done.program)
    return done


def lower(text: str, **how: object) -> Program:
    """The program of a script; it obeys the rules of the ir."""
    return compiled(text, **how).program


def body(text: str, clause: int = 0, **how: object) -> list[str]:
    """The statements of one clause, as text."""
    return [value_to_text(s) for s in lower(text, **how).clauses[clause].body]


def one(statement: str, **how: object) -> str:
    """The last statement of ``kprobe:f { statement }``, as text."""
    return body(f"kprobe:f {{ {statement} }}", **how)[-1]


def findings(text: str, **how: object) -> tuple[Diagnostic, ...]:
    """What is wrong with a script; empty if nothing is."""
    try:
        compiled(text, **how)
    except ScriptError as e:
        return tuple(d for d in e.diagnostics if d.severity == "error")
    return ()


def warnings(text: str, **how: object) -> list[str]:
    return [d.message for d in compiled(text, **how).warnings]
