"""`ftrace record` and its kin: what command lines of trace-cmd mean here, as plans; what is refused."""

from __future__ import annotations

import os

import pytest

from probescope.cli import ftrace
from probescope.cli.ftrace_options import DEFAULT_KB, split, trace_plan
from probescope.cli.ftrace_record import parser, record_plan, told
from probescope.cli.ftrace_report import forms
from probescope.collect.ftrace.record_plan import BufferPlan, CpuLoss, EventChoice, Recorded
from probescope.errors import UsageError
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat
from probescope.formats.tracing.symbols import Forms


def plan(*argv):
    return record_plan(split(parser(), argv))


def buffers(*argv):
    return plan(*argv).trace.buffers


def test_filters_and_triggers_are_of_the_event_before_them():
    """-f twice: both hold."""
    (b,) = buffers("-e", "sched", "-e", "irq:softirq_entry", "-f", "vec == 1", "-f", "vec < 9", "-R", "stacktrace")
    assert b.events == (
        EventChoice("sched"),
        EventChoice("irq:softirq_entry", "(vec == 1)&&(vec < 9)", ("stacktrace",)),
    )


def test_negated_events_come_after_v():
    (b,) = buffers("-e", "sched", "-v", "-e", "sched:sched_switch,sched:sched_waking")
    assert [(e.pattern, e.on) for e in b.events] == [
        ("sched", True),
        ("sched:sched_switch", False),
        ("sched:sched_waking", False),
    ]


def test_options_after_a_buffer_are_its_own():
    """And -v ends with the buffer, as in trace-cmd."""
    first, second = buffers("-e", "sched", "-v", "-e", "sched:x", "-b", "100", "-B", "two", "-e", "irq", "-C", "mono")
    assert first == BufferPlan("", events=(EventChoice("sched"), EventChoice("sched:x", on=False)), size_kb=100)
    assert second == BufferPlan("two", events=(EventChoice("irq"),), clock="mono", size_kb=DEFAULT_KB)


def test_a_buffer_alone_needs_no_other():
    (b,) = buffers("-B", "two", "-e", "irq")
    assert b.name == "two"


def test_functions_of_a_module():
    (b,) = buffers("-p", "function", "-l", "ext4_*", "--module", "ext4")
    assert b.functions == ("ext4_*:mod:ext4",)
    (b,) = buffers("-p", "function", "--module", "ext4")
    assert b.functions == ("*:mod:ext4",)


def test_stacks_and_options():
    (b,) = buffers("-p", "function", "-l", "f", "-O", "nosleep-time,sym-offset", "-T", "--func-stack", "-M", "0x3")
    assert b.options == ("nosleep-time", "sym-offset", "stacktrace", "func_stack_trace")
    assert b.cpumask == "3"


def test_the_command_has_options_of_its_own():
    made = plan("-e", "sched", "-F", "-c", "-P", "1,2", "-P", "3", "-m", "1000", "true", "-e", "x")
    assert made.command == ("true", "-e", "x")
    assert made.trace.pids == (1, 2, 3)
    assert made.trace.follow
    assert made.only_command
    assert made.max_kb == 1000


def test_we_are_left_out_but_where_it_is_asked():
    assert plan("-e", "sched").trace.without == (os.getpid(),)
    assert plan("-e", "sched", "--no-filter").trace.without == ()


@pytest.mark.parametrize(
    ("argv", "version", "compression"),
    [
        ((), 7, "zstd"),
        (("--file-version", "6"), 6, "none"),
        (("--compression", "zlib"), 7, "zlib"),
        (("--compression", "none"), 7, "none"),
        (("--compression", "any"), 7, "zstd"),
    ],
)
def test_files(argv, version, compression):
    made = plan("-e", "sched", *argv)
    assert (made.version, made.compression) == (version, compression)


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        ((), "what is to be recorded"),
        (("-f", "x == 1", "-e", "sched"), "-f is of the event before it"),
        (("-R", "stacktrace"), "-R is of the event before it"),
        (("-p", "function"), "freeze"),
        (("-p", "function_graph", "-n", "schedule"), "freeze"),
        (("-p", "function", "--yes-really", "--func-stack"), "stop the machine"),
        (("-p", "irqsoff"), "longest time"),
        (("-e", "sched", "-c"), "-c goes with -F or -P"),
        (("-e", "sched", "-F"), "there is none"),
        (("-e", "sched", "--user", "root"), "no command"),
        (("-e", "sched", "-b", "many"), "-b many"),
        (("-e", "sched", "-P", "1,x"), "-P x"),
        (("-e", "sched", "-b", "9" * 5000), "-b 999"),
        (("-e", "sched", "-M", "xyz"), "no mask"),
        (("-e", "sched", "-B", "../x"), "no name of a buffer"),
        (("-e", "sched", "-B", "a\nb"), "no name of a buffer"),
        (("-e", "sched", "--file-version", "6", "--compression", "zstd"), "not compressed"),
        (("-e", "sched", "-r", "100"), "-r 100"),
        (("-e", "sched", "no-such-program-here"), "no program"),
    ],
)
def test_what_makes_no_sense(argv, word):
    with pytest.raises(UsageError, match=word):
        plan(*argv)


@pytest.mark.parametrize("option", ["-N", "-A", "-t", "-k", "-H", "--profile", "--tsc2nsec", "--proxy"])
def test_what_is_not_here_has_something_instead(option):
    with pytest.raises(UsageError, match=f"has no {option}") as caught:
        plan("-e", "sched", option, "x")
    assert caught.value.hints[0]


def test_forms_of_functions_by_the_names_of_plugins():
    """With the plugin's name or without; on, if nothing is said."""
    assert forms(["parent", "ftrace:indent=0"]) == Forms(parent=True, indent=False)
    assert forms(["fgraph:tailprint=1", "depth=0", "offset"]) == Forms(tail=True, offset=True)
    for wrong in ("parnt", "ftrace:depth", "parent=2"):
        with pytest.raises(UsageError, match=wrong.partition("=")[0]) as caught:
            forms([wrong])
        assert "fgraph:tailprint" in caught.value.hints[0]


@pytest.mark.parametrize("word", ["listen", "agent", "mem", "hist", "profile", "reprot", "nonsense"])
def test_commands_that_are_not_here(word):
    with pytest.raises(UsageError) as caught:
        ftrace.main([word])
    assert caught.value.hints[0]


def test_every_function_is_traced_only_on_request():
    assert plan("-p", "function", "--yes-really").trace.unlimited
    assert not plan("-p", "function", "-l", "f").trace.unlimited
    assert not plan("-e", "sched").trace.unlimited


def test_set_and_start_share_the_options():
    args = ftrace.parse_arguments(["start", "-e", "sched", "-B", "x", "-e", "irq", "--", "sleep", "1"])
    assert args.command == ("sleep", "1")
    assert [b.name for b in trace_plan(args).buffers] == ["", "x"]


def test_losses_are_told_by_cpu():
    done = Recorded("t.dat", 1 << 20, 4096, 12345, losses=(CpuLoss("", 1, 5, 2), CpuLoss("x", 0, 1000, 0)))
    lines = told(done, quiet=False)
    assert lines[0] == "wrote t.dat: 12,345 events, 1.000 MB"
    assert "7 events of CPU 1 that" in lines[1]
    assert "1,000 events of CPU 0 of x" in lines[2]
    assert told(done, quiet=True) == lines[1:]


def test_times_of_split_are_in_their_order():
    """The other way round there is nothing between them: no file without events."""
    with pytest.raises(UsageError, match="1 is before 9"):
        ftrace.main(["split", "-i", os.devnull, "9", "1"])


def test_what_else_a_recording_tells(tmp_path, capsys):
    """Events by system, then name; addresses with sixteen digits, by address, no types, no ends of lines."""
    path = tmp_path / "t.dat"
    kind = 'name: {}\nID: {}\nformat:\n\nprint fmt: "x"\n'
    formats = {"ftrace": (), "jbd2": (kind.format("a", 301),), "jbd": (kind.format("z", 302), kind.format("b", 303))}
    head = Head(
        header_page="\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n",
        compression="none",
        formats=formats,
        kallsyms=b"ffffffffc0001000 t g\t[m]\nffffffff81000000 T f\n",
        printk=b'0xffffffff82000000 : "n=%d\\n"\n0xc0 : "x"\n',
    )
    with path.open("wb") as file:
        write_tracedat(file, head, [Pages("", {0: []})])
    told = {}
    for option in ("-E", "-f", "-P", "-p", "--uname"):
        assert ftrace.main(["report", option, str(path)]) == 0
        told[option] = capsys.readouterr().out.splitlines()
    assert told["-E"] == ["jbd:b", "jbd:z", "jbd2:a"]
    assert told["-f"] == ["ffffffff81000000 f", "ffffffffc0001000 g [m]"]
    assert told["-P"] == ["00000000000000c0 x", "ffffffff82000000 n=%d"]
    assert told["-p"][0].startswith("file page size is 4096, and host page size is ")
    assert told["--uname"] == ["cpus=1", " uname was not recorded in this file"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("sched", ["sched:sched_switch", "sched:sched_waking"]),
        ("SCHED", ["sched:sched_switch", "sched:sched_waking", "syscalls:sys_enter_sched_yield"]),
        (r"^irq\|WAK", ["sched:sched_waking", "irq:irq_handler_entry"]),
        ("^irq|waking", ["sched:sched_waking", "irq:irq_handler_entry"]),
        ("*:*_entry", ["irq:irq_handler_entry"]),
    ],
)
def test_listed_events(monkeypatch, capsys, pattern, names):
    """The first reading that means any is taken: a glob, a basic expression as trace-cmd's, an extended one."""
    known = ["sched:sched_switch", "sched:sched_waking", "irq:irq_handler_entry", "syscalls:sys_enter_sched_yield"]
    pairs = [tuple(name.split(":")) for name in known]
    monkeypatch.setattr("probescope.kernel.tracefs.available_events", lambda: pairs)
    assert ftrace.main(["list", "-e", pattern]) == 0
    assert capsys.readouterr().out.splitlines() == names
