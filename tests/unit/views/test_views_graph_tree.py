"""Function graphs as text: lines as kernel/trace/trace_functions_graph.c prints them (as its `trace` reads)."""

from __future__ import annotations

import pytest

from probescope.views.graph.tree import Look, Row, Tree, spent

NAMES = {1: "do_sys_openat2", 2: "getname", 3: "kfree", 9: "irq_work"}


def tree(**look):
    return Tree(NAMES.__getitem__, {7: "bash", 8: "sshd-session"}.__getitem__, 2, Look(**look))


def enter(func, depth, cpu=0, tid=7):
    return Row(cpu, tid, func, depth, False)


def leave(func, depth, duration, cpu=0, tid=7, value=None):
    return Row(cpu, tid, func, depth, True, duration, value)


def text(rows, **look):
    return "".join(tree(**look).feed(rows, final=True))


def test_a_call_within_a_call():
    rows = [enter(1, 0), enter(2, 1), leave(2, 1, 270), leave(1, 0, 12_345)]
    assert text(rows) == (
        " 0)               |  do_sys_openat2() {\n 0)   0.270 us    |    getname();\n 0) + 12.345 us   |  }\n"
    )


def test_durations_have_seven_digits_and_marks():
    """The kernel's own: $ 1 s, @ 100 ms, * 10 ms, # 1 ms, ! 100 us, + 10 us."""
    assert [spent(n) for n in (0, 999, 1000, 123_456, 1_234_567, 12_345_678, 123_456_789, 1_234_567_890_123)] == [
        "0.000 us    ",
        "0.999 us    ",
        "1.000 us    ",
        "123.456 us  ",
        "1234.567 us ",
        "12345.67 us ",
        "123456.7 us ",
        "1234567890 us ",
    ]
    marks = [
        text([leave(2, 0, n)])[4] for n in (10_000, 10_001, 100_001, 1_000_001, 10_000_001, 100_000_001, 10**9 + 1)
    ]
    assert "".join(marks) == " +!#*@$"


def test_a_brace_says_whose_it_is_when_its_opening_was_not_seen():
    assert text([leave(2, 1, 500)]) == " 0)   0.500 us    |    } /* getname */\n"
    assert text([enter(1, 0), enter(3, 1), leave(1, 0, 5)], tail=True).endswith("|  } /* do_sys_openat2 */\n")


def test_returned_values():
    """funcgraph-retval of Documentation/trace/ftrace.rst: errors in decimal, all else in hexadecimal."""
    rows = [
        enter(1, 0),
        enter(2, 1),
        leave(2, 1, 651, value=0xFFFF93FCFD346C00),
        leave(1, 0, 4369, value=(1 << 64) - 22),
    ]
    assert text(rows, values=True) == (
        " 0)               |  do_sys_openat2() {\n"
        " 0)   0.651 us    |    getname(); /* = 0xffff93fcfd346c00 */\n"
        " 0)   4.369 us    |  } /* do_sys_openat2 = -22 */\n"
    )


def test_another_thread_on_a_cpu_is_told():
    rows = [enter(2, 0), leave(2, 0, 1), enter(2, 0, tid=8), leave(2, 0, 1, tid=8), enter(2, 0, cpu=1)]
    assert text(rows) == (
        " 0)   0.001 us    |  getname();\n"
        " ------------------------------------------\n"
        " 0)     bash-7     =>   sshd-se-8   \n"
        " ------------------------------------------\n"
        "\n"
        " 0)   0.001 us    |  getname();\n"
        " 1)               |  getname() {\n"
    )


def test_cpus_are_not_mixed_up_and_entries_wait_for_what_follows():
    """A leaf is told by the next row of its own CPU, in whichever batch that comes."""
    t = tree()
    first = "".join(t.feed([enter(2, 0), enter(3, 0, cpu=1, tid=8)]))
    second = "".join(t.feed([leave(3, 0, 5, cpu=1, tid=8), leave(2, 0, 9)]))
    assert first == ""
    assert second == " 0)   0.009 us    |  getname();\n 1)   0.005 us    |  kfree();\n"


def test_an_entry_waits_once_only():
    t = tree()
    assert list(t.feed([enter(1, 0)])) == []
    assert "".join(t.feed([enter(3, 0, cpu=1, tid=8), leave(3, 0, 5, cpu=1, tid=8)])) == (
        " 0)               |  do_sys_openat2() {\n 1)   0.005 us    |  kfree();\n"
    )


def test_interrupts_are_between_arrows():
    rows = [enter(9, 1), enter(3, 2), leave(3, 2, 9), leave(9, 1, 50)]
    assert text(rows, irq=(9, 10)) == (
        " 0)   ==========> |\n"
        " 0)               |    irq_work() {\n"
        " 0)   0.009 us    |      kfree();\n"
        " 0)   0.050 us    |    }\n"
        " 0)   <========== |\n"
    )


def test_other_events_are_comments():
    assert text([Row(0, 7, 0, 0, False, text="sched_waking: comm=x")]) == (
        " 0)               |  /* sched_waking: comm=x */\n"
    )


def test_events_stand_at_the_depth_of_the_call_that_is_open():
    """As print_graph_comment has it: two deeper than that call, and not at all where it is the outermost."""
    event = Row(0, 7, 0, 0, False, text="sched_waking: comm=x")
    rows = [enter(1, 0), event, enter(2, 1), event, leave(2, 1, 9), event, leave(1, 0, 99)]
    comments = [line[21:] for line in text(rows).splitlines() if "/*" in line]
    assert comments == ["/* sched_waking: comm=x */", "    /* sched_waking: comm=x */", "/* sched_waking: comm=x */"]


HEADS = {  # of Linux 6.12, with these options
    "": "# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n",
    "proc": "# CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
    "# |     |    |           |   |                     |   |   |   |\n",
    "proc abstime": "#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
    "#      |          |     |    |           |   |                     |   |   |   |\n",
    "abstime noduration": "#     TIME        CPU               FUNCTION CALLS\n"
    "#      |          |                 |   |   |   |\n",
    "nocpu": "#  DURATION                  FUNCTION CALLS\n#   |   |                     |   |   |   |\n",
}


@pytest.mark.parametrize("options", HEADS)
def test_heads_are_the_kernels(options):
    look = {o.removeprefix("no"): not o.startswith("no") for o in options.split()}
    assert tree(**look).header() == "# tracer: function_graph\n#\n" + HEADS[options]


def test_columns_that_are_left_out():
    """Lines of Linux 6.12 with nofuncgraph-overhead and nofuncgraph-cpu, and with nofuncgraph-duration."""
    rows = [enter(1, 0), enter(2, 1), leave(2, 1, 2248), leave(1, 0, 12_017)]
    assert text(rows, overhead=False, cpu=False) == (
        "              |  do_sys_openat2() {\n  2.248 us    |    getname();\n  12.017 us   |  }\n"
    )
    assert text(rows, duration=False) == " 0) do_sys_openat2() {\n 0)   getname();\n 0) }\n"


def test_overruns_stand_behind_closing_braces():
    rows = [enter(1, 0), enter(2, 1), leave(2, 1, 100), leave(1, 0, 900)._replace(overrun=3)]
    assert text(rows, overrun=True).splitlines()[-2:] == [" 0)   0.900 us    |  }", " (Overruns: 3)"]


def test_errors_in_an_int_are_errors():
    """print_graph_retval: what an int returns has nothing in its upper half."""
    assert "/* = -2 */" in text([enter(2, 0), leave(2, 0, 5, value=0xFFFFFFFE)], values=True)
    assert "/* = 0xfffffffe */" in text([enter(2, 0), leave(2, 0, 5, value=0xFFFFFFFE)], values=True, hex=True)
    assert "/* ret=-2 */" in text([enter(2, 0), leave(2, 0, 5, value=0xFFFFFFFE)], values=True, ret=True)


def test_arguments_stand_between_the_brackets():
    def described(func, values):
        return f"{func}: {sum(values)}"

    t = Tree(NAMES.__getitem__, {7: "bash"}.__getitem__, 2, Look(), described)
    rows = [enter(1, 0)._replace(args=(1, 2)), enter(2, 1)._replace(args=(4, 5)), leave(2, 1, 5), leave(1, 0, 9)]
    lines = "".join(t.feed(rows, final=True)).splitlines()
    assert [line.rpartition("|  ")[2] for line in lines] == ["do_sys_openat2(1: 3) {", "  getname(2: 9);", "}"]


def test_threads_have_trees_of_their_own():
    """A thread that goes on on another CPU, while another one calls the same on its first."""
    rows = [enter(2, 0), enter(2, 0, tid=8), leave(2, 0, 30, cpu=1), leave(2, 0, 40, tid=8)]
    lines = text(rows, threads=True, proc=True).splitlines()
    assert [line.partition(")")[2] for line in lines] == [
        "     bash-7     |   0.030 us    |  getname();",
        "   sshd-se-8    |   0.040 us    |  getname();",
    ]
