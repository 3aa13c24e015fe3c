"""Calls from two streams, and from probes, against a walk over the calls themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.collect.ftrace.parameters import described
from probescope.collect.graph import functions
from probescope.collect.graph.mixed import below, in_order
from probescope.collect.graph.nesting import Nesting
from probescope.collect.graph.probed import program
from probescope.errors import ProbeError
from probescope.formats.tracing.calls import ENTRY, RETURN, CallColumns
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.model.types import Int, Void

KERNEL = 0xFFFF_0000_0000_0000
T = "/sys/kernel/tracing"

# a call: (of the kernel, calls inside); the kernel never calls a program
_kernel = st.deferred(lambda: st.tuples(st.just(True), st.lists(_kernel, max_size=2)))
_user = st.deferred(lambda: st.tuples(st.just(False), st.lists(st.one_of(_kernel, _user), max_size=3)))
_calls = st.lists(st.one_of(_kernel, _user), max_size=6)


def walked(calls, out, depth=0, above=False, root=0):
    """Rows (kind, func, own depth, depth in the whole, whether a program's function is around)."""
    for kernel, inside in calls:
        func = KERNEL + depth if kernel else 1 + depth
        own = depth - root if kernel else depth
        shown = above or not kernel
        out.append((ENTRY, func, own, depth, shown))
        walked(inside, out, depth + 1, above or not kernel, root if kernel else depth + 1)
        out.append((RETURN, func, own, depth, shown))
    return out


def columns(rows):
    """Rows of (time, kind, func, depth, tid)."""
    if not rows:
        return None
    time, kind, func, depth, tid = (list(c) for c in zip(*rows, strict=True))
    none = np.zeros(len(rows), np.uint64)
    return CallColumns(
        np.arange(len(rows)),
        np.array(kind, np.int8),
        np.zeros(len(rows), np.int64),
        np.array(tid, np.int64),
        np.array(time, np.uint64),
        np.array(func, np.uint64),
        np.array(depth, np.int64),
        none,
        None,
        none,
    )


@settings(max_examples=20)
@given(_calls, _calls, st.lists(st.integers(0, 80), max_size=4), st.randoms())
def test_two_streams_become_the_calls_that_were(first, second, cuts, random):
    """Two threads, whose calls of the program and of the kernel come by ways of their own, cut into batches."""
    threads = [[(*row, tid) for row in walked(calls, [])] for tid, calls in ((7, first), (8, second))]
    rows = []
    while any(threads):
        rows.append(random.choice([t for t in threads if t]).pop(0))
    timed = [(time, *row) for time, row in enumerate(rows)]
    want = [(time, kind, depth, tid) for time, kind, _, _, depth, shown, tid in timed if shown]
    got, open_ = [], {}
    bounds = [0, *sorted(cuts), len(timed)]
    for begin, end in itertools.pairwise(bounds):
        part = [(time, kind, func, own, tid) for time, kind, func, own, _, _, tid in timed[begin:end]]
        user, kernel = (columns([r for r in part if (r[2] >= KERNEL) is k]) for k in (False, True))
        if user is None and kernel is None:
            continue
        c = below(in_order(user, kernel), open_)
        got += zip(c.time.tolist(), c.kind.tolist(), c.depth.tolist(), c.tid.tolist(), strict=True)
    assert got == want


def test_at_one_moment_the_program_is_around_the_kernel():
    user = columns([(5, ENTRY, 1, 0, 7), (5, RETURN, 1, 0, 7)])
    kernel = columns([(5, ENTRY, KERNEL, 0, 7), (5, RETURN, KERNEL, 0, 7)])
    c = in_order(user, kernel)
    assert (c.func >= KERNEL).tolist() == [False, True, True, False]


def test_what_only_one_stream_tells_is_told_of_its_rows():
    user = columns([(1, ENTRY, 1, 0, 7), (4, RETURN, 1, 0, 7)])
    kernel = columns([(2, ENTRY, KERNEL, 0, 7), (3, RETURN, KERNEL, 0, 7)])
    kernel = CallColumns(
        **{n: getattr(kernel, n) for n in CallColumns.__slots__}
        | {"value": np.array([0, 9], np.uint64), "args": np.array([[1] * 6, [0] * 6], np.uint64)}
    )
    c = in_order(user, kernel)
    assert (c.value.tolist(), c.known.tolist()) == ([0, 0, 9, 0], [False, True, True, False])
    assert c.args.tolist() == [[0] * 6, [1] * 6, [0] * 6, [0] * 6]


@settings(max_examples=60)
@given(_calls)
def test_probed_calls_nest_as_they_were(calls):
    rows = walked(calls, [])
    sent = [(kind, 0, 7, time * 10) for time, (kind, *_) in enumerate(rows)]
    nesting = Nesting(lambda func: func >= KERNEL, below=True)
    depth, duration = nesting.nested(sent, [row[1] for row in rows])
    assert depth == [d if shown else -1 for _, _, _, d, shown in rows]
    began = {}
    for (kind, *_, deep, shown), (_, _, _, time), took in zip(rows, sent, duration, strict=True):
        if kind == ENTRY:
            began[deep] = time
        assert took == (time - began[deep] if kind == RETURN and shown else 0)


def test_calls_that_never_return_end_with_what_is_around_them():
    """longjmp: 2 and 3 are left for good as 1 returns."""
    sent = [(ENTRY, 0, 7, 0), (ENTRY, 0, 7, 1), (ENTRY, 0, 7, 2), (RETURN, 0, 7, 9), (ENTRY, 0, 7, 10)]
    nesting = Nesting(lambda _: False, below=False)
    assert nesting.nested(sent, [1, 2, 3, 1, 4]) == ([0, 1, 2, 0, 0], [0, 0, 0, 9, 0])


def test_levels_that_count():
    """Of all calls; or of the kernel's (100 and more) below the program's."""
    sent = [(kind, 0, 7, t) for t, kind in enumerate((ENTRY, ENTRY, ENTRY, RETURN, RETURN, RETURN))]
    plain = Nesting(lambda _: False, below=False, most=2)
    assert plain.nested(sent, [1, 2, 3, 3, 2, 1])[0] == [0, 1, -1, -1, 1, 0]
    mixed = Nesting(lambda f: f >= 100, below=True, most=1)
    assert mixed.nested(sent, [1, 100, 101, 101, 100, 1])[0] == [0, 1, -1, -1, 1, 0]


LIST = "vfs_read\nvfs_write\nfile_open [ext4]\next4_sync [ext4]\nfile_open [9p]\n__ftrace_invalid_address___8\n"


def fake():
    host = FakeHost(files={f"{T}/available_filter_functions": LIST})
    host.cache["tracefs"] = T
    return use_host(host)


@pytest.mark.parametrize(
    ("patterns", "named", "places"),
    [
        (["vfs_*"], ("vfs_*",), [0, 1]),
        (["ext4:file_*"], ("file_open",), [2]),
        ([":mod:ext4"], ("ext4_sync", "file_open"), [2, 3]),
        (["file_open:mod:9p", "vfs_read"], ("file_open", "vfs_read"), [0, 4]),
        (["file_open"], ("file_open",), [2, 4]),
    ],
)
def test_functions_in_modules(patterns, named, places):
    with fake():
        assert functions.named(patterns) == named
        assert functions.matching(patterns) == places


def test_all_functions_are_counted():
    with fake():
        assert functions.matching(["*"]) == [0, 1, 2, 3, 4]
        assert functions.expected(["*"], (), taste=True).text() == "5 functions will be traced"


@pytest.mark.parametrize(
    ("pattern", "said", "hint"),
    [
        ("ext:x", "no module ext", "ext4"),
        ("ext4:ext4_synk", "module ext4 has no function ext4_synk", "ext4:ext4_sync"),
    ],
)
def test_what_no_module_has(pattern, said, hint):
    with fake(), pytest.raises(ProbeError, match=said) as caught:
        functions.named([pattern])
    assert hint in " ".join(caught.value.hints)


def test_programs_ask_for_what_is_wanted_alone():
    text = program([("uprobe:/a:f", "uretprobe:/a:f")], retval=False)
    assert "retval" not in text
    text = program([("uprobe:/a:f", "uretprobe:/a:f"), ("kprobe:g", "kretprobe:g")], retval=True)
    assert text.count("printf") == 2
    assert text.count("retval") == 1


def test_arguments_by_their_types():
    """do_sys_openat2(AT_FDCWD, ...) as registers have it: an int's upper half is nobody's."""
    params = (("dfd", Int(4, True)), ("flags", Int(8, False)), ("p", Void()))
    assert described(params, (0xFFFFFF9C, 0x8000, 0, 0, 0, 0)) == "dfd=-100, flags=0x8000, p=0x0"
    assert described(params, (1, 2)) == "dfd=1, flags=0x2, ..."
    assert described(None, (1, 2)) == "0x1, 0x2"


def test_what_probes_cannot_do_is_told(monkeypatch):
    """Asked of fentry, options of function_graph's alone are left out, and said to be."""
    from probescope.collect.graph import probed, ways
    from probescope.collect.graph.request import ARGS, GraphRequest

    taken: list[tuple[str, str]] = []
    monkeypatch.setattr(probed, "ProbedCalls", lambda pairs, *_: taken.extend(pairs))
    said: list[str] = []
    request = GraphRequest(roots=("vfs_read",), via="fentry", notrace=("x",), options=(ARGS,), keep="t.dat")
    ways.calls(request, None, said.append)  # type: ignore[arg-type]
    assert taken == [("fentry:vfs_read", "fexit:vfs_read")]
    assert said == ["only function_graph has -n, --args, -o FILE.dat: left out"]
    said.clear()
    ways.calls(GraphRequest(roots=("vfs_read",), via="fentry", depth=2), None, said.append)  # type: ignore[arg-type]
    assert said == []
