"""What reaches beyond values and maps: signals, user memory, per-CPU variables, other tasks, missing features."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from bpf_object import MODERN, NEW, Loaded, load, program, unit, untyped_reads

from probescope.bpf.compile import compile_program
from probescope.bpf.disasm import disassemble
from probescope.bpf.unit import Options
from probescope.collect.btfs import KernelBtf
from probescope.collect.host import HostFeatures
from probescope.debuginfo.btf_cache import load as load_btf
from probescope.debuginfo.btf_types import BtfTypes
from probescope.diagnostics import Span
from probescope.errors import LimitError, ScriptError
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Action, MapDecl
from probescope.kernel.bpf_link import link_tracing
from probescope.kernel.features import probe
from probescope.model.features import Features
from probescope.model.site import CtxArg, Field
from probescope.model.types import I64, U32, U64, Agg, Int, Opaque, Pointer, String, Struct, Tuple


def test_write_user():
    """Kernels that are locked down have no such helper: what is called, and with what, is looked at instead."""
    effect = s.Effect("write_user", (x.Arg(U64, 0), x.Const(U32, 7)))
    spec = compile_program(program([effect]), (unit(),), Options(features=MODERN)).programs[0]
    lines = [text for _, text in disassemble(spec.insns)]
    at = next(i for i, text in enumerate(lines) if "bpf_probe_write_user" in text)
    assert "r3 = 4" in lines[:at]
    assert any("= 7" in text for text in lines[:at])


@pytest.mark.parametrize("kind", ["signal", "signal_thread"])
def test_signal(kind):
    got = []
    before = signal.signal(signal.SIGUSR2, lambda n, _: got.append(n))
    try:
        with load(program([s.Effect(kind, (x.Const(U32, signal.SIGUSR2),))])) as loaded:
            loaded.run()
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert got == [signal.SIGUSR2]


def kernel_text():
    """Where the kernel's code begins."""
    with Path("/proc/kallsyms").open() as f:
        return next(int(line.split()[0], 16) for line in f if line.split()[2] == "_stext")


def test_per_cpu_variables_are_where_the_kernels_table_says():
    """The same table read by hand (any kernel memory will do for one); a CPU that does not exist has none."""
    table = kernel_text()
    whole = Tuple((U64, U64, U64))
    by_hand = x.Binary(U64, "add", x.Load(U64, "kernel", x.Const(U64, table + 8)), x.Const(U64, 0x1234))
    ours = x.Call(U64, "percpu", (x.Const(U64, 0x1234), x.Const(U32, 1)))
    none = x.Call(U64, "percpu", (x.Const(U64, 0x1234), x.Arg(U32, 0)))
    p = program([s.MapSet("r", None, x.Pack(whole, (ours, by_hand, none)))], maps=(MapDecl("r", None, whole),))
    options = Options(features=NEW, cpus=2, per_cpu_offset=table)
    with Loaded(p, (unit(),), options) as loaded:
        loaded.run(2)
        ours, expected, none = loaded.map("r")[None]
        assert (ours, none) == (expected, 0)
        assert expected != 0x1234


def test_name_of_another_task():
    """The parent, found by number; a number that nobody has gives an empty name."""
    kernel = BtfTypes(load_btf("/sys/kernel/btf/vmlinux"))
    names = [x.Call(String(16), "comm_of", (x.Const(U32, n),)) for n in (os.getppid(), 0x7FFFFFF0)]
    whole = Tuple((String(16), String(16)))
    p = program([s.MapSet("r", None, x.Pack(whole, tuple(names)))], maps=(MapDecl("r", None, whole),))
    options = Options(features=NEW, cpus=os.cpu_count() or 2, types=kernel)
    if not probe("kfunc:bpf_task_from_pid@tp_btf").yes:  # before 6.2
        with pytest.raises(ScriptError):
            compile_program(p, (unit(kind="tp_btf"),), Options(features=HostFeatures()))
        return
    target = KernelBtf().find("typedef", "btf_trace_sys_enter")
    with Loaded(p, (unit(kind="tp_btf"),), options, expected_attach_type=23, attach_btf_id=target) as loaded:
        with link_tracing(loaded.programs["t"], 23):
            os.getppid()
        assert loaded.map("r") == {None: (Path(f"/proc/{os.getppid()}/comm").read_bytes().strip(), b"")}


def test_socket_cookie_is_read_where_the_kernel_keeps_it():
    """Of no socket: a read that fails, and 0."""
    kernel = BtfTypes(load_btf("/sys/kernel/btf/vmlinux"))
    sock = x.Cast(Pointer(Struct("struct sock"), "kernel"), x.Arg(U64, 0))
    p = program([s.MapSet("r", None, x.Call(U64, "socket_cookie", (sock,)))], maps=(MapDecl("r", None, U64),))
    with Loaded(p, (unit(),), Options(features=NEW, cpus=2, types=kernel)) as loaded:
        loaded.run(0)
        assert (loaded.map("r"), loaded.counters()) == ({None: 0}, {"read": 1})


def test_there_is_no_stack_where_nothing_was_interrupted():
    """At begin a stack is the empty one: such scripts run, and the kernel is not asked."""
    t = Opaque("kstack", depth=9)
    p = program([s.MapSet("r", None, x.Stack(t))], maps=(MapDecl("r", None, t),))
    with Loaded(p, (unit(kind="syscall"),), Options(features=NEW, cpus=2)) as loaded:
        loaded.run(0)
        assert loaded.map("r") == {None: -1}


def test_how_deep_a_stack_is():
    """A program that is fired by hand is called by the kernel: some frames, no more than are asked for."""
    asked = {"all": 127, "two": 2}
    body = [
        s.MapSet(n, None, x.Call(U64, "stack_len", (x.Stack(Opaque("kstack", depth=d)),))) for n, d in asked.items()
    ]
    maps = tuple(MapDecl(n, None, U64) for n in asked)
    with Loaded(program(body, maps=maps), (unit(),), Options(features=NEW, cpus=2)) as loaded:
        loaded.run(0)
        assert loaded.map("two") == {None: 2}
        assert 2 < loaded.map("all")[None] <= 127
    with Loaded(program(body, maps=maps), (unit(kind="syscall"),), Options(features=NEW, cpus=2)) as loaded:
        loaded.run(0)
        assert loaded.map("all") == {None: 0}


SPAN = Span(3, 5, 3, 9)
REGS = Pointer(Struct("struct pt_regs"), "kernel")
REFUSED = {
    "for_each": (
        [s.ForMap("kv", "m", (), span=SPAN)],
        {"lack": "helper:for_each_map_elem"},
        "walking over a map needs for_each_map_elem, which this kernel does not offer",
    ),
    "signal": (
        [s.Effect("signal", (x.Const(U32, 9),), span=SPAN)],
        {"lack": "helper:send_signal"},
        "a signal needs send_signal, which this kernel does not offer",
    ),
    "aggregation": (
        [s.MapSet("m", x.Const(U32, 1), x.MapGet(I64, "c", None, span=SPAN))],
        {"lack": "helper:map_lookup_percpu_elem"},
        "reading @c, which every CPU counts apart, needs map_lookup_percpu_elem, which this kernel does not offer",
    ),
    "registers": (
        [s.Discard(x.Reg(U64, "ip", span=SPAN))],
        {},
        "there are no saved registers in raw_tracepoint programs",
    ),
    "field": ([s.Discard(x.Field(U64, "nope", span=SPAN))], {}, "this probe has no field nope"),
    "path": (
        [s.Discard(x.Call(String(64), "path", (x.Arg(REGS, 0),), span=SPAN))],
        {"args": (Field("a", REGS, CtxArg(0)),)},
        "path() needs an argument of the probe whose type the kernel knows",
    ),
    "percpu": (
        [s.Discard(x.Call(U64, "percpu", (x.Const(U64, 1), x.Const(U32, 1)), span=SPAN))],
        {},
        "per-CPU variables cannot be found: the address of __per_cpu_offset is not known",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_said_at_its_place(name):
    """One diagnostic with the span of what asked for it; never a program that the kernel then refuses."""
    body, more, message = REFUSED[name]
    lack = more.get("lack")
    features = Features(MODERN.yes - {lack}, frozenset({lack})) if lack else MODERN
    p = program(body, maps=(MapDecl("m", U32, I64), MapDecl("c", None, Agg("count"))))
    with pytest.raises(ScriptError) as e:
        compile_program(p, (unit(**{k: v for k, v in more.items() if k != "lack"}),), Options(features=features))
    assert e.value.diagnostics[0].message == message
    assert e.value.diagnostics[0].span == SPAN


def test_too_much_memory_in_one_clause_names_the_limit():
    texts = tuple(x.ReadStr(String(20_000), "user", x.Arg(U64, i)) for i in range(2))
    p = program([s.Emit(0, texts)], actions=(Action("print", tuple(t.type for t in texts)),))
    with pytest.raises(LimitError) as e:
        compile_program(p, (unit(),), Options(features=MODERN))
    assert "32768" in e.value.what
    assert e.value.hints


def test_deep_expression_is_an_error_not_a_traceback():
    e = x.Arg(U64, 0)
    for _ in range(5000):
        e = x.Binary(U64, "add", e, x.Arg(U64, 1))
    p = program([s.MapSet("r", None, e)], maps=(MapDecl("r", None, U64),))
    with pytest.raises(LimitError):
        compile_program(p, (unit(),), Options(features=MODERN))


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("signed", [False, True])
def test_kernel_memory_is_read_alike_with_and_without_a_helper(size, signed):
    """The kernel's own code, which does not change, zeros in it; and addresses that cannot be read, which must be
    counted."""
    t = Int(size, signed)
    pair = Tuple((t, t))
    both = x.Pack(pair, tuple(x.Load(t, "kernel", x.Arg(U64, i)) for i in range(2)))
    p = program([s.MapSet("r", None, both)], maps=(MapDecl("r", None, pair),))
    text = kernel_text()
    seen = []
    for features in (NEW, untyped_reads() or NEW):
        with load(p, features) as loaded:
            got = []
            for at in range(0, 512, size):
                loaded.run(text + at, (text, 0, 4096, 1 << 63)[at // size % 4])
                got.append(loaded.map("r")[None])
            seen.append((got, loaded.counters()))
    assert seen[0] == seen[1]
    assert seen[0][1]["read"] == 512 // size * 3 // 4
