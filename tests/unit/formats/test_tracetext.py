"""Lines of traces as text: heads, stacks, losses, function graphs, perf's stacks. Texts are the kernel's own forms
(kernel/trace/trace_output.c, trace_functions_graph.c) and perf script's."""

from __future__ import annotations

import io

import formats_tracetext as texts
import pytest

from probescope.errors import FormatError
from probescope.formats.sniff import kind_of
from probescope.formats.tracetext import heads, open_tracetext, pairs
from probescope.formats.tracetext.inverse import inverse
from probescope.formats.tracing.event_format import parse_event_format
from probescope.model.recording import LostEvents, Named

SWITCH = """name: sched_switch
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;

print fmt: "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", \
REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, "|", \
{ 0x01, "S" }, { 0x02, "D" }, { 0x10, "X" }) : "R", REC->prev_state & 0x100 ? "+" : "", REC->next_comm, REC->next_pid, \
REC->next_prio
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "          <idle>-0       [000] d.h..    52.011659: irq_handler_entry: irq=0 name=EXT",
            ("<idle>", 0, -1, 0, "d.h..", 52011659000, "irq_handler_entry: irq=0 name=EXT", ""),
        ),
        (
            " kworker/0:1-mm-12      (-------) [000] .....     1.000001: x: y",
            ("kworker/0:1-mm", 12, -1, 0, ".....", 1000001000, "x: y", ""),
        ),
        (
            " my task-12      (    11) [003] dNs4.     1.000001: x: y",
            ("my task", 12, 11, 3, "dNs4.", 1000001000, "x: y", ""),
        ),
        (
            "inner:             bash-12    [000] 1.000000001: x:                    y",
            ("bash", 12, -1, 0, "", 1000000001, "x:                    y", "inner"),
        ),
        # trace-cmd report -l, -R, -l -R, --raw-ts, --raw-ts -l: of trappy.v6, as 3.3.1 prints it
        (
            "  <idle>-0       3dN.2.  7615.709442: bprint: x",
            ("<idle>", 0, -1, 3, "dN.2.", 7615709442000, "bprint: x", ""),
        ),
        (
            "          <idle>-0     [003]-0x5  7615.709442: bprint: ip=0xc0",
            ("<idle>", 0, -1, 3, "-0x5", 7615709442000, "bprint: ip=0xc0", ""),
        ),
        (
            "  <idle>-0       3-0x5  7615.709442: bprint: x",
            ("<idle>", 0, -1, 3, "-0x5", 7615709442000, "bprint: x", ""),
        ),
        (
            "          <idle>-0     [003] dN.2.7615709442088: bprint: x",
            ("<idle>", 0, -1, 3, "dN.2.", 7615709442088, "bprint: x", ""),
        ),
        (
            "  <idle>-0       3dN.2.7615709442088: bprint: x",
            ("<idle>", 0, -1, 3, "dN.2.", 7615709442088, "bprint: x", ""),
        ),
        ("    bash-1234      2d..2.  174us+: a <-b", ("bash", 1234, -1, 2, "d..2.", 174000, "a <-b", "")),
        (
            "            bash  1234   2 0 d..2. 00000000 00000012 [0000beef]  174.123ms (+0.001ms): a <-b",
            ("bash", 1234, -1, 2, "d..2.", 174123000, "a <-b", ""),
        ),
        ("  bash-7   [001] ....  123456: x: y", ("bash", 7, -1, 1, "....", 123456, "x: y", "")),
    ],
)
def test_heads(line: str, wanted: tuple[object, ...]) -> None:
    """Every form of what stands before an event: flags or none, thread groups, instances, latency-format, counters."""
    found = heads.head(line)
    assert found is not None
    assert (found.comm, found.tid, found.tgid, found.cpu, found.flags, found.time, found.rest, found.buffer) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("CPU:3 [LOST 12 EVENTS]", (3, 12)),
        ("CPU:3 [LOST EVENTS]", (3, 0)),
        ("CPU:0 [EVENTS DROPPED]", (0, 0)),
        ("CPU:1 [70000 EVENTS DROPPED]", (1, 70000)),
        ("bash-1 [000] 1.0: x: CPU:1 [LOST 3 EVENTS]", None),
    ],
)
def test_losses(line: str, wanted: tuple[int, int] | None) -> None:
    """The kernel's words and trace-cmd's."""
    assert heads.lost(line) == wanted


def test_flags_in_hexadecimal() -> None:
    """As trace-cmd report -R prints them: interrupts off, and rescheduling needed; no depths."""
    assert heads.bits("-0x5") == heads.bits("dN...") == (5, 0)


def test_pairs() -> None:
    """Values with blanks go up to the next name; units and brackets are no part of them."""
    assert pairs.pairs("comm=a b pid=3 runtime=17 [ns] ==> next=x") == {
        "comm": "a b",
        "pid": "3",
        "runtime": "17",
        "next": "x",
    }
    assert pairs.pairs("dfd: 0xffffff9c, filename: 0x7f, flags: 0x0") == {
        "dfd": "0xffffff9c",
        "filename": "0x7f",
        "flags": "0x0",
    }
    assert [pairs.number(t) for t in ("-12", "0x1f", "abc", "17 bytes", "ffff888812345678")] == [
        -12,
        31,
        None,
        17,
        0xFFFF888812345678,
    ]


def test_print_format_backwards() -> None:
    """Flags and marks of one field come from two places of the text; what is not of the format is not read."""
    found = inverse(parse_event_format(SWITCH, "sched"))
    assert found is not None
    text = "prev_comm=a b prev_pid=7 prev_prio=-1 prev_state={} ==> next_comm=c next_pid=8 next_prio=120"
    for state, value in (("R", 0), ("R+", 0x100), ("S", 1), ("D|X", 0x12)):
        values = found.values(text.format(state))
        assert values is not None
        assert values.get("prev_state", 0) == value
        assert (values["prev_comm"], values["prev_pid"], values["prev_prio"], values["next_pid"]) == ("a b", 7, -1, 8)
    assert found.values("something else") is None
    assert found.values(text.format("?")) is None


KERNEL = """# tracer: nop
#
# entries-in-buffer/entries-written: 5/5   #P:4
#
            bash-1234    [002] d..2.  2084.021659: sched_switch: prev_comm=bash prev_pid=1234 prev_prio=120 \
prev_state=S ==> next_comm=swapper/2 next_pid=0 next_prio=120
            bash-1234    [002] d..2.  2084.021700: <stack trace>
 => __schedule
 => schedule+0x23/0x60
 => vfs_read [ext4]
CPU:1 [LOST 12 EVENTS]
          <idle>-0       [001] .....  2084.021800: tracing_mark_write: hello: world
          <idle>-0       [001] .....  2084.021900: vfs_write <-ksys_write
            bash-1234    [002] .....  2084.021950: my_driver: took 3
some other line
"""


def test_kernel_text() -> None:
    """Stacks, losses in their place, markers and functions; what is nothing is counted."""
    switch = parse_event_format(SWITCH, "sched")
    found = texts.of_trace(KERNEL, lambda name: switch if name == "sched_switch" else None)
    assert [e.name for e in found.events] == [
        "sched:sched_switch",
        "ftrace:kernel_stack",
        "ftrace:print",
        "ftrace:function",
    ]
    rows = list(texts.rows(found))
    assert rows[0][4]["prev_state"] == 1
    assert rows[0][4]["next_comm"] == "swapper/2"
    assert rows[2][4]["buf"] == "hello: world"
    batch = next(found.batches())
    assert [(i, r.cpu, r.count) for i, r in batch.between if isinstance(r, LostEvents)] == [(2, 1, 12)]
    assert found.machine.cpus == 4
    assert [(d.kind, d.count) for d in found.damage] == [("line", 1)]
    lines = texts.printed(found)
    assert lines[2:6] == [
        "            bash-1234  [002] d..2.  2084.021700: kernel_stack:         <stack trace >",
        *(f"=> {name.partition(' ')[0]} ({address:x})" for name, address in _frames(found)),  # as trace-cmd has it
    ]
    assert "print:                tracing_mark_write: hello: world" in lines[7]
    assert "print:                my_driver: took 3" in lines[9], "what this kernel has no event for was printed"


def _frames(found: texts.TraceText) -> list[tuple[str, int]]:
    raw = bytes.fromhex(next(r[4]["caller"] for r in texts.rows(found) if r[0] == "ftrace:kernel_stack"))
    addresses = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8)]
    named = [(found.symbols.name(a), a) for a in addresses]
    assert [(n[0], a - n[1]) for n, a in named if n] == [("__schedule", 0), ("schedule", 0x23), ("vfs_read [ext4]", 0)]
    return [(n[0], a) for n, a in named if n]


def test_events_that_this_kernel_has_not() -> None:
    """In trace-cmd's columns they are events: what was printed is called `print` there."""
    line = "  bash-1234  [002]  2084.021950: vma_store:            mt_mod 0x1, STORE\n"
    found = texts.of_trace(line, lambda _: None)
    assert [e.name for e in found.events] == ["vma:vma_store"]
    assert [r[4]["text"] for r in texts.rows(found)] == ["mt_mod 0x1, STORE"]


GRAPH = """# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)    bash-7    =>   ls-8
 ------------------------------------------

 0)               |  ksys_read() {
 0)   2.928 us    |    __fget_light();
 0)               |    /* sched_waking: comm=x pid=3 */
 0)               |    vfs_read() {
 0) + 15.235 us   |    }
 0) # 4632.527 us |  } /* ksys_read */
 1) ! 147.483 us  |  } /* outside */
"""


def test_who_was_there_at_first() -> None:
    """The task before the first change of tasks is told by that change."""
    text = "# tracer: function_graph\n 0)   1.000 us    |  a();\n 0)    ls-8    =>  cat-9\n 0)   1.000 us    |  b();\n"
    found = texts.of_trace(text)
    assert [(r[0].rpartition("_")[2], r[3]) for r in texts.rows(found)] == [
        ("entry", 8),
        ("exit", 8),
        ("entry", 9),
        ("exit", 9),
    ]
    assert found.comms == {8: "ls", 9: "cat"}


def test_function_graph_without_times() -> None:
    """Time is what calls took; leaves end after what they took; what began before the trace ends in it."""
    found = texts.of_trace(GRAPH)
    rows = [(n.rpartition(":")[2], t, tid, f.get("depth"), f) for n, t, _, tid, f in texts.rows(found)]
    assert [(n, t, tid, d) for n, t, tid, d, _ in rows] == [
        ("funcgraph_entry", 0, 8, 0),
        ("funcgraph_entry", 0, 8, 1),
        ("funcgraph_exit", 2928, 8, 1),
        ("sched_waking", 2928, 8, None),
        ("funcgraph_entry", 2928, 8, 1),
        ("funcgraph_exit", 18163, 8, 1),
        ("funcgraph_exit", 4632527, 8, 0),
        ("funcgraph_exit", 4632527, -1, 0),
    ]
    assert [f["rettime"] - f["calltime"] for n, _, _, _, f in rows if n == "funcgraph_exit"] == [
        2928,
        15235,
        4632527,
        147483,
    ]


CUT = """# tracer: function_graph
#
#     TIME        CPU  DURATION                  FUNCTION CALLS
#      |          |     |   |                     |   |   |   |
   10.000020 |   0)   1.000 us    |      hook();
   10.000030 |   0) + 20.000 us   |    } /* security_alloc */
   10.000031 |   0)               |    dentry_open() {
   10.000032 |   0)               |      inner() {
   10.000090 |   0) + 70.000 us   |    } /* ovl_dir_open [overlay] */
   10.000091 |   0) ! 110.000 us  |  } /* vfs_open = 0x0 */
"""


def test_calls_whose_begin_was_lost() -> None:
    """What the kernel overwrote: the closing brace has the name, and how long it took, also below other depths."""
    recording = texts.of_trace(CUT)
    ends = [r[4] for r in texts.rows(recording) if r[0].endswith("exit")]
    names = [(recording.context().function(f["func"]) or ("", 0))[0] for f in ends]
    assert names == ["hook", "security_alloc", "ovl_dir_open [overlay]", "vfs_open"]
    assert [f["rettime"] - f["calltime"] for f in ends] == [1_000, 20_000, 70_000, 110_000]


@pytest.mark.parametrize(
    "line",
    [
        " 2084.021659 |   0)   bash-1234    |   0.523 us    |    mutex_unlock();",
        " 0)   bash-1234    |  d..1. |   0.523 us    |    mutex_unlock(); /* = 0x0 */",
        " 2084.021659 |   1)  work.sh-151   |     mutex_unlock();",
        " 2084.021659 |   work.sh-151   |  d.s.. |     mutex_unlock();",
        " 0)   0.523 us    |    mutex_unlock [mod](lock=0xffff, n=(1)); /* <-caller ret=-22 */",
        "             bash-1234  [000]     1.000001: funcgraph_entry:        0.523 us   |      mutex_unlock();",
    ],
)
def test_columns_of_function_graphs(line: str) -> None:
    """All columns that the tracer's options bring."""
    rows = list(texts.rows(texts.of_trace(f"# tracer: function_graph\n{line}\n")))
    assert [r[0] for r in rows] == ["ftrace:funcgraph_entry", "ftrace:funcgraph_exit"]
    assert [r[4]["depth"] for r in rows] == [2 if "work" in line or "funcgraph" in line else 1] * 2
    assert rows[1][4]["rettime"] - rows[1][4]["calltime"] == (523 if " us " in line else 0)
    if "-22" in line:
        assert rows[1][4]["retval"] == (1 << 64) - 22


PERF = """# ========
# hostname : box
# arch : x86_64
# ========
#
ls -l   100/101   [002]   10.500000:     250000 cpu-clock:u: \n\
\t    7f04f3464b70 main+0x10 (/usr/bin/ls)
\t    7f04f3464b70 inner (inlined)
\t    7f04f3464b99 outer(int, char*)+0x5 (/usr/bin/ls)
\tffffffff8177539a elf_load+0x28a ([kernel.kallsyms])

a task     7  [000]    10.500001: sched:sched_waking: comm=x pid=3 prio=120
ls   100/100   [002]   10.500002:  1 page-faults:      ee137 [unknown] (/lib/libc.so.6)
"""


def test_perf_script_text() -> None:
    """Heads with and without processes and periods, stacks with inlined calls, the place alone, names of threads."""
    found = texts.of_perf(PERF)
    assert [e.name for e in found.events] == ["cpu-clock:u", "page-faults", "sched:sched_waking"]
    assert found.machine.hostname == "box"
    batch = next(found.batches())
    assert batch.pid.tolist() == [100, 7, 100]
    assert batch.tid.tolist() == [101, 7, 100]
    assert batch.period.tolist() == [250000, 1, 1]
    assert batch.time.tolist() == [10_500_000_000, 10_500_001_000, 10_500_002_000]
    assert [(r.tid, r.comm) for _, r in batch.between if isinstance(r, Named)] == [
        (101, "ls -l"),
        (7, "a task"),
        (100, "ls"),
    ]
    assert batch.stacks is not None
    addresses = [a for a in batch.stacks.piece(0).tolist() if a < (1 << 64) - 4095]
    names = [[f.name for f in found.frame_names[-1 if a >> 63 else 100, a]] for a in addresses]
    assert names == [["main"], ["inner", "outer(int, char*)"], ["elf_load"]]
    assert batch.numbers["ip"].tolist()[2] == 0xEE137
    assert found.damage == ()


def test_what_a_programs_stack_holds_is_not_the_kernels() -> None:
    """Code without frame pointers leaves anything on the stack; perf prints what it was taken for as it is."""
    head = "ls 100/100 [002] 10.500000: 1 cpu-clock: \n"
    frames = ("ffffffff8177539a elf_load+0x28a ([kernel.kallsyms])", "7f04f3464b70 main+0x10 (/usr/bin/ls)")
    found = texts.of_perf(
        head + "".join(f"\t{x}\n" for x in (*frames, "e8c78948ffffffff [unknown] ([unknown])")) + "\n"
    )
    batch = next(found.batches())
    assert batch.stacks is not None
    kernel, program = (1 << 64) - 128, (1 << 64) - 512  # PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER
    assert batch.stacks.piece(0).tolist() == [
        kernel, 0xFFFFFFFF8177539A, program, 0x7F04F3464B70, 0xE8C78948FFFFFFFF,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"PERFILE2....", "perf.data"),
        (b"\x17\x08\x44tracing6\0", "trace.dat"),
        (KERNEL.encode(), "text of ftrace"),
        (b"cpus=2\n", "text of ftrace"),
        (GRAPH.encode(), "text of ftrace"),
        (PERF.encode(), "text of perf"),
        (b"main;foo;bar 12\nmain;foo 3\n", ""),
        (b"perf;start_thread;[libc.so] 1.5\n", ""),
        (b"", ""),
        (b"\0\0\0\0", ""),
    ],
)
def test_kinds(start: bytes, kind: str) -> None:
    """What is folded text, or nothing, must not be taken for a trace."""
    assert kind_of(start) == kind


@pytest.mark.parametrize(
    ("text", "word"),
    [("# tracer: nop\n\n", "no line"), ("# tracer: nop\n1234 0 123456789 3 4\n", "raw"), ("", "no line")],
)
def test_texts_without_events(text: str, word: str) -> None:
    """A typed error that says what it is."""
    with pytest.raises(FormatError, match=word):
        open_tracetext(io.BytesIO(text.encode()))
