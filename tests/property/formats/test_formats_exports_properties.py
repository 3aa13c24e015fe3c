"""Random stacks through the writers of stacks, read back by other means: the same weights, names and orders."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter

from formats_exports import Made, made
from formats_protobuf import message, packed, signed
from hypothesis import given

from probescope.formats.folded import folded
from probescope.formats.pprof import PprofWriter
from probescope.formats.speedscope import write_speedscope
from probescope.formats.spool import Spool
from probescope.formats.stacktable import CodeFrame, Counts
from probescope.model.visible import visible


def counted(m: Made) -> Counts:
    counts = Counts(len(m.measures))
    for batch in m.batches():
        counts.add(batch)
    return counts


@given(made())
def test_folded_keeps_every_weight(m: Made) -> None:
    counts = counted(m)
    lines = list(folded(m.table, counts))
    assert all("\n" not in line and line.rpartition(" ")[2].isdigit() for line in lines)
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == sum(s.weight for s in m.samples)
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)


def decoded(data: bytes) -> tuple[Counter, dict[int, list]]:
    """(weights by comm, pid, tid, names of frames from the outermost, measure), the whole message."""
    profile = message(gzip.decompress(data))
    strings = [s.decode() for s in profile[6]]
    functions = {f[1][0]: strings[f.get(2, [0])[0]] for f in map(message, profile.get(5, []))}
    locations = {
        loc[1][0]: tuple(functions[message(line)[1][0]] for line in reversed(loc[4]))
        for loc in map(message, profile.get(4, []))
    }
    sums: Counter = Counter()
    for sample in map(message, profile.get(2, [])):
        names = tuple(name for i in reversed(packed(sample[1][0])) for name in locations[i])
        labels = {
            strings[x[1][0]]: strings[x[2][0]] if 2 in x else signed(x[3][0]) for x in map(message, sample.get(3, []))
        }
        who = (labels.get("comm", ""), labels.get("pid", -1), labels.get("tid", -1))
        for i, n in enumerate(packed(sample[2][0])):
            sums[*who, names, i] += n
    return sums, profile


@given(made())
def test_pprof_keeps_every_weight_and_name(m: Made) -> None:
    out = io.BytesIO()
    counts = counted(m)
    PprofWriter(out, {"/bin/a": "00ff"}).write(m.table, counts, m.measures, ["a note"], 5)
    sums, profile = decoded(out.getvalue())
    expected: Counter = Counter()
    for s in m.samples:
        key = (visible(s.owner.comm) if "\udc80" in s.owner.comm else s.owner.comm, s.owner.pid, s.owner.tid)
        names = tuple(visible(f.name) if "\udc80" in f.name else f.name for f in s.stack)
        expected[*key, names, 0] += 1
        expected[*key, names, 1 + s.event] += s.weight
    assert +sums == +expected
    assert profile[6][0] == b""
    assert len(set(profile[6])) == len(profile[6])


@given(made())
def test_speedscope_keeps_order_weight_and_names(m: Made) -> None:
    spool = Spool()
    for batch in m.batches():
        spool.add(batch)
    out = io.StringIO()
    write_speedscope(out, m.table, spool, m.measures, name="n", exporter="e", notes=["\x1b"])
    spool.close()
    text = out.getvalue()
    assert not set(text) & {chr(c) for c in (*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E)}
    found = json.loads(text)
    assert len(found["profiles"]) == len({(s.event, s.owner) for s in m.samples})
    keys = sorted({(s.event, m.table.owner(s.owner)) for s in m.samples})
    for (event, owner), profile in zip(keys, found["profiles"], strict=True):
        mine = [s for s in m.samples if s.event == event and m.table.owner(s.owner) == owner]
        assert sum(profile["weights"]) == profile["endValue"] == sum(s.weight for s in mine)
        assert len(profile["samples"]) == len(profile["weights"])
        told = [tuple(found["shared"]["frames"][f]["name"] for f in stack) for stack in profile["samples"]]
        assert told == without_repeats([shown(s.stack) for s in mine], [s.stack for s in mine])


def shown(stack: tuple[CodeFrame, ...]) -> tuple[str, ...]:
    return tuple(f.name.replace("\udc80", "\\x80") or "?" for f in stack)


def without_repeats(names: list[tuple[str, ...]], stacks: list[tuple[CodeFrame, ...]]) -> list[tuple[str, ...]]:
    return [n for i, n in enumerate(names) if i == 0 or stacks[i] != stacks[i - 1]]
