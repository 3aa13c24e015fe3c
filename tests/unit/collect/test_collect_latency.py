"""``latency A to B``: words, the program, and the kernel's own definitions that ask for the same."""

from __future__ import annotations

import pytest

from probescope.collect.ftrace.latency_tracer import cpu_mask
from probescope.collect.latency.definition import Impossible, define, shell
from probescope.collect.latency.program import program
from probescope.collect.latency.words import of_the_woken, parse
from probescope.errors import UsageError
from probescope.formats.tracing.event_format import parse_event_format
from probescope.model.latency import By, End

COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
)
WAKING = parse_event_format(
    f"name: sched_waking\nID: 1\nformat:\n{COMMON}"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n",
    "sched",
)
SWITCH = parse_event_format(
    f"name: sched_switch\nID: 2\nformat:\n{COMMON}"
    "\tfield:char next_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:__u32 weight;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:__data_loc char[] why;\toffset:32;\tsize:4;\tsigned:0;\n",
    "sched",
)
FIELDS = {e.name: [f.name for f in e.fields] for e in (WAKING, SWITCH)}
WORDS = "sched:sched_waking to sched:sched_switch"


def test_words():
    """Probes in full, predicates without their slashes, keys in pairs."""
    asked = parse(
        "t:sched:sched_waking /args.prio < 100/ to sched:sched_switch /cpu == 1 && pid / 2 > 3/",
        "pid=next_pid,cpu",
        "comm,start.prio",
    )
    assert asked.start == End("tracepoint:sched:sched_waking", "args.prio < 100", ("pid", "cpu"))
    assert asked.end == End("tracepoint:sched:sched_switch", "cpu == 1 && pid / 2 > 3", ("next_pid", "cpu"))
    assert asked.by == (By("comm"), By("prio", start=True))
    assert parse("kprobe:f to kr:f").start == End("kprobe:f", "", ("tid",))


@pytest.mark.parametrize(
    ("words", "match", "by"),
    [
        ("sched:sched_waking", "", ""),
        ("a to b", "", ""),
        (WORDS, "a=b,c=d,e=f,g=h", ""),
        (WORDS, "pid=", ""),
        (WORDS, "", "start."),
        (WORDS, "", "comm;exit"),
    ],
)
def test_words_that_make_no_sense(words, match, by):
    """Mistakes are told before anything is asked of the kernel."""
    with pytest.raises(UsageError):
        parse(words, match, by)


def test_whose_pairs():
    """A wake-up happens in the waker; what says who is meant, or is of one thread, is left alone."""
    assert of_the_woken(parse(WORDS)) == "--match pid=next_pid"
    assert of_the_woken(parse("sched:sched_wakeup to syscalls:sys_exit_read")) == "--match pid=tid"
    assert of_the_woken(parse(WORDS, "pid=next_pid")) == ""
    assert of_the_woken(parse("syscalls:sys_enter_read to syscalls:sys_exit_read")) == ""


def test_the_program():
    """The end comes first: where both are one event, an end is not its own start."""
    text = program(parse(WORDS, "pid=next_pid", "comm,start.prio"), lambda e: FIELDS[e])
    end, start = text.split("\n")[1:3], text.split("\n")[3]
    assert end[0] == "tracepoint:sched:sched_switch /has_key(@start, args.next_pid)/"
    assert "latency = nsecs - $s.0" in end[1]
    assert "comm = args.next_comm, by0 = args.next_comm, by1 = $s.1" in end[1]
    assert start == "tracepoint:sched:sched_waking { @start[args.pid] = (nsecs, args.prio); }"


def test_several_keys():
    """Together they are one key of the map."""
    text = program(parse(WORDS, "pid=next_pid,cpu"), lambda e: FIELDS[e])
    assert "/has_key(@start, (args.next_pid, cpu))/" in text
    assert "$s = @start[args.next_pid, cpu]; delete(@start[args.next_pid, cpu]);" in text
    assert "{ @start[args.pid, cpu] = nsecs; }" in text


def test_a_field_that_is_not_there():
    """The nearest names are told."""
    with pytest.raises(UsageError) as caught:
        program(parse(WORDS, "pid=nextpid"), lambda e: FIELDS[e])
    assert "next_pid" in " ".join(caught.value.hints)


def test_the_kernels_words():
    """A synthetic event's fields have the types of what they are given: the kernel compares them. The types that it
    does not know are taken by their size."""
    found = define(parse(WORDS, "pid=next_pid", "comm,start.prio,weight,cpu"), WAKING, SWITCH, ("prio < 100", ""))
    assert found.fields == "u64 latency; char comm[16]; char by0[16]; int by1; u32 by2"
    assert found.start == "hist:keys=pid:ts=common_timestamp,by1=prio:size=32768:clock=boot if prio < 100"
    assert found.end == (
        "hist:keys=next_pid:lat=common_timestamp-$ts:size=32768:clock=boot"
        ":onmatch(sched.sched_waking).trace({name},$lat,next_comm,next_comm,$by1,weight)"
    )
    assert (found.comm, found.by) == ("comm", ("by0", "by1", "by2", ""))


def test_by_thread():
    """Without fields to match, threads are what pairs have in common, and the record tells whose it is."""
    found = define(parse(WORDS, "", "comm,tid"), WAKING, SWITCH, ("", ""))
    assert found.start.startswith("hist:keys=common_pid:")
    assert found.end.startswith("hist:keys=common_pid:")
    assert (found.fields, found.comm, found.by) == ("u64 latency", "", ("", ""))


@pytest.mark.parametrize(("by", "filters"), [("why", ("", "")), ("nosuch", ("", "")), ("comm", (None, ""))])
def test_what_the_kernel_cannot_be_asked(by, filters):
    """Texts without a fixed size, fields that are not there, predicates beyond its filters: a program's business."""
    with pytest.raises(Impossible):
        define(parse(WORDS, "pid=next_pid", by), WAKING, SWITCH, filters)


def test_by_hand():
    """What sets it up, and what takes it away in the order that the kernel asks for: who reads variables goes first."""
    lines = list(shell(define(parse(WORDS, "pid=next_pid"), WAKING, SWITCH, ("", "")), "lat", "/t"))
    end = lines[3].removeprefix("echo '")
    assert lines[:2] == ["cd /t", "echo 'lat u64 latency; char comm[16]' >> synthetic_events"]
    assert lines[-4:-1] == [
        "echo 0 > events/synthetic/lat/enable",
        f"echo '!{end}",
        f"echo '!{lines[2].removeprefix(chr(101) + 'cho ' + chr(39))}",
    ]
    assert lines[-1] == "echo '!lat' >> synthetic_events"


def test_cpu_masks():
    """Words of 32 bits, the highest first."""
    assert cpu_mask([0, 1]) == "00000003"
    assert cpu_mask([33, 0]) == "00000002,00000001"
