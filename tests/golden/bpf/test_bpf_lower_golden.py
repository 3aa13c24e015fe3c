"""The instructions of typical programs, kept in files: a change of code generation is seen, and seen to be wanted.

``PROBESCOPE_GOLDEN=1 pytest tests/golden/bpf`` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bpf_object import MODERN, program, unit

from probescope.bpf.compile import compile_program
from probescope.bpf.listing import list_object
from probescope.bpf.unit import Options
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action, MapDecl
from probescope.model.features import BASELINE_6_1
from probescope.model.site import Field, RegArg, SyscallArg
from probescope.model.types import BOOL, I32, I64, U32, U64, Agg, Layout, Member, Opaque, String, Struct

HERE = Path(__file__).parent / "lowered"


class Kernel:
    """As much of a kernel's types as telling 32-bit system calls takes."""

    KNOWN = {
        "struct task_struct": Layout(
            "struct task_struct", 9792, (Member("thread_info", Struct("struct thread_info"), 0),)
        ),
        "struct thread_info": Layout("struct thread_info", 24, (Member("status", U32, 16),)),
    }

    def layout(self, name):
        return self.KNOWN.get(name)


COMM = x.Context(String(16), "comm")
FD = Field("fd", I32, SyscallArg(0))
PATH = Field("filename", U64, SyscallArg(1))


def syscall(number, *fields):
    return unit(kind="tp_btf", site_by="syscall", syscalls=((number, 0),), fields=fields)


PROGRAMS = {
    # tracepoint:syscalls:sys_enter_close { @ = count() }
    "count": (program([s.MapUpdate("", None)], maps=(MapDecl("", None, Agg("count")),)), syscall(3)),
    # ... { @[comm] = count() }
    "count_by_comm": (
        program([s.MapUpdate("", COMM)], maps=(MapDecl("", String(16), Agg("count")),)),
        syscall(3),
    ),
    # ... { @ = hist(args.fd) }
    "hist": (
        program(
            [s.MapUpdate("", None, x.Cast(I64, x.Field(I32, "fd")))],
            maps=(MapDecl("", None, Agg("hist", I64, (0,))),),
        ),
        syscall(3, FD),
    ),
    # ... { @[kstack] = count() }
    "count_by_stack": (
        program(
            [s.MapUpdate("", x.Stack(Opaque("kstack", depth=127)))],
            maps=(MapDecl("", Opaque("kstack", depth=127), Agg("count")),),
        ),
        syscall(3),
    ),
    # ... { printf("%d %s %d\n", pid, comm, args.fd) }
    "printf": (
        program(
            [s.Emit(0, (x.Context(U32, "pid"), COMM, x.Field(I32, "fd")))],
            actions=(Action("printf", (U32, String(16), I32)),),
        ),
        syscall(3, FD),
    ),
    # sys_enter_openat /pid == 1/ { printf("%s %s\n", comm, str(args.filename)) }
    "printf_of_a_path": (
        program(
            [s.Emit(0, (COMM, x.ReadStr(String(1024), "user", x.Field(U64, "filename"))))],
            actions=(Action("printf", (String(16), String(1024))),),
            predicate=x.Binary(BOOL, "eq", x.Context(U32, "pid"), x.Const(U32, 1)),
        ),
        syscall(257, PATH),
    ),
    # uprobe:...:f { @start[tid] = nsecs } with a path compared
    "uprobe": (
        program(
            [
                s.If(
                    x.Binary(
                        BOOL, "eq", x.ReadStr(String(1024), "user", x.Arg(U64, 0)), x.Const(String(64), b"/etc/passwd")
                    ),
                    (s.MapSet("start", x.Context(U32, "tid"), x.Context(U64, "nsecs")),),
                ),
                s.Discard(x.MapDelete(BOOL, "start", x.Const(U32, 0))),
            ],
            maps=(MapDecl("start", U32, U64),),
        ),
        unit(kind="kprobe", in_user=True, args=(Field("arg0", U64, RegArg(0)),)),
    ),
}
FEATURES = {"modern": MODERN, "6.1": BASELINE_6_1}


@pytest.mark.parametrize("name", PROGRAMS)
def test_listing(name):
    p, u = PROGRAMS[name]
    text = list_object(compile_program(p, (u,), Options(features=MODERN, cpus=4, types=Kernel(), gate=True)))
    file = HERE / f"{name}.txt"
    if os.environ.get("PROBESCOPE_GOLDEN"):
        HERE.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_input_gives_equal_bytes(name):
    p, u = PROGRAMS[name]
    for features in FEATURES.values():
        options = Options(features=features, cpus=4, types=Kernel())
        assert compile_program(p, (u,), options) == compile_program(p, (u,), options)
