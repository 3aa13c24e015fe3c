"""The kernel's ``hist`` files read back. The texts are those of Linux 6.1 and 6.12, shortened where rows repeat."""

from __future__ import annotations

import json

import pytest

from probescope.errors import FormatError
from probescope.formats.tracetext.hist import Field, Named, Span, parse, parse_trigger
from probescope.views.hist.table import as_json, rows

HEAD = "# event histogram\n#\n# trigger info: {}\n#\n\n"
TOTALS = "\nTotals:\n    Hits: {}\n    Entries: {}\n    Dropped: {}\n"


def one(info: str, body: str, hits: int = 0, entries: int = 0, dropped: int = 0):
    (found,) = parse(HEAD.format(info) + body + TOTALS.format(hits, entries, dropped))
    return found


def test_texts_and_numbers():
    """Texts are filled up to 50 characters, numbers to 10; what strangers name may look like the file's own marks."""
    found = one(
        "hist:keys=next_comm,next_pid:vals=hitcount,prev_prio:sort=hitcount:size=256 if next_pid > 0 [active]",
        "{ next_comm: facts.sh                                          , next_pid:        205 } hitcount:         17"
        "  prev_prio:       2040\n"
        "{ next_comm: a, b: } c                                         , next_pid:          7 } hitcount:          1"
        "  prev_prio:        120\n"
        "{ next_comm: 42                                                , next_pid:          8 } hitcount:          1"
        "  prev_prio:        120\n",
        19,
        3,
    )
    assert [e.keys for e in found.entries] == [("facts.sh", 205), ("a, b: } c", 7), ("42", 8)]
    assert found.entries[0].values == (("hitcount", 17), ("prev_prio", 2040))
    assert (found.hits, found.dropped) == (19, 0)
    assert found.trigger.keys == (Field("next_comm"), Field("next_pid"))
    assert found.trigger.filter == "next_pid > 0"


@pytest.mark.parametrize(
    ("keys", "entry", "key"),
    [
        ("count.log2", "count: ~ 2^19", Span((1 << 18) + 1, 1 << 19)),
        ("count.log2", "count: ~ 2^0 ", Span(0, 1)),
        ("count.buckets=100", "count: ~ 131000-131099", Span(131000, 131099)),
        ("prev_state.hex", "prev_state: 100", 256),
        ("common_pid.execname", "common_pid: sleep           [       231]", Named("sleep", 231)),
        ("id.syscall", "id: sys_access                    [ 21]", Named("sys_access", 21)),
        (
            "call_site.sym",
            "call_site: [ffffffffc038a3af] p9_fcall_init [9pnet]                        ",
            Named("p9_fcall_init [9pnet]", 0xFFFFFFFFC038A3AF),
        ),
        (
            "call_site.sym-offset",
            "call_site: [ffffffffad254b93] event_hist_open+0x73/0x140                             ",
            Named("event_hist_open+0x73/0x140", 0xFFFFFFFFAD254B93),
        ),
        ("common_cpu", "cpu:          1", 1),  # the event calls it by another name than the trigger
    ],
)
def test_each_modifier(keys, entry, key):
    """Every form that a key is printed in."""
    found = one(f"hist:keys={keys}:vals=hitcount:sort=hitcount:size=2048 [active]", f"{{ {entry} }} hitcount:  3\n", 3)
    assert [e.keys for e in found.entries] == [(key,)]
    assert found.entries[0].hits == 3


def test_stacks():
    """A stack goes over several lines, modules have brackets of their own."""
    found = one(
        "hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]",
        "{ common_stacktrace:\n         __schedule+0x61f/0xbe0\n         p9_client_rpc+0x164/0x430 [9pnet]\n"
        "} hitcount:          1\n{ common_stacktrace:\n         schedule_idle+0x23/0x40\n} hitcount:        134\n",
        135,
    )
    assert [e.keys[0] for e in found.entries] == [
        ("__schedule+0x61f/0xbe0", "p9_client_rpc+0x164/0x430 [9pnet]"),
        ("schedule_idle+0x23/0x40",),
    ]
    assert [e.hits for e in found.entries] == [1, 134]


def test_saved_and_snapshots():
    """What onmax and onchange kept belongs to the entry above it."""
    found = one(
        "hist:keys=next_pid:vals=hitcount:lat=common_timestamp-$ts0:sort=hitcount:size=2048:clock=global"
        ":onmatch(sched.sched_waking).trace(x_lat,$lat,next_pid):onmax($lat).save(next_comm,prev_pid) [active]",
        "{ next_pid:         12 } hitcount:          2\n"
        "\tmax:      75928  next_comm: kworker/u8:0                      prev_pid:          0\n"
        "{ next_pid:         28 } hitcount:          2\n"
        "\nSnapshot taken (see tracing/snapshot).  Details:\n"
        "\ttriggering value { onmax($lat) }:        120\ttriggered by event with key: { next_pid:         18 }\n",
        4,
    )
    assert found.entries[0].saved == (("max", 75928), ("next_comm", "kworker/u8:0"), ("prev_pid", 0))
    assert found.entries[1].saved == ()
    assert "triggering value { onmax($lat) }:        120" in found.snapshot
    assert found.trigger.variables == (("lat", "common_timestamp-$ts0"),)


def test_percent_and_graph():
    """Values have forms of their own (6.3 and later)."""
    found = one(
        "hist:keys=next_comm:vals=hitcount,hitcount.percent,next_prio.graph:sort=hitcount:size=2048 [active]",
        "{ next_comm: cat                                               } hitcount:        205  hitcount (%):  14.86"
        "  next_prio: #######             \n"
        "{ next_comm: ls                                                } hitcount:          2  hitcount (%):   0.14"
        "  next_prio:                     \n",
        207,
    )
    assert found.entries[0].values == (("hitcount", 205), ("hitcount (%)", 14.86), ("next_prio", "#######"))
    assert found.entries[1].values == (("hitcount", 2), ("hitcount (%)", 0.14), ("next_prio", ""))


def test_several_and_none():
    """An event's triggers follow each other in one file; an event without any has an empty one."""
    text = HEAD.format("hist:keys=a:vals=hitcount:sort=hitcount:size=2048 [paused]") + TOTALS.format(0, 0, 0)
    text += "\n\n" + HEAD.format("hist:keys=b:vals=hitcount:sort=hitcount:size=2048 [active]")
    text += "{ b:          1 } hitcount:          5\n" + TOTALS.format(6, 1, 1)
    first, second = parse(text)
    assert (first.trigger.state, first.entries) == ("paused", ())
    assert (second.entries[0].hits, second.dropped) == (5, 1)
    assert parse("") == []


@pytest.mark.parametrize("body", ["{ a:          1\n", "{ " + "x" * 100 + "\n" * 400])
def test_an_entry_without_an_end(body):
    """Cut and strange files are told, not guessed at."""
    with pytest.raises(FormatError):
        parse(HEAD.format("hist:keys=a:vals=hitcount:sort=hitcount:size=2048 [active]") + body)


@pytest.mark.parametrize("text", ["hist", "hist:vals=x", "stacktrace", "hist:keys=" + ",".join("abcdefghij")])
def test_no_trigger(text):
    """What is no hist trigger is said so."""
    with pytest.raises(FormatError):
        parse_trigger(text)


def test_the_table():
    """Columns as wide as what is in them, bars as long as the hits."""
    found = one(
        "hist:keys=next_comm:vals=hitcount,next_prio:sort=hitcount:size=2048 [active]",
        "{ next_comm: cat                                               } hitcount:          1  next_prio:        120\n"
        "{ next_comm: ls                                                } hitcount:          2  next_prio:        240"
        "\n",
        3,
    )
    assert list(rows(found)) == [
        "next_comm      hitcount     next_prio\n",
        "cat                   1           120  |@@@@@@@@@@@@@             |\n",
        "ls                    2           240  |@@@@@@@@@@@@@@@@@@@@@@@@@@|\n",
        "3 hits, 2 keys\n",
    ]
    assert json.loads(json.dumps(as_json("sched:sched_switch", found)))["entries"][1] == {
        "keys": {"next_comm": "ls"},
        "values": {"hitcount": 2, "next_prio": 240},
    }
