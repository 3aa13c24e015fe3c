"""Attach points: text to ``ProbeSpec``, for every source and every spelling of the manual."""

from __future__ import annotations

import pytest

from probescope.lang.bt.attachpoint import FORMS, parse
from probescope.lang.bt.pointtext import PointError
from probescope.model.probe import SOURCES


def fields(text: str, params: tuple[str, ...] = (), *, pid: bool = False) -> dict[str, object]:
    """The fields of the one spec that differ from their defaults."""
    (spec,) = parse(text, params, pid=pid)
    names = "source target name namespace offset address unit value length mode language line column alias".split()
    found = {n: getattr(spec, n) for n in names}
    return {n: v for n, v in found.items() if v not in ("", None) and (v != 0 or n == "address")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("begin", {"source": "begin"}),
        ("BEGIN", {"source": "begin"}),
        ("End", {"source": "end"}),
        ("begin:*", {"source": "begin"}),
        ("self:signal:SIGUSR1", {"source": "self", "target": "signal", "name": "SIGUSR1"}),
        ("test:a", {"source": "test", "name": "a"}),
        ("bench:a", {"source": "bench", "name": "a"}),
        ("k:f", {"source": "kprobe", "name": "f"}),
        ("kprobe:f+0x10", {"source": "kprobe", "name": "f", "offset": 16}),
        ('k:"fn.abc"+1', {"source": "kprobe", "name": "fn.abc", "offset": 1}),
        ("kprobe:kvm:f", {"source": "kprobe", "target": "kvm", "name": "f"}),
        ("kprobe:0xffffffff81000000", {"source": "kprobe", "address": 0xFFFFFFFF81000000}),
        ("kprobe:[Ss]ys_*", {"source": "kprobe", "name": "[Ss]ys_*"}),
        ("kr:f", {"source": "kretprobe", "name": "f"}),
        ("f:vfs_read", {"source": "fentry", "name": "vfs_read"}),
        ("kfunc:vmlinux:vfs_read", {"source": "fentry", "target": "vmlinux", "name": "vfs_read"}),
        ("fr:vfs_read", {"source": "fexit", "name": "vfs_read"}),
        ("kretfunc:vfs_read", {"source": "fexit", "name": "vfs_read"}),
        ("fentry:bpf:prog", {"source": "fentry", "target": "bpf", "name": "prog"}),
        ("fexit:bpf:123:prog", {"source": "fexit", "target": "bpf", "namespace": "123", "name": "prog"}),
        ("u:/bin/bash:readline", {"source": "uprobe", "target": "/bin/bash", "name": "readline"}),
        ("uprobe:/a:f+4", {"source": "uprobe", "target": "/a", "name": "f", "offset": 4}),
        ("uprobe:/a:1234", {"source": "uprobe", "target": "/a", "address": 1234}),
        ("uprobe:/a:0", {"source": "uprobe", "target": "/a", "address": 0}),
        ("uprobe:/a:1234abc", {"source": "uprobe", "target": "/a", "name": "1234abc"}),
        ("uprobe:/go:runtime.main.func1", {"source": "uprobe", "target": "/go", "name": "runtime.main.func1"}),
        ('uprobe:/a:"A::f"', {"source": "uprobe", "target": "/a", "name": "A::f"}),
        (
            'uprobe:/a:cpp:"A::operator+"',
            {"source": "uprobe", "target": "/a", "language": "cpp", "name": "A::operator+"},
        ),
        ("uprobe:/bin/a@src/f.c:7", {"source": "uprobe", "target": "/bin/a", "name": "src/f.c", "line": 7}),
        ("uprobe:/bin/a@f.c:7:3", {"source": "uprobe", "target": "/bin/a", "name": "f.c", "line": 7, "column": 3}),
        ("uprobe:/dir+/a:f", {"source": "uprobe", "target": "/dir+/a", "name": "f"}),
        ("uprobe:/lib/x.so:f@VERS", {"source": "uprobe", "target": "/lib/x.so", "name": "f@VERS"}),
        ("uprobe:libc:malloc", {"source": "uprobe", "target": "libc", "name": "malloc"}),
        ('uprobe:"/x.apk!/lib/y.so":f', {"source": "uprobe", "target": "/x.apk!/lib/y.so", "name": "f"}),
        ("ur:/bin/bash:readline", {"source": "uretprobe", "target": "/bin/bash", "name": "readline"}),
        ("usdt:/a:p", {"source": "usdt", "target": "/a", "name": "p"}),
        ("U:/a:ns:p", {"source": "usdt", "target": "/a", "namespace": "ns", "name": "p"}),
        ("usdt:*:loop", {"source": "usdt", "target": "*", "name": "loop"}),
        (r'usdt:/a:"\"p\""', {"source": "usdt", "target": "/a", "name": '"p"'}),
        ("t:sched:sched_switch", {"source": "tracepoint", "target": "sched", "name": "sched_switch"}),
        ("tracepoint:*exec*", {"source": "tracepoint", "target": "*", "name": "*exec*"}),
        ("rt:sched_switch", {"source": "rawtracepoint", "name": "sched_switch"}),
        ("rawtracepoint:vmlinux:x", {"source": "rawtracepoint", "target": "vmlinux", "name": "x"}),
        ("p:hz:99", {"source": "profile", "unit": "hz", "value": 99}),
        ("profile:1us", {"source": "profile", "unit": "us", "value": 1}),
        ("profile:5m", {"source": "profile", "unit": "us", "value": 300_000_000}),
        ("i:s:1", {"source": "interval", "unit": "s", "value": 1}),
        ("interval:ms:1e3", {"source": "interval", "unit": "ms", "value": 1000}),
        ("interval:us:1_000", {"source": "interval", "unit": "us", "value": 1000}),
        ("interval:1000000000", {"source": "interval", "unit": "us", "value": 1_000_000}),
        ("s:faults:100", {"source": "software", "name": "faults", "value": 100}),
        ("software:cpu:", {"source": "software", "name": "cpu"}),
        ("h:cache-misses:1e6", {"source": "hardware", "name": "cache-misses", "value": 1_000_000}),
        ("w:0x10:8:wr", {"source": "watchpoint", "address": 16, "length": 8, "mode": "rw"}),
        ("iter:task", {"source": "iter", "name": "task"}),
        ("it:task:list", {"source": "iter", "name": "task", "target": "list"}),
        ("mine=k:f", {"source": "kprobe", "name": "f", "alias": "mine"}),
    ],
)
def test_points(text: str, expected: dict[str, object]) -> None:
    """Each part goes to the field that the model says, numbers are numbers, quotes are gone."""
    assert fields(text) == expected


@pytest.mark.parametrize(
    ("text", "params", "expected"),
    [
        ("kprobe:$1", ("foo",), {"source": "kprobe", "name": "foo"}),
        ('kprobe:$1"here"', ("foo",), {"source": "kprobe", "name": "foohere"}),
        ('uprobe:"$1":$2', ("foo", "bar"), {"source": "uprobe", "target": "$1", "name": "bar"}),
        ("uprobe:/$1/b:f$2g", ("a", "x"), {"source": "uprobe", "target": "/a/b", "name": "fxg"}),
        ("$1", ("i:ms:1",), {"source": "interval", "unit": "ms", "value": 1}),
        ("BEG$1", ("IN",), {"source": "begin"}),
        ("uprobe:/a:$1$2", ("x", "y"), {"source": "uprobe", "target": "/a", "name": "xy"}),
        ("uprobe:/a:$1", ("$2",), {"source": "uprobe", "target": "/a", "name": "$2"}),
    ],
)
def test_parameters(text: str, params: tuple[str, ...], expected: dict[str, object]) -> None:
    """Parameters are text put in before the parts are split; a parameter's own dollar stays one."""
    assert fields(text, params) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uprobe:f", {"source": "uprobe", "name": "f"}),
        ("uprobe:cpp:f", {"source": "uprobe", "language": "cpp", "name": "f"}),
        ("usdt:p", {"source": "usdt", "name": "p"}),
        ("usdt::p", {"source": "usdt", "name": "p"}),
    ],
)
def test_with_a_process_the_binary_may_be_left_out(text: str, expected: dict[str, object]) -> None:
    assert fields(text, pid=True) == expected
    if text != "uprobe:cpp:f":  # that may also be a binary called cpp
        with pytest.raises(PointError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("t*point:sched:x", ["tracepoint"]),
        ("*ware:*", ["hardware", "software"]),
        ("*:/bin/sh:*", ["uprobe", "usdt"]),
    ],
)
def test_globs_of_sources(text: str, sources: list[str]) -> None:
    """A path in the parts means user space; a source that cannot take so many parts is left out."""
    assert [s.source for s in parse(text)] == sources


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("begin:f", "begin takes 0 arguments, found 1"),
        ("self:signal", "self takes 2 arguments, found 1"),
        ("bench", "bench takes 1 argument, found 0"),
        ("test:", "needs a name"),
        ("kprobe", "kprobe takes 1 or 2 arguments, found 0"),
        ("k:vfs_open::", "found 3"),
        ("k:f+", "invalid offset"),
        ("k:f+1+2", "invalid offset"),
        ("k:f+xyz", "invalid offset"),
        ("k:", "needs a function or an address"),
        ("kr:f+1", "takes no offset"),
        ("ur:/a:f+1", "takes no offset"),
        ("ur:/a@f.c:7", "takes no source line"),
        ("f:bpf", "takes 2 or 3 arguments, found 1"),
        ("f:bpf:x:p", "a number or '\\*'"),
        ("f:a:b:c", "found 3"),
        ("uprobe:f", "uprobe takes 2 or 3 arguments, found 1"),
        ("uprobe::f", "needs a binary"),
        ("uprobe:/a*:0x10", "cannot be used with a wildcard"),
        ("uprobe:/a*@f.c:7", "cannot be used with a wildcard"),
        ("uprobe:/a:rust:f", "unsupported language type: rust"),
        ("usdt", "usdt takes 2 or 3 arguments, found 0"),
        ("usdt::p", "needs a binary"),
        ("tracepoint:f", "tracepoint takes 2 arguments, found 1"),
        ("tracepoint:a:", "needs a category and an event"),
        ("rawtracepoint", "takes 1 or 2 arguments"),
        ("profile:ms:nan", "Invalid rate of profile probe: invalid integer"),
        ("profile:10", "less than the least duration"),
        ("interval:s:1b", "invalid trailing bytes"),
        ("interval:s:0", "greater than 0"),
        ("interval:min:1", "not an accepted unit of time"),
        ("software:faults:1b", "Invalid count for software probe"),
        ("hardware", "takes 1 or 2 arguments"),
        ("watchpoint:1:8", "takes 3 arguments, found 2"),
        ("watchpoint:1b:8:w", "invalid address"),
        ("watchpoint:0:8:w", "other than 0"),
        ("watchpoint:1:3:w", "not one of 1, 2, 4, 8"),
        ("watchpoint:1:8:q", "not a combination"),
        ("watchpoint:1:8:ww", "not a combination"),
        ("iter:task*", "no wildcards"),
        ("asdf", "Invalid probe type: asdf"),
        ("::k", "no source of probes"),
        ("*xyz*:a", "No probe type matched"),
        ("uprobe:/a:$0", "no parameter"),
        ("uprobe:/a:$x", "no parameter"),
        ("k:$9999999999999", "out of range"),
        ('k:"f', "not closed"),
    ],
)
def test_wrong_points(text: str, what: str) -> None:
    """What cannot be meant is refused before anything looks at this host."""
    with pytest.raises(PointError, match=what):
        parse(text)


def test_every_source_says_how_it_is_written() -> None:
    assert set(FORMS) == set(SOURCES)
