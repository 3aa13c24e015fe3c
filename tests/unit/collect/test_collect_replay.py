"""Programs on recordings. Expected values are worked out by hand from the events of each recording."""

import struct

import pytest

from probescope.errors import ScriptError, UsageError
from probescope.model.output import Lost
from probescope.model.recording import Damage, EventType, LostEvents, Machine, Named, RawField
from tests.support.stream_recording import Made, One, replay, tracepoint

OPEN = tracepoint(
    "demo:open",
    7,
    RawField("size", "u32", 8, 4, False),
    RawField("delta", "short", 12, 2, True),
    RawField("name", "char", 14, 8, False, 8),
    RawField("where", "char", 22, 4, False, 0, "data"),
    RawField("parts", "u16", 26, 6, False, 3),
)
CLOSE = tracepoint("demo:close", 8)
CLOCK = EventType("cpu-clock:ppp", sampled=frozenset({"time", "cpu", "tid", "ip", "callchain"}))


def opened(size=0, delta=0, name=b"", where=b"", parts=(0, 0, 0)):
    """The bytes after the common ones; ``where`` lies at the record's end, at offset 32."""
    word = len(where) + 1 << 16 | 32
    return struct.pack("<Ih8sI3H", size, delta, name, word, *parts) + where + b"\0"


def made(*ones, events=(OPEN, CLOSE, CLOCK), **more):
    return Made(events, [list(ones)], **more)


def test_fields_have_the_types_that_the_recording_describes():
    """Sizes and signs of integers, texts in place and elsewhere in the record, arrays."""
    raw = opened(0xFFFFFFFF, -3, b"abc\0junk", b"/tmp/x", (1, 2, 65535))
    program = """tracepoint:demo:open {
        printf("%u %d %s|%s %d\\n", args.size, args.delta, args.name, args.where, args.parts[2]); }"""
    assert replay(program, made(One(5, raw=raw))).text == "4294967295 -3 abc|/tmp/x 65535\n"


def test_who_and_when():
    """pid, tid, cpu, nsecs and elapsed of each event; names as side-band tells them at that moment."""
    first, second = One(1000, pid=10, tid=11, cpu=1), One(3500, pid=10, tid=11)
    recording = made(Named(pid=10, tid=11, comm="old"), first, Named(pid=10, tid=11, comm="new"), second)
    program = 'tracepoint:demo:open { printf("%s %d %d %d %d %d\\n", comm, pid, tid, cpu, nsecs, elapsed); }'
    assert replay(program, recording).text == "old 10 11 1 1000 0\nnew 10 11 0 3500 2500\n"


def test_idle_threads_have_the_kernels_names():
    """Side-band calls them all swapper; a program in the kernel sees swapper/CPU."""
    recording = Made((OPEN,), [[One(1, pid=0, cpu=0), One(2, pid=0, cpu=3)]])
    assert set(replay("tracepoint:demo:open { @[comm] = count(); }", recording).map()) == {"swapper/0", "swapper/3"}


def test_aggregations_and_control_flow_in_columns_and_rows():
    """The same numbers, whether a clause runs in columns or (here: it prints) a row at a time."""
    ones = [One(i, pid=i % 3 + 1, raw=opened(i, name=b"a" if i % 2 else b"b")) for i in range(100)]
    body = """@n[args.name, pid] = count(); @s = sum(args.size); @a = avg(args.size); @h = hist(args.size);
        @l = lhist(args.size, 0, 100, 10); $x = args.size; if ($x > 50) { @big++; }"""
    columns = replay(f"tracepoint:demo:open /args.size != 7/ {{ {body} }}", made(*ones))
    rows = replay(f'tracepoint:demo:open /args.size != 7/ {{ {body} printf(""); }}', made(*ones))
    for name in "n", "s", "a", "h", "l", "big":
        assert columns.map(name) == rows.map(name)
    assert columns.map("s") == {None: 4950 - 7}
    assert columns.map("big") == {None: 49}
    assert columns.map("n")["a", 2] == 16  # odd numbers that leave 1 when divided by 3: 1, (7), 13, 19... 97


def test_latencies_by_thread():
    """A map that one clause writes and another reads keeps the order of events."""
    recording = made(One(100, 0, 5), One(150, 0, 6), One(170, 1, 5), One(400, 1, 6), One(500, 1, 7))
    program = """tracepoint:demo:open { @start[tid] = nsecs; }
        tracepoint:demo:close /@start[tid]/ { @[tid] = nsecs - @start[tid]; delete(@start, tid); }"""
    assert replay(program, recording).map() == {5: 70, 6: 250}


def test_intervals_go_by_the_time_of_events():
    """Fired at 1 s and 2 s after the first event, before what comes later; not after the last event."""
    at = [0, 0.4, 1.2, 1.3, 2.9]
    recording = made(*(One(1_000_000_000 + int(t * 1e9)) for t in at))
    program = """tracepoint:demo:open { @ = count(); } interval:s:1 { print(@); clear(@); printf("%llu\\n", elapsed); }
        begin { printf("%llu\\n", nsecs); } end { printf("%llu\\n", elapsed); clear(@); }"""
    from probescope.model.output import MapOut

    said = replay(program, recording)
    assert [dict(o.items)[None] for o in said.outputs if isinstance(o, MapOut)] == [2, 2]
    assert said.text == "1000000000\n1000000000\n2000000000\n2900000000\n"


def test_an_endless_gap_between_events_is_cut():
    """Two events years apart must not run an interval of a millisecond for each of them; what is left out is told."""
    recording = made(One(0), One(1 << 62))
    said = replay("tracepoint:demo:open { @ = count(); } interval:ms:1 { @i++; }", recording)
    assert said.map("i") == {None: 10_000}
    (lost,) = (o for o in said.outputs if isinstance(o, Lost))
    assert lost.kind == "intervals"
    assert lost.count + 10_000 == (1 << 62) // 1_000_000


def test_a_program_ends_where_it_says_so():
    """exit() stops at that event; what was counted until then is printed."""
    recording = Made((OPEN,), [[One(i, raw=opened(i)) for i in range(10)], [One(20)]])
    said = replay("tracepoint:demo:open { @ = count(); } tracepoint:demo:open /args.size == 4/ { exit(3); }", recording)
    assert (said.code, said.map()) == (3, {None: 5})
    assert recording.closed


def test_samples_of_a_clock_answer_profile():
    """And stacks are those that were recorded, the kernel's and the user's apart, cut to their depth."""
    marks = {"kernel": (1 << 64) - 128, "user": (1 << 64) - 512}
    stack = (marks["kernel"], 0xFFFF800000000010, 0xFFFF800000000020, marks["user"], 0x400000, 0x400100)
    recording = made(One(1, 2, stack=stack), One(2, 2, stack=stack), One(3, 2))
    said = replay("profile:hz:99 { @k[kstack(1)] = count(); @u[ustack] = count(); }", recording)
    kernel = {tuple(f.address for f in k.frames): n for k, n in said.map("k").items()}
    user = {tuple(f.address for f in k.frames): n for k, n in said.map("u").items()}
    assert kernel == {(0xFFFF800000000010,): 2, (): 1}
    assert user == {(0x400000, 0x400100): 2, (): 1}


def test_one_process():
    """-p takes its events only, wherever the process is now."""
    recording = made(One(1, pid=10), One(2, pid=11), One(3, pid=10))
    assert replay("tracepoint:demo:open { @[pid] = count(); }", recording, pid=10).map() == {10: 2}


def test_losses_and_damage_are_told():
    """A recording that lacks events must not look as if it had them all; what is counted twice is told once."""
    lost = LostEvents(count=5), LostEvents(count=5, kind="lost_samples"), LostEvents(count=2)
    recording = made(One(1), *lost, damage=(Damage("sample", "samples that are short", 64, 3),))
    said = replay("tracepoint:demo:open { @ = count(); }", recording)
    assert [(o.kind, o.count) for o in said.outputs if isinstance(o, Lost)] == [("lost", 7), ("damage", 3)]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("tracepoint:demo:opened { @ = count(); }", "No matches for tracepoint demo:opened"),
        ("kprobe:vfs_read { @ = count(); }", "No matches for kprobe vfs_read"),
        ("fentry:vfs_read { @ = count(); }", "No matches for fentry vfs_read"),
        ("hardware:cycles:1 { @ = count(); }", "No matches for hardware cycles"),
        ("tracepoint:demo:open { @[uid] = count(); }", "uid: of the current task"),
        ("tracepoint:demo:open { @[kstack] = count(); }", "stacks were not recorded"),
        ("tracepoint:demo:open { @[str(args.size)] = count(); }", "it reads kernel memory"),
        ("tracepoint:demo:open { signal(9); }", "signal() changes the traced system"),
        ('tracepoint:demo:open { system("true"); }', "system() would act now"),
        ('end { system("true"); }', "system() would act now"),
        ("tracepoint:demo:open { @[cgroup] = count(); }", "cgroup was not recorded"),
        ("tracepoint:demo:open { @ = nsecs(tai); }", "nsecs(tai): events have times of one clock"),
        ('tracepoint:demo:open { @[strftime("%H", nsecs)] = count(); }', "does not tell the time of day"),
        ("tracepoint:demo:open { print(args.nothing); }", "nothing"),
    ],
)
def test_what_a_recording_cannot_answer_is_refused_with_the_reason(program, why):
    """Before anything runs, and never by a traceback."""
    with pytest.raises(ScriptError) as e:
        replay(program, made(One(1)), unsafe=True)
    assert any(why in text for d in e.value.diagnostics for text in (d.message, *d.hints))


def test_a_missing_probe_is_told_with_those_that_are_there():
    """The nearest first."""
    with pytest.raises(ScriptError) as e:
        replay("tracepoint:demo:opne { @ = count(); }", made(One(1)))
    hints = e.value.diagnostics[0].hints
    assert "did you mean tracepoint:demo:open?" in hints
    assert "recorded: tracepoint:demo:open, tracepoint:demo:close, software:cpu-clock" in hints


def test_threads_without_processes():
    """ftrace's records tell a thread alone: pid is refused, tid is there."""
    recording = Made((EventType("demo:open", 7, OPEN.fields),), [[One(1, pid=-1, tid=5)]])
    assert replay("tracepoint:demo:open { @[tid] = count(); }", recording).map() == {5: 1}
    with pytest.raises(ScriptError, match="tells threads alone"):
        replay("tracepoint:demo:open { @[pid] = count(); }", recording)
    with pytest.raises(ScriptError, match="tells threads, not their processes"):
        replay("tracepoint:demo:open { @[tid] = count(); }", recording, pid=4)


def test_a_thread_that_has_exited_is_known_by_its_record():
    """perf gives it -1 for numbers; the record's common_pid is the thread."""
    ones = One(1, pid=50, tid=51), One(2, pid=-1, tid=-1)
    recording = made(*ones)
    found = recording.batches

    def batches():
        for b in found():
            b.raw.values[b.raw.start[1] + 4 : b.raw.start[1] + 8] = list(struct.pack("<i", 51))
            yield b

    recording.batches = batches  # type: ignore[method-assign]
    assert replay("tracepoint:demo:open { @[pid, tid] = count(); }", recording).map() == {(50, 51): 2}


def test_records_of_other_machines():
    """Big-endian numbers, of the size that they were recorded in."""
    event = tracepoint("demo:big", 9, RawField("n", "u32", 8, 4, False), RawField("a", "s16", 12, 4, True, 2))
    one = One(1, raw=struct.pack(">I2h", 0x01020304, -2, 300))
    recording = Made((event,), [[one]], Machine(arch="s390x", big_endian=True))
    program = 'tracepoint:demo:big { printf("%x %d %d\\n", args.n, args.a[0], args.a[1]); }'
    assert replay(program, recording).text == "1020304 -2 300\n"


def test_globs_and_the_name_of_the_probe():
    """Each kind of event fires its own site."""
    recording = made(One(1), One(2, 1), One(3, 1))
    found = replay("tracepoint:demo:* { @[probe, func] = count(); }", recording).map()
    assert found == {("tracepoint:demo:open", "open"): 1, ("tracepoint:demo:close", "close"): 2}


def test_rawtracepoints_are_the_same_places():
    assert replay("rawtracepoint:open { @ = count(); }", made(One(1), One(2, 1))).map() == {None: 1}


def test_an_empty_recording():
    """begin and end run all the same."""
    said = replay('begin { printf("a"); } tracepoint:demo:open { @ = count(); } end { printf("b"); }', made())
    assert (said.text, said.map()) == ("ab", {})


@pytest.mark.parametrize("more", [{"command": "ls"}, {"follow": True}, {"via": "bpf"}, {"mode": "test"}])
def test_options_that_mean_nothing_for_a_recording_are_refused(more):
    from probescope.api import Request, build

    with pytest.raises(UsageError):
        build(Request("begin { exit(); }", input="perf.data", **more))


def test_what_is_printed_as_columns():
    """Live sessions give numpy columns; a clause that reads maps gives the same as one that does not."""
    from probescope.live import LiveSession
    from probescope.model.output import Batch
    from probescope.recorded import build_on

    ones = [One(i, pid=i % 3 + 1, raw=opened(i, name=b"a" if i % 2 else b"b", parts=(i, 0, 1))) for i in range(50)]
    said = "print((n=args.size, name=args.name, who=(pid, comm), parts=args.parts));"
    found = []
    for body in (said, f"@x = 1; if (@x) {{ {said} }}"):
        from probescope.api import Request

        text = f'tracepoint:demo:open /args.size > 4/ {{ {body} }} end {{ print((n=1, done=true)); printf("end"); }}'
        with LiveSession(build_on(Request(text, input="made", environment={}), made(*ones))) as session:
            found.append([b for b in session.batches() if isinstance(b, Batch)])
    for batches in found:
        events, done, end = batches
        assert (len(events), len(done), len(end)) == (45, 1, 1)
        assert list(events.columns) == ["n", "name", "value2", "value3", "parts"]
        assert events.columns["n"].tolist() == list(range(5, 50))
        assert events.columns["name"].tolist() == ["a" if i % 2 else "b" for i in range(5, 50)]
        assert events.columns["parts"][0].tolist() == [5, 0, 1]
        assert done.columns["done"].tolist() == [True]
    assert list(found[0][0].columns) == list(found[1][0].columns)
