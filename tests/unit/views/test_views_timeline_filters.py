"""Filters: what they mean as SQL agrees with a plain look at each event; mistakes have their places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from timeline_fakes import busy, made, opened

from probescope.errors import ScriptError
from probescope.views.timeline.filters.masks import may_match
from probescope.views.timeline.filters.parse import parse
from probescope.views.timeline.filters.sql import condition
from probescope.views.timeline.opened import Opened


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    part = made(tmp_path_factory.mktemp("filters") / "a.duckdb", busy(300))
    with opened(part) as one:
        yield one


def matched(found: Opened, text: str) -> int:
    made = condition(found, text)
    return int(found.asked.query(f"select count(*) from event e where {made.sql}", made.params).value())


#: Filter, and the same as SQL over event, its kind, its thread, and the fields of sched_switch.
SAME = [
    ("", "true"),
    ('event == "sched:sched_switch"', "k.name = 'sched:sched_switch'"),
    ("event == sched_switch", "k.name = 'sched:sched_switch'"),
    ('event ~ "sched:*"', "k.name like 'sched:%'"),
    ('event !~ "sched:*"', "k.name not like 'sched:%'"),
    ("event ~ sys_*", "k.name like '%:sys_%'"),
    ("event in sched_switch,sys_enter", "k.name in ('sched:sched_switch', 'raw_syscalls:sys_enter')"),
    ("cpu == 1", "e.cpu = 1"),
    ("cpu in 0,2-3", "e.cpu in (0, 2, 3)"),
    ("cpu in 0-1", "e.cpu in (0, 1)"),
    ("tid >= 12 and tid < 14", "t.tid in (12, 13)"),
    ("pid == 12 || pid == 13", "t.tid in (12, 13)"),
    ('task == "t12"', "t.name = 't12'"),
    ("comm ~ t1[23]", "t.name in ('t12', 't13')"),
    ('not task == "t12"', "t.name is distinct from 't12'"),
    ("!(task == t12 or cpu == 0) && event ~ sched*", "t.name <> 't12' and e.cpu = 1 and k.name like 'sched:%'"),
    ("next_pid == 12", "x.next_pid = 12"),
    ("sched_switch.next_pid != 12", "x.next_pid <> 12"),
    ("prev_state & 0x2", "(x.prev_state & 2) <> 0"),
    ('next_comm ~ "t1*" and prev_pid < 13', "x.next_comm like 't1%' and x.prev_pid < 13"),
    ("not next_pid == 12", "x.next_pid is distinct from 12"),
    ("next_pid in 11-12,15", "x.next_pid in (11, 12, 15)"),
    ("ret < -1", "y.ret < -1"),
]


@pytest.mark.parametrize(("text", "sql"), SAME)
def test_filters_mean_what_sql_means(text: str, sql: str, found: Opened) -> None:
    true = found.asked.query(
        "select count(*) from event e join event_kind k on k.id = e.kind left join thread t using (utid)"
        ' left join "sched:sched_switch" x on x.event = e.id left join "raw_syscalls:sys_exit" y on y.event = e.id'
        f" where {sql}"
    ).value()
    assert matched(found, text) == true > 0


#: Filter, what is said, and the character that it is said of.
WRONG = [
    ("tsk == 1", "no event has a field 'tsk'", 0),
    ("cpu == 1 and (task == x", "not closed", 13),
    ("cpu", "operator is expected", 3),
    ("cpu == ", "value is expected", 6),
    ("cpu == x", "cpu is a number", 7),
    ("cpu == 1 cpu == 2", "not expected", 9),
    ('task == "x', "no end", 8),
    ("event == nosuch", "no event 'nosuch'", 9),
    ("event < 3", "does not compare", 0),
    ("task & 3", "no bits", 0),
    ("and", "name is expected", 0),
    ("cpu == 99999999999999999999999", "64 bits", 7),
    ("not " * 100 + "cpu == 1", "too deeply", 260),
    ("(" * 100, "too deeply", 65),
]


@pytest.mark.parametrize(("text", "message", "at"), WRONG)
def test_mistakes_have_their_places(text: str, message: str, at: int, found: Opened) -> None:
    with pytest.raises(ScriptError, match=message) as caught:
        condition(found, text)
    assert caught.value.diagnostics[0].span.column - 1 == at


def test_a_name_that_may_be_meant(found: Opened) -> None:
    with pytest.raises(ScriptError) as caught:
        condition(found, "next_pd == 1")
    assert "did you mean next_pid?" in caught.value.diagnostics[0].hints


def test_texts_cannot_leave_their_quotes(found: Opened) -> None:
    """Values are parameters, and names that are no fields are refused."""
    assert matched(found, "task == \"' or true or '\"") == 0
    assert matched(found, 'next_comm == "x\' union select 1"') == 0
    with pytest.raises(ScriptError):
        condition(found, '"next_pid;drop" == 1')


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", [True] * 4),
        ("task == t12", [False, True, False, False]),
        ("not task == t12", [True, False, True, True]),
        ("cpu == 1", [False, True, False, True]),
        ("tid in 11-12 and cpu == 0", [True, False, False, False]),
        ("next_pid == 3", [True] * 4),
        ("not next_pid == 3", [True] * 4),
        ("next_pid == 3 and task ~ t1[34]", [False, False, True, True]),
        ("event ~ sched* or task == t12", [True] * 4),
    ],
)
def test_masks_leave_out_only_what_cannot_match(text: str, kept: list[bool], found: Opened) -> None:
    numbers = dict(found.asked.query("select name, utid from thread").tuples())
    utid = np.array([numbers[n] for n in ("t11", "t12", "t13", "t14")])
    assert may_match(found, parse(text), utid, np.array([0, 1, 0, 1])).tolist() == kept
