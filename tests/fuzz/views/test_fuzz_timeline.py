"""Recordings of nonsense: every question is answered or refused, and pictures neither overlap nor lose anything."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from store_fakes import KINDS, Event
from timeline_fakes import asked, made, opened

from probescope.errors import ScriptError
from probescope.model.recording import LostEvents
from probescope.store.lod.families import LANES
from probescope.views.timeline.filters.parse import parse
from probescope.views.timeline.protocol import OPS, RefusedQuestionError, question
from probescope.views.timeline.service import ANSWERS

ROUNDS = 4


def events(rng: random.Random) -> list[Any]:
    out = []
    for _ in range(rng.randrange(1, 150)):
        kind = rng.choice(KINDS)
        values: dict[str, Any] = {}
        for f in kind.fields[4:]:
            if f.declared == "char":
                values[f.name] = bytes(rng.randrange(256) for _ in range(rng.randrange(8)))
            elif f.count:
                values[f.name] = [rng.getrandbits(64) for _ in range(f.count)]
            else:
                low = rng.choice([rng.randrange(4), rng.getrandbits(64)]) & ((1 << 8 * f.size) - 1)
                values[f.name] = low - (1 << 8 * f.size) if f.signed and low >> (8 * f.size - 1) else low
        time = rng.choice([rng.randrange(1000), rng.randrange(1 << 40), (1 << 62) + rng.randrange(9)])
        out.append(Event(time, rng.randrange(3), rng.randrange(4), kind, values, flags=rng.randrange(256)))
    out = sorted(out, key=lambda e: e.time) if rng.random() < 0.7 else out
    for _ in range(rng.randrange(4)):
        count = rng.choice([0, 1, rng.getrandbits(63)])
        lost = LostEvents(time=rng.choice([0, 500, (1 << 64) - 1]), cpu=rng.randrange(-1, 3), count=count)
        out.insert(rng.randrange(len(out) + 1), lost)
    return out


def arguments(rng: random.Random, op: str, tracks: list[str], end: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "track": rng.choice([*tracks, "all", "cpu:0:0", "plot:0:x", "x"]),
        "parent": rng.choice(tracks),
        "start": rng.choice([0, -5, end // 3]),
        "end": rng.choice([1, end, 2 * end]),
        "width": rng.choice([1, 100, 5000]),
        "ts": rng.randrange(end + 1),
        "from": rng.randrange(end + 1),
        "id": rng.randrange(100),
        "kind": rng.choice(
            ["event", "sched_slice", "thread_state", "syscall", "func", "span", "marker", "any", "name"]
        ),
        "what": rng.choice(["flame", "latency", "top", "states", "syscalls", "kinds", "tasks", "cpus"]),
        "filter": rng.choice(
            ["", "cpu == 1", "event ~ sched*", "next_pid > 1", "not pid in 0-2", "x x", "common_flags ~ d*"]
        ),
        "text": rng.choice(["", "t", "sched", "\x00", "%"]),
        "sql": rng.choice(["select * from event", "select ts, 1 as value from event", "selec", ""]),
        "tracks": rng.choice([tracks[:3], [], ["x"]]),
        "at": rng.randrange(30),
        "title": "x",
    }
    return {
        name: chosen[name] for name, (_, needed) in OPS[op].items() if name in chosen and (needed or rng.random() < 0.7)
    }


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_every_question_is_answered(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    with opened(made(tmp_path / "a.duckdb", events(rng))) as found:
        assert asked(found, "open")[0]["ok"]
        end = asked(found, "open")[0]["end"]
        from probescope.views.timeline.answers.opening import tree

        tracks = [t.id for t in tree(found).every()]
        for op in ANSWERS:
            for _ in range(6):
                head, _ = asked(found, op, **arguments(rng, op, tracks, end))
                assert head["ok"] or head["error"]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_pictures_lose_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(100 + seed)
    with opened(made(tmp_path / "a.duckdb", events(rng))) as found:
        levels = found.shown[0].levels
        for family, shown in LANES.items():
            file = levels.lanes(family)
            where = f"{shown.where} and {shown.track} is not null"
            total = found.asked.query(f"select count(*) from {shown.table} where {where}").value()
            drawn = 0
            for track in sorted(set(file.track.tolist())):
                cut = file.cut(track, -(1 << 62), (1 << 62) + 100, 8000)
                drawn += int(cut.count.sum())
                close = file.cut(track, 0, 1 << 41, 1 << 41)
                one = close.depth == 0
                assert (close.start[one][1:] >= close.end[one][:-1]).all()
            assert drawn == total, family
        points = levels.points("event")
        assert sum(len(points.times(k)) for k in points.tracks.tolist()) == sum(n for _, _, n in found.kinds)


def test_random_texts_are_filters_or_have_a_place() -> None:
    rng = random.Random(5)
    words = [
        "cpu",
        "==",
        "in",
        "1",
        "(",
        ")",
        "and",
        "not",
        '"x"',
        "'",
        "~",
        ",",
        "2-3",
        "&",
        "\\",
        "é",
        "\n",
        "!",
        "=",
    ]
    for _ in range(3000):
        text = rng.choice(["", " "]).join(rng.choice(words) for _ in range(rng.randrange(12)))
        try:
            parse(text)
        except ScriptError as e:
            span = e.diagnostics[0].span
            assert 1 <= span.line <= text.count("\n") + 1


def test_random_messages_are_questions_or_refused() -> None:
    rng = random.Random(6)
    whole = '{"id": 3, "op": "slices", "args": {"track": "cpu:0:0", "start": 0, "end": 9e9, "width": 100}}'
    for _ in range(3000):
        data = list(whole)
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = chr(rng.choice([rng.randrange(128), 0x1F600, 0xD800]))
        with suppress(RefusedQuestionError):
            question("".join(data[: rng.choice([len(data), rng.randrange(len(data))])]))
