"""trace.dat converted, split and put together again: no event is lost, made or moved."""

from __future__ import annotations

import io
import itertools

import pytest
from formats_tracemaker import Maker, events

from probescope.collect.ftrace.restoring import restore
from probescope.errors import FormatError, UsageError
from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.convert import convert
from probescope.formats.tracedat.split import MOST_TIME, Rule, split
from probescope.formats.tracing.text import Lines, report

COUNT = 900


def text(recording):
    names = tuple(b.name for b in recording.buffers)
    lines = Lines(recording.events, recording.context(), buffers=names if len(names) > 1 else ())
    return b"".join(report(lines, recording.batches(), recording.machine.cpus))


def opened(data):
    return open_tracedat(io.BytesIO(data))


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [((6, "none"), (7, "zstd")), ((7, "zlib"), (6, "none")), ((7, "zstd"), (7, "zlib")), ((7, "none"), (7, "none"))],
)
def test_converted_is_the_same(before, after, big):
    kept = ((o.UNAME, b"Linux box 6.1 x86_64\0"), (o.CPUSTAT, b"CPU: 0\n\0"), (o.OFFSET, b"1000\0"))
    maker = Maker(before[0], big, compression=before[1], options=kept, clock="mono", lost={1: 4})
    with opened(maker.build(("", events(COUNT)), ("two", events(50, 3)))) as first:
        out = io.BytesIO()
        convert(first, out, *after)
        with opened(out.getvalue()) as second:
            assert (second.contents.version, second.contents.compression) == after
            assert second.clock == "mono"
            assert [d for n, d in second.contents.options if n == o.CPUSTAT] == [b"CPU: 0\n\0"]
            assert text(second) == text(first)
            assert text(second).count(b"\n") > COUNT


def pieces(tmp_path, rule, maker=Maker()):  # noqa: B008
    with opened(maker.build(("", events(COUNT)))) as recording:
        made = split(recording, rule, lambda n: str(tmp_path / f"part.{n}"))
        whole = text(recording).splitlines()[1:]
    lines = []
    for piece in made:
        with open_tracedat(piece.path) as part:
            lines.append(text(part).splitlines()[1:])
            assert len(lines[-1]) == piece.events
    return whole, lines


@pytest.mark.parametrize(
    ("rule", "sizes"),
    [
        (Rule(events=400, repeat=True), [400, 400, 100]),
        (Rule(events=300, repeat=True), [300, 300, 300]),
        (Rule(events=400), [400]),
        (Rule(ns=100_000, repeat=True), [100] * 4 + [51] + [100] * 4 + [49]),
        (Rule(start=1_000_010_000, end=1_000_019_000), [10]),
        (Rule(start=1_000_010_000, end=1_000_019_000, events=4, repeat=True), [4, 4, 2]),
        (Rule(), [COUNT]),
        (Rule(start=MOST_TIME), [0]),
    ],
)
def test_split(tmp_path, rule, sizes):
    """Events are 1 us apart, with one second between the 451st and the next."""
    whole, lines = pieces(tmp_path, rule)
    assert [len(one) for one in lines] == sizes
    first = 10 if rule.start and sizes != [0] else 0
    assert list(itertools.chain(*lines)) == whole[first : first + sum(sizes)]


@pytest.mark.parametrize("per_cpu", [False, True])
def test_split_by_pages(tmp_path, per_cpu):
    """None holds more than it should, and none is missing."""
    whole, lines = pieces(tmp_path, Rule(pages=2, per_cpu=per_cpu, repeat=True))
    assert list(itertools.chain(*lines)) == whole
    assert len(lines) > 1
    for path in tmp_path.iterdir():
        with open_tracedat(str(path)) as part:
            sizes = [c.size for b in part.buffers for c in b.cpus]
            assert max(sizes) <= 3 * 4096


def test_restored(tmp_path):
    """From the pages of each CPU, with the formats of another file."""
    maker = Maker(version=6)
    top, two = events(COUNT), events(40, 1)
    data = maker.build(("", top), ("two", two))
    for name, found in (("t.dat", top), ("t.dat.two", two)):
        for cpu in {c for c, *_ in found}:
            of = [(time, tid, n) for c, time, tid, n in found if c == cpu]
            (tmp_path / f"{name}.cpu{cpu}").write_bytes(maker.pages(cpu, of))
    paths = sorted(str(p) for p in tmp_path.iterdir())
    out = io.BytesIO()
    with opened(data) as known:
        assert restore(out, paths, known, "local", 7, "none") == sum(p.stat().st_size for p in tmp_path.iterdir())
        with opened(out.getvalue()) as again:
            assert text(again) == text(known)
            with pytest.raises(UsageError, match="no file of a CPU"):
                restore(out, ["t.dat"], known, "local", 7, "none")


def test_nothing_to_split_is_said(tmp_path):
    """A file that was cut before its pages: not that a trace.dat cannot be written. Nothing is made of it."""
    whole = Maker(7, False).build(("", events(COUNT)))
    with opened(whole[: len(whole) // 8]) as recording, pytest.raises(FormatError, match="no pages to split"):
        split(recording, Rule(), lambda n: str(tmp_path / f"part.{n}"))
    assert not list(tmp_path.iterdir())
