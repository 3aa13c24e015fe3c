"""What a program does before and after its body: which calls it takes, whose, when; scratch memory taken and given
back."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from pathlib import Path

import pytest
from bpf_object import NEW, SITE, Loaded, load, program, unit

from probescope.bpf.pieces import SCRATCH_LEVELS
from probescope.bpf.unit import GLOBAL_ACTIVE, GLOBAL_STOP, GLOBAL_WORDS, Options
from probescope.collect.btfs import KernelBtf
from probescope.debuginfo.btf_cache import load as load_btf
from probescope.debuginfo.btf_types import BtfTypes
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action, Clause, MapDecl, Program
from probescope.kernel.bpf_link import link_perf_event, link_tracing
from probescope.kernel.perf_attr import tracepoint_attr
from probescope.kernel.perf_event import perf_event_open
from probescope.kernel.tracefs import event_id
from probescope.model.site import CtxArg, CtxBytes, CtxLoad, DataLoc, Field, Reg, RegMem, Site, SyscallArg, UserAttach
from probescope.model.types import BOOL, I32, I64, U32, U64, Agg, Opaque, Pointer, String, Struct

COUNT = (MapDecl("n", U32, Agg("count")),)
BY_SITE = s.MapUpdate("n", x.Cast(U32, x.Context(Opaque("probe"), "probe")))
BY_ONE = s.MapUpdate("n", x.Const(U32, 1))


@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("asked", [True, False])
def test_dispatch_by_system_call(count, asked):
    """Compared one by one, or by table; others than ours, and numbers beyond the table, do nothing."""
    numbers = tuple((7 * i + 3, i) for i in range(count))
    p = program([BY_SITE if asked else BY_ONE], maps=COUNT, sites=(SITE,) * count)
    with load(p, sites=tuple(range(count)), site_by="syscall", syscalls=numbers) as loaded:
        for number in (*range(300), 1 << 20, -1):
            loaded.run(0, number)
        assert loaded.map("n") == ({site: 1 for _, site in numbers} if asked else {1: count})


def test_a_walk_over_a_map_knows_the_site():
    """The body is a function of its own there, and the site was found out by the program."""
    maps = (MapDecl("m", U32, U32), MapDecl("n", U32, Agg("count")))
    body = [s.MapSet("m", x.Const(U32, 5), x.Const(U32, 5)), s.ForMap("kv", "m", (BY_SITE,))]
    p = program(body, maps=maps, sites=(SITE, SITE))
    with load(p, sites=(0, 1), site_by="syscall", syscalls=((3, 0), (9, 1))) as loaded:
        for number in (3, 9, 9):
            loaded.run(0, number)
        assert loaded.map("n") == {0: 1, 1: 2}


def test_one_process_only():
    for pid, expected in ((os.getpid(), {1: 1}), (1, {})):
        with load(program([BY_ONE], maps=COUNT), pid=pid) as loaded:
            loaded.run()
            assert loaded.map("n") == expected


def test_gate_is_closed_until_activation_and_after_the_stop():
    p = program([BY_ONE], maps=COUNT, actions=(Action("exit", (I64,)),))
    with Loaded(p, (unit(),), Options(features=NEW, cpus=2, gate=True)) as loaded:
        words = [0] * GLOBAL_WORDS
        for active, stop in ((0, 0), (1, 0), (1, 0), (1, 1)):
            words[GLOBAL_ACTIVE], words[GLOBAL_STOP] = active, stop
            loaded.maps["globals"].update(bytes(4), struct.pack(f"={GLOBAL_WORDS}Q", *words))
            loaded.run()
        assert loaded.map("n") == {1: 2}


def test_end_runs_after_the_stop():
    """The last word of a script comes when everything else is stopped."""
    site = Site("end", "end", UserAttach("end"))
    p = program([BY_ONE], maps=COUNT, actions=(Action("exit", (I64,)),), sites=(site,))
    with Loaded(p, (unit(kind="syscall"),), Options(features=NEW, cpus=2, gate=True)) as loaded:
        loaded.run()
        assert loaded.map("n") == {1: 1}


def test_predicate():
    p = program([BY_ONE], maps=COUNT, predicate=x.Binary(BOOL, "gt", x.Arg(I64, 0), x.Const(I64, 5)))
    with load(p) as loaded:
        for value in (4, 5, 6, 7):
            loaded.run(value)
        assert loaded.map("n") == {1: 2}


# --- scratch memory ---------------------------------------------------------------------------------------------------

TEXT = ctypes.create_string_buffer(b"a text")
AT = ctypes.addressof(TEXT)
LONG = x.ReadStr(String(500), "user", x.Arg(U64, 0))
HELD = (MapDecl("t", U32, String(500)), *COUNT)


def busy(loaded):
    """The words that say which pieces are taken, on all CPUs."""
    held = loaded.maps["scratch"]
    stride = (held.value_size + 7) // 8 * 8
    rows = [held.lookup(struct.pack("=I", level)) for level in range(SCRATCH_LEVELS)]
    return [struct.unpack_from("=Q", row, at)[0] for row in rows for at in range(0, len(row), stride)]


def take(loaded, levels):
    held = loaded.maps["scratch"]
    for level in range(levels):
        held.update(struct.pack("=I", level), struct.pack("=Q", 1).ljust(held.value_bytes, b"\1"))


@pytest.mark.parametrize("sleepable", [False, True], ids=["nested", "preempted"])
@pytest.mark.parametrize("where", ["body", "predicate", "after the predicate"])
def test_scratch_memory_is_given_back(where, sleepable):
    """On every way out: the end, a Return, a predicate that says no."""
    long = x.Binary(BOOL, "eq", LONG, x.Cast(String(500), LONG))
    body = [s.MapSet("t", x.Const(U32, 1), LONG), s.If(x.Cast(BOOL, x.Arg(I64, 1)), (s.Return(),)), BY_ONE]
    predicate = {"body": None, "predicate": long, "after the predicate": x.Cast(BOOL, x.Arg(I64, 2))}[where]
    with load(program(body, maps=HELD, predicate=predicate), sleepable=sleepable) as loaded:
        for leaves in (0, 1, 0):
            for holds in (0, 1):
                loaded.run(AT, leaves, holds)
        assert loaded.map("t") == {1: b"a text"}
        assert not any(busy(loaded))


@pytest.mark.parametrize("sleepable", [False, True], ids=["nested", "preempted"])
def test_the_next_piece_is_taken_if_one_is_busy(sleepable):
    """Another run on this CPU, interrupted, must find its memory as it left it."""
    with load(program([s.MapSet("t", x.Const(U32, 1), LONG)], maps=HELD), sleepable=sleepable) as loaded:
        take(loaded, SCRATCH_LEVELS - 1)
        loaded.run(AT)
        assert loaded.map("t") == {1: b"a text"}
        assert (sum(1 for word in busy(loaded) if word), loaded.counters()) == (2 * (SCRATCH_LEVELS - 1), {})


def test_no_piece_left_skips_the_event_and_counts():
    with load(program([BY_ONE, s.MapSet("t", x.Const(U32, 1), LONG)], maps=HELD)) as loaded:
        take(loaded, SCRATCH_LEVELS)
        loaded.run(AT)
        assert (loaded.map("t"), loaded.map("n"), loaded.counters()) == ({}, {}, {"scratch": 1})


def test_what_needs_no_scratch_memory_takes_none():
    with load(program([BY_ONE], maps=COUNT)) as loaded:
        assert "scratch" not in loaded.maps


# --- where values lie -------------------------------------------------------------------------------------------------


def fired(p, u, attach, act, **more):
    """The maps after ``act()`` with the program attached."""
    with Loaded(p, (u,), Options(features=NEW, cpus=os.cpu_count() or 2, ring_bytes=1 << 16), **more) as loaded:
        links = attach(loaded.programs["t"])
        act()
        for link in links:
            link.close()
        return {m.name: loaded.map(m.name) for m in p.maps}


def on_tracepoint(category, name):
    def attach(prog):
        event = perf_event_open(tracepoint_attr(event_id(category, name)), pid=-1, cpu=0)
        link = link_perf_event(prog, event, 0)
        event.enable()
        return [link, event]

    return attach


def test_fields_of_a_record():
    """sched_process_exec tells the file's name at the end of its record and the process in it."""
    fields = (Field("filename", String(64), DataLoc(8)), Field("pid", I32, CtxLoad(12, 4)))
    names, mine = MapDecl("names", String(64), I32), MapDecl("mine", I32, I32)
    body = [s.MapSet("names", x.Field(String(64), "filename"), x.Field(I32, "pid"))]
    same = x.Binary(BOOL, "eq", x.Cast(U32, x.Field(I32, "pid")), x.Context(U32, "pid"))
    body.append(s.If(same, (s.MapSet("mine", x.Field(I32, "pid"), x.Const(I32, 1)),)))
    child = []
    act = lambda: child.append(subprocess.Popen(["/bin/true"])) or child[0].wait()  # noqa: E731
    u = unit(kind="tracepoint", fields=fields)
    got = fired(program(body, maps=(names, mine)), u, on_tracepoint("sched", "sched_process_exec"), act)
    assert got["names"][b"/bin/true"] == child[0].pid
    assert got["mine"][child[0].pid] == 1


def test_bytes_of_a_record():
    """A text in the record, up to its NUL; sched_switch says who was switched away from."""
    fields = (Field("prev_comm", String(16), CtxBytes(8, 16)), Field("other", String(16), CtxBytes(8, 16)))
    body = [
        s.MapSet("a", x.Field(String(16), "prev_comm"), x.Const(U32, 1)),
        s.MapSet("b", x.Field(String(16), "other"), x.Const(U32, 1)),
    ]
    p = program(body, maps=(MapDecl("a", String(16), U32), MapDecl("b", String(16), U32)))
    act = lambda: subprocess.run(["/bin/true"], check=True)  # noqa: E731
    got = fired(p, unit(kind="tracepoint", fields=fields), on_tracepoint("sched", "sched_switch"), act)
    assert got["a"] == got["b"]
    assert Path("/proc/self/comm").read_bytes().strip() in got["a"]


def tracing(prog):
    return [link_tracing(prog, 23)]


def syscall_unit(number, **more):
    return unit(kind="tp_btf", site_by="syscall", syscalls=((number, 0),), **more)


def sys_enter(**more):
    btf = KernelBtf().find("typedef", "btf_trace_sys_enter")
    return {"expected_attach_type": 23, "attach_btf_id": btf, **more}


def test_arguments_of_a_system_call():
    """Out of the saved registers, by typed pointer; here: getpriority(which, who)."""
    which = Field("which", I32, SyscallArg(0)), Field("who", I32, SyscallArg(1))
    mine = x.Binary(BOOL, "eq", x.Context(U32, "pid"), x.Const(U32, os.getpid()))
    body = [s.MapSet("r", x.Field(I32, "which"), x.Field(I32, "who"))]
    p = program(body, maps=(MapDecl("r", I32, I32),), predicate=mine)
    act = lambda: os.getpriority(os.PRIO_PROCESS, os.getpid())  # noqa: E731
    got = fired(p, syscall_unit(140, fields=which), tracing, act, **sys_enter())
    assert got["r"] == {0: os.getpid()}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="not on this architecture: int 0x80")
def test_system_calls_of_the_32_bit_interface_are_others(tmp_path):
    """Number 20 is writev, but getpid for int 0x80: the kernel's own tracepoints leave such calls out."""
    source = tmp_path / "int80.c"
    source.write_text(
        'int main(){long r;for(int i=0;i<50;i++)__asm__ volatile("int $0x80":"=a"(r):"a"(20):"memory");return r<=0;}'
    )
    binary = tmp_path / "int80prog"
    subprocess.run(["gcc", "-O1", "-o", str(binary), str(source)], check=True)
    body = [s.MapUpdate("n", x.Context(String(16), "comm"))]
    p = program(body, maps=(MapDecl("n", String(16), Agg("count")),), types=None)
    act = lambda: subprocess.run([str(binary)], check=True)  # noqa: E731
    options = Options(features=NEW, cpus=os.cpu_count() or 2, types=BtfTypes(load_btf("/sys/kernel/btf/vmlinux")))
    with Loaded(p, (syscall_unit(20),), options, **sys_enter()) as loaded:
        links = tracing(loaded.programs["t"])
        act()
        for link in links:
            link.close()
        assert b"int80prog" not in loaded.map("n")


@pytest.mark.parametrize("kind", ["kprobe", "perf_event"])
def test_registers_are_accepted_where_the_context_has_them(kind):
    """Arguments in registers, on the stack and in memory: the verifier checks each offset of the context."""
    args = (
        Field("a", I32, Reg("di", 4, True)),
        Field("b", I64, RegMem("bp", -20, 4, True, "ax", 4)),
        Field("c", U64, Reg("sp", 8)),
    )
    values = [x.Arg(I32, 0), x.Arg(I64, 1), x.Arg(U64, 2)]
    body = [s.MapSet("r", x.Cast(U64, v), x.Context(U64, "func_ip")) for v in values]
    body.append(s.MapSet("r", x.Cast(U64, x.Reg(U64, "ip")), x.Cast(U64, x.Context(BOOL, "usermode"))))
    p = program(body, maps=(MapDecl("r", U64, U64),))
    with load(p, kind=kind, args=args, in_user=True):
        pass
    by_convention = [s.MapSet("r", x.Arg(U64, i), x.Cast(U64, x.Ret(I64))) for i in range(8)]
    with load(program(by_convention, maps=(MapDecl("r", U64, U64),)), kind=kind):
        pass


def test_typed_pointers_can_be_calculated_with():
    """The verifier forbids most arithmetic on pointers that it knows; a script may do it all the same."""
    t = Pointer(Struct("struct pt_regs"), "kernel")
    args = (Field("regs", t, CtxArg(0)), Field("id", I64, CtxArg(1)))
    number = x.Cast(U64, x.Arg(t, 0))
    body = [s.MapSet("r", None, x.Binary(U64, "and", x.Binary(U64, "mul", number, x.Const(U64, 3)), x.Const(U64, 15)))]
    p = program(body, maps=(MapDecl("r", None, U64),))
    got = fired(p, unit(kind="tp_btf", args=args), tracing, os.getpid, **sys_enter())
    assert got["r"][None] % 8 == 0  # the address of registers on a stack


def test_sites_by_cookie_are_accepted():
    p = Program((Clause(0, (SITE, SITE), (BY_SITE,)),), COUNT)
    with load(p, kind="kprobe", sites=(0, 1), site_by="cookie"):
        pass


def test_two_clauses_share_maps_and_constants():
    """One object: the counters and the constants of both are in one map each."""
    text = x.Const(String(200), b"x" * 180)
    clauses = tuple(
        Clause(i, (SITE,), (s.MapSet("t", x.Const(U32, i), text), s.MapUpdate("n", x.Const(U32, i)))) for i in range(2)
    )
    p = Program(clauses, (MapDecl("t", U32, String(200)), *COUNT))
    units = (unit(name="a", clause=0), unit(name="b", clause=1, sites=(1,)))
    with Loaded(p, units, Options(features=NEW, cpus=2)) as loaded:
        loaded.run(name="a")
        loaded.run(name="b")
        assert loaded.map("n") == {0: 1, 1: 1}
        assert loaded.map("t") == {0: b"x" * 180, 1: b"x" * 180}
