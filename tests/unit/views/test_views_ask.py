"""Questions: facts of stores made by hand, and conclusions at both sides of each threshold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from store_fakes import (
    CALL,
    ENTER,
    IRQ_ENTRY,
    IRQ_EXIT,
    LEAVE,
    SOFT_ENTRY,
    SOFT_EXIT,
    Event,
    Fake,
    kind,
    switch,
    wake,
)

from probescope.errors import InternalError, UsageError
from probescope.model.recording import LostEvents, SideRecord
from probescope.store.build.builder import Builder
from probescope.store.parts import Part
from probescope.store.session import Stores
from probescope.views.ask.answer import answer, conclusion, size
from probescope.views.ask.question import condition, find, questions
from probescope.views.ask.text import as_json, lines

MS = 1_000_000


def made(folder: Path, events: list[Event | SideRecord], **more: Any) -> Stores:
    path = folder / "made.duckdb"
    with duckdb.connect(str(path)) as db:
        Builder(Fake([events], **more), db, lambda *_: None).build()  # type: ignore[arg-type]
    return Stores([Part(str(path), 0)])


def call(time: int, took: int, tid: int, nr: int, ret: int, *args: int, cpu: int = 0) -> list[Event]:
    six = [*args, 0, 0, 0, 0, 0, 0][:6]
    enter = Event(time, cpu, tid, ENTER, {"id": nr, "args": six})
    return [enter, Event(time + took, cpu, tid, LEAVE, {"id": nr, "ret": ret})]


def test_every_question_can_be_read_and_asked(tmp_path: Path) -> None:
    """Its SQL is right for a recording that has nothing but what it needs: queries of what is missing are left out."""
    assert next(iter(questions())) == "losses"
    for q in questions().values():
        assert q.title
        assert q.say
        assert bool(q.needs) == bool(q.record)
        assert all("@" not in query.sql for query in (*q.facts, *q.evidence))
        assert all(query.title for query in q.evidence)
        assert not q.say[-1].text.endswith("\n")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("preemptions", "preemptions"),
        ("who evicts whom", "preemptions"),
        ("who preempts whom on the CPU?", "preemptions"),
        ("why is iowait high", "iowait"),
        ("which interrupts hit which cpus", "interrupts"),
        ("lock contention", "locks"),
        ("retransmissions", "tcp"),
        ("who writes files", "files"),
        ("page cache", "writeback"),
        ("critical path of a slow request", "wakeups"),
        ("run queue latency offenders", "runqueue"),
        ("missing symbols", "losses"),
    ],
)
def test_found_by_name_or_by_words(words: str, name: str) -> None:
    assert find(words.split()).name == name


def test_what_fits_nothing_has_hints() -> None:
    with pytest.raises(UsageError) as e:
        find(["preemtpions"])
    assert any("preemptions" in h for h in e.value.hints)
    with pytest.raises(UsageError) as e:
        find(["xyzzy"])
    assert any("losses" in h for h in e.value.hints)


FACTS: list[tuple[str, dict[str, Any], str]] = [
    ("losses", {"lost": 10, "lost_percent": 1, "events": 990}, "10 events were lost, 1.0% of what happened"),
    ("losses", {"lost": 10, "lost_percent": 0.99, "events": 1000}, "fewer than 1%"),
    ("losses", {"lost": 0, "lost_percent": 0, "events": 7}, "No event is known to be lost: 7"),
    ("losses", {"nameless_percent": 10, "nameless": 1, "samples": 10, "events": 1}, "10% of the samples"),
    ("losses", {"nameless_percent": 9.9, "nameless": 1, "samples": 11, "events": 1}, "1 of 11 samples"),
    ("losses", {"nameless": 0, "samples": 11, "events": 1}, "All samples are in functions that have a name"),
    ("interrupts", {"most_percent": 10, "longest_cpu": 1}, "CPU 1 spends 10.0% of its time in interrupts"),
    ("interrupts", {"most_percent": 9.99, "longest_cpu": 1}, "no burden"),
    ("interrupts", {"busiest_percent": 80, "cpus": 2, "busiest": 0, "interrupts": 5}, "CPU 0 takes 80% of all 5"),
    ("interrupts", {"busiest_percent": 79.9, "cpus": 2, "busiest": 0, "interrupts": 5}, "the busiest CPU, 0"),
    ("interrupts", {"busiest_percent": 100, "cpus": 1, "busiest": 0, "interrupts": 5}, "the busiest CPU, 0"),
    ("interrupts", {"slow_ns": MS, "slow_name": "eth0"}, "The longest took 1.00 ms (eth0)"),
    ("iowait", {"p99_wait": 100 * MS, "device": "8:0", "requests": 3}, "8:0 is very slow"),
    ("iowait", {"p99_wait": 100 * MS - 1, "device": "8:0", "requests": 3}, "slow for an SSD"),
    ("iowait", {"p99_wait": 10 * MS - 1, "device": "8:0", "requests": 3}, "8:0, is quick"),
    ("iowait", {"deepest": 32}, "Up to 32 requests waited at once"),
    ("iowait", {"deepest": 31}, "At most 31 requests"),
    ("iowait", {"deepest": 1}, "never more than one"),
    ("iowait", {"merge_percent": 4.9, "avg_size": 4096, "asked": 100}, "Only 4.9% of 100 pieces were merged"),
    ("iowait", {"merge_percent": 5, "avg_size": 4096, "asked": 100}, "5.0% of 100 pieces were merged with"),
    ("iowait", {"merge_percent": 4.9, "avg_size": 16384, "asked": 100}, "4.9% of 100 pieces were merged with"),
    ("preemptions", {"times": 2, "percent": 20, "switches": 10}, "20% of 10 switches were against"),
    ("preemptions", {"times": 2, "percent": 19.9, "switches": 10}, "2 of 10 switches (19.9%)"),
    ("preemptions", {"times": 0, "percent": 0, "switches": 10}, "Nobody had to leave"),
    ("preemptions", {"top_percent": 50, "top_times": 5, "top_taker": "a", "top_victim": "b"}, "Mostly a takes"),
    ("preemptions", {"top_percent": 49, "top_times": 5, "top_taker": "a", "top_victim": "b"}, "No pair stands out"),
    ("runqueue", {"p99": 10 * MS, "waits": 9}, "CPUs are short"),
    ("runqueue", {"p99": 10 * MS - 1, "waits": 9}, "Some wake-ups are late"),
    ("runqueue", {"p99": MS - 1, "waits": 9}, "Threads run soon"),
    ("runqueue", {"p99": MS, "waits": 9, "blocker_ran": 1, "blocker": "hog"}, "mostly hog that ran"),
    ("files", {"avg_size": 511, "moves": 1000}, "Buffers would save"),
    ("files", {"failed_percent": 30, "opens": 20, "failed": 6}, "30% of the opens failed"),
    ("files", {"failed_percent": 29.9, "opens": 20, "failed": 6}, "6 opens failed"),
    ("tcp", {"avg_size": 199, "full_packets": 100}, "small messages"),
    ("tcp", {"avg_size": 200, "full_packets": 100, "packets": 1}, "200 bytes on average"),
    ("tcp", {"retransmit_percent": 1, "retransmits": 3}, "the network loses packets"),
    ("tcp", {"retransmit_percent": 0.9, "retransmits": 3}, "that is usual"),
    ("writeback", {"longest": 100 * MS, "inodes": 2}, "Writing back is slow"),
    ("writeback", {"longest": 100 * MS - 1, "inodes": 2}, "written back quickly"),
    ("locks", {"percent": 10, "waits": 5}, "are contended"),
    ("locks", {"percent": 9.9, "waits": 5}, "are no problem"),
    ("locks", {"top_percent": 50, "waits": 10, "top_lock": "0x1"}, "One lock, 0x1"),
    ("locks", {"shared_waits": 10, "shared": "0x2"}, "for the futex 0x2"),
    ("locks", {"shared_waits": 9, "futex_waits": 9}, "waits for work"),
    ("wakeups", {"took": 100, "queued_percent": 50}, "waited for a CPU for 50%"),
    ("wakeups", {"took": 100, "queued_percent": 49, "slept_percent": 50, "steps": 1, "main_waker": "w"}, "it was w"),
    ("wakeups", {"took": 100, "queued_percent": 49, "slept_percent": 50, "steps": 0}, "was not recorded"),
    ("wakeups", {"took": 100, "ran_percent": 50}, "It ran for 50%"),
]


@pytest.mark.parametrize(("name", "facts", "said"), FACTS)
def test_both_sides_of_thresholds(name: str, facts: dict[str, Any], said: str) -> None:
    found = conclusion(questions()[name].say, _Any(facts))
    assert any(said in sentence for sentence in found), found


class _Any(dict[str, Any]):
    """Facts, of which sentences may name others: these are not known."""

    def items(self) -> Any:
        every = {n: None for q in questions().values() for s in q.say for n in _names(s.text)}
        return (every | dict(self)).items()


def _names(text: str) -> set[str]:
    import string

    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_no_sentence_says_the_opposite_below_its_threshold() -> None:
    assert not any("Buffers" in s for s in conclusion(questions()["files"].say, _Any(avg_size=512, moves=1000)))
    assert not any("Buffers" in s for s in conclusion(questions()["files"].say, _Any(avg_size=1, moves=999)))
    assert not any("mostly" in s for s in conclusion(questions()["runqueue"].say, _Any(p99=MS - 1, blocker_ran=1)))
    assert not any("One lock" in s for s in conclusion(questions()["locks"].say, _Any(top_percent=99, waits=9)))
    assert not any("longest" in s for s in conclusion(questions()["interrupts"].say, _Any(slow_ns=MS - 1)))


def test_unknown_facts_hold_nowhere_and_bad_conditions_are_refused() -> None:
    assert conclusion(questions()["wakeups"].say, _Any(took=None))[0].startswith("There is no request")
    with pytest.raises(InternalError):
        condition("a ~ 3")
    assert [size(n) for n in (0, 1024, 5 << 20, 123 << 30)] == ["0 bytes", "1.00 KiB", "5.00 MiB", "123 GiB"]


#  cpu 0:  100 [7 .... 200 preempted] 8 [.. 260] 7 [.. 400 preempted] 8 [.. 500 asleep] idle
PREEMPTED = [
    switch(100, 0, 0, 0, 7),
    switch(200, 0, 7, 0x100, 8),
    switch(260, 0, 8, 1, 7),
    wake(300, 1, 9, 8),
    switch(400, 0, 7, 0x100, 8),
    switch(500, 0, 8, 1, 7),
    switch(600, 0, 7, 1, 0),
]


def test_preemptions(tmp_path: Path) -> None:
    with made(tmp_path, PREEMPTED) as store:
        found = answer(store, questions()["preemptions"], 5)
    assert found.facts["times"] == 2
    assert found.facts["lost"] == 60 + 100
    assert found.facts["switches"] == 5
    assert found.conclusion[0].startswith("40% of 5 switches were against the thread's will")
    assert "t8 takes the CPU from t7: 2 times, which is 100% of all" in found.conclusion[1]
    assert found.evidence[0].rows == (("t8", 8, "t7", 7, 2, 160.0, 100.0),)


def test_runqueue(tmp_path: Path) -> None:
    """Woken at 1 ms while 7 ran until 21 ms: a wait of 20 ms, for 7."""
    events = [
        switch(0, 0, 0, 0, 7),
        wake(MS, 1, 9, 8),
        switch(21 * MS, 0, 7, 1, 8),
        switch(22 * MS, 0, 8, 1, 0),
    ]
    with made(tmp_path, events) as store:
        found = answer(store, questions()["runqueue"], 5)
    assert found.facts["longest"] == 20 * MS
    assert found.conclusion[0].startswith("CPUs are short: of 1 wake-ups")
    assert found.conclusion[2] == "While the longest ones waited, it was mostly t7 that ran on their CPUs."
    assert found.evidence[1].rows[0][1:] == ("t8", 8, 0, 20 * MS, found.evidence[1].rows[0][5], "t7")


def test_interrupts(tmp_path: Path) -> None:
    """4 on CPU 0, 1 on CPU 1; 200 of 1000 ns on CPU 0."""
    events: list[Event] = []
    for i in range(4):
        events += [Event(100 * i, 0, 7, IRQ_ENTRY, {"irq": 5, "name": "eth0"})]
        events += [Event(100 * i + 50, 0, 7, IRQ_EXIT, {"irq": 5, "ret": 1})]
    events += [Event(600, 1, 8, SOFT_ENTRY, {"vec": 3}), Event(1000, 1, 8, SOFT_EXIT, {"vec": 3})]
    with made(tmp_path, [*events]) as store:
        found = answer(store, questions()["interrupts"], 5)
    assert found.conclusion[0].startswith("CPU 1 spends 40.0% of its time")
    assert found.conclusion[1].startswith("CPU 0 takes 80% of all 5")
    assert ("eth0", 0, 4, 200, 50.0, 50) in found.evidence[0].rows
    assert found.evidence[1].rows[0][1:] == (7, "eth0", 4, 200)


def test_files(tmp_path: Path) -> None:
    """read is 0, write 1, openat 257 on x86-64."""
    events = [*call(0, 10, 7, 257, 3), *call(20, 10, 7, 257, -2), *call(40, 5, 7, 0, 100, 3), *call(50, 5, 8, 1, 30, 1)]
    with made(tmp_path, [*events]) as store:
        found = answer(store, questions()["files"], 5)
    assert found.conclusion[0] == "100 bytes were read and 30 bytes written, and files opened 2 times."
    assert "1 opens failed." in found.conclusion
    assert [r[1:7] for r in found.evidence[0].rows] == [(7, 3, 1, 100, 0, 0), (8, 1, 0, 0, 1, 30)]
    assert found.evidence[1].rows[0][1:] == (7, 2, 1, "ENOENT", 20)


def test_locks_of_programs(tmp_path: Path) -> None:
    """Two threads wait 5 times each for one futex (202; FUTEX_WAIT is 0)."""
    events = [e for i in range(10) for e in call(100 * i, 50, 7 + i % 2, 202, 0, 0xABC, 0)]
    with made(tmp_path, [*events]) as store:
        found = answer(store, questions()["locks"], 5)
    assert found.conclusion[0].startswith("In programs, 2 threads waited 10 times for the futex 0xabc, 500 ns in all")
    assert found.better == ("lock:contention_begin",)


BEGIN = kind("lock:contention_begin", 30, [("lock_addr", "Q"), ("flags", "I")])
END = kind("lock:contention_end", 31, [("lock_addr", "Q"), ("ret", "i")])


def test_locks_of_the_kernel(tmp_path: Path) -> None:
    """1000 ns, of which 99 or 100 are waited."""
    for waited, said in ((99, "no problem"), (100, "are contended")):
        events = [
            Event(0, 0, 7, BEGIN, {"lock_addr": 0x10}),
            Event(waited, 0, 7, END, {"lock_addr": 0x10}),
            Event(1000, 0, 7, CALL, {"func": 1}),
        ]
        folder = tmp_path / str(waited)
        folder.mkdir()
        with made(folder, [*events], kinds=(BEGIN, END, CALL)) as store:
            found = answer(store, questions()["locks"], 5)
        assert said in found.conclusion[0]
        assert found.facts["waited"] == waited


ISSUE = kind("block:block_rq_issue", 40, [("dev", "I"), ("sector", "Q"), ("nr_sector", "I"), ("rwbs", "8")])
DONE = kind("block:block_rq_complete", 41, [("dev", "I"), ("sector", "Q"), ("nr_sector", "I"), ("rwbs", "8")])
ASKED = kind("block:block_bio_queue", 42, [("dev", "I"), ("sector", "Q"), ("nr_sector", "I"), ("rwbs", "8")])
MERGED = kind("block:block_bio_backmerge", 43, [("dev", "I"), ("sector", "Q"), ("nr_sector", "I"), ("rwbs", "8")])


def request(time: int, of: Any, sector: int) -> Event:
    return Event(time, 0, 7, of, {"dev": 8 << 20, "sector": sector, "nr_sector": 8, "rwbs": "R"})


def test_iowait(tmp_path: Path) -> None:
    """Two requests at once, of 20 and 30 ms; one of four pieces was merged."""
    events = [
        *(request(i, ASKED, i * 8) for i in range(4)),
        request(5, MERGED, 8),
        request(10, ISSUE, 0),
        request(10 + MS, ISSUE, 64),
        request(10 + 20 * MS, DONE, 0),
        request(10 + 31 * MS, DONE, 64),
    ]
    with made(tmp_path, events, kinds=(ISSUE, DONE, ASKED, MERGED)) as store:
        found = answer(store, questions()["iowait"], 5)
    assert found.facts["device"] == "8:0"
    assert (found.facts["deepest"], found.facts["max_wait"], found.facts["size"]) == (2, 30 * MS, 8192)
    assert found.conclusion[0].startswith("8:0 is slow for an SSD")
    assert "25.0% of 4 pieces were merged with others." in found.conclusion
    depths = {row[1]: row[2] for row in found.evidence[2].rows}
    assert depths == {1: MS + 11 * MS, 2: 19 * MS}


#  7 reads from 0 to 100; it is woken at 90 by 8, which 9 had woken at 50 (it ran from 60 on).
CHAIN = [
    Event(0, 0, 7, ENTER, {"id": 0, "args": [0] * 6}),
    switch(10, 0, 7, 1, 0),
    switch(20, 1, 8, 1, 9),
    wake(50, 1, 9, 8),
    switch(60, 1, 9, 1, 8),
    wake(90, 1, 8, 7),
    switch(95, 0, 0, 0, 7),
    Event(100, 0, 7, LEAVE, {"id": 0, "ret": 1}),
    switch(110, 0, 7, 1, 0),
]


def test_wakeup_chain(tmp_path: Path) -> None:
    with made(tmp_path, CHAIN) as store:
        found = answer(store, questions()["wakeups"], 5)
    f = found.facts
    assert (f["what"], f["tid"], f["took"], f["slept"], f["queued"]) == ("read", 7, 100, 80, 5)
    assert f["slept_percent"] == 80
    assert "it was t8 that it waited for" in found.conclusion[1]
    steps = [(r[0], r[3], r[4], r[5], r[7]) for r in found.evidence[0].rows]
    assert steps == [(1, 7, 80, 5, 8), (2, 8, 30, 10, 9)]


def test_an_interrupt_ends_the_chain(tmp_path: Path) -> None:
    events = [wake(90, 1, 8, 7, flags=8) if e.time == 90 else e for e in CHAIN]
    with made(tmp_path, events) as store:
        found = answer(store, questions()["wakeups"], 5)
    assert [(r[0], r[6], r[7]) for r in found.evidence[0].rows] == [(1, "an interrupt", None)]


def test_losses_come_first(tmp_path: Path) -> None:
    events = [switch(10, 0, 0, 0, 7), LostEvents(time=20, cpu=0, count=5), switch(30, 0, 7, 1, 0)]
    with made(tmp_path, events) as store:
        found = answer(store, questions()["losses"], 5)
        other = answer(store, questions()["preemptions"], 5)
    assert found.conclusion[0].startswith("5 events were lost, 71.4% of what happened")
    assert next(lines(other)).startswith("ERROR: 5 times: events were lost")
    assert as_json(other)["losses"][0]["count"] == 5


def test_what_is_not_recorded_says_how_to_record_it(tmp_path: Path) -> None:
    with made(tmp_path, PREEMPTED) as store:
        found = answer(store, questions()["iowait"], 5)
    text = "".join(lines(found))
    assert found.missing == ("block:block_rq_issue", "block:block_rq_complete")
    assert "  probescope record -a -e 'block:*,sched:sched_switch,sched:sched_waking' -- sleep 10\n" in text
    assert json.loads(json.dumps(as_json(found)))["record"] == found.question.command


PROBE = kind(
    "tcp:tcp_probe",
    50,
    [(n, "H") for n in ("sport", "dport", "data_len")] + [(n, "I") for n in ("snd_cwnd", "srtt", "rcv_wnd")],
)
AGAIN = kind("tcp:tcp_retransmit_skb", 51, [("state", "i"), ("sport", "H"), ("dport", "H")])


@pytest.mark.parametrize(("again", "said"), [(0, "No retransmission"), (1, "that is usual"), (2, "loses packets")])
def test_tcp(tmp_path: Path, again: int, said: str) -> None:
    """150 packets that came, 100 of them with 150 bytes: 2 that were sent again are more than 1 for each 100."""
    values = {"sport": 80, "dport": 5, "snd_cwnd": 10, "srtt": 20, "rcv_wnd": 100}
    events = [Event(i, 0, 7, PROBE, {**values, "data_len": 150 if i % 3 else 0}) for i in range(150)]
    events += [Event(200 + i, 0, 7, AGAIN, {"state": 1, "sport": 80, "dport": 5}) for i in range(again)]
    with made(tmp_path, [*events], kinds=(PROBE, AGAIN)) as store:
        found = answer(store, questions()["tcp"], 5)
    assert found.conclusion[0].startswith("100 packets with data came, of only 150 bytes on average")
    assert said in found.conclusion[1]
    assert found.conclusion[2] == "Round trips take 20.0 us on average, of the slowest connection 20.0 us."
    assert found.evidence[0].rows[0] == (80, 5, 150, 15000, 150.0, 150, 20_000.0, 10, 100)


STARTED = kind("writeback:writeback_single_inode_start", 60, [("name", "32"), ("ino", "Q"), ("wrote", "Q")])
WRITTEN = kind("writeback:writeback_single_inode", 61, [("name", "32"), ("ino", "Q"), ("wrote", "Q")])
PAUSED = kind("writeback:balance_dirty_pages", 62, [("pause", "q")])


def test_writeback(tmp_path: Path) -> None:
    """One inode in 100 ms, another in 10 ms; a writer had to pause for 30 ms."""
    inode = {"name": "8:0", "ino": 12}
    events = [
        Event(0, 0, 7, STARTED, inode),
        Event(100 * MS, 0, 7, WRITTEN, {**inode, "wrote": 3}),
        Event(101 * MS, 0, 7, STARTED, {**inode, "ino": 13}),
        Event(111 * MS, 0, 7, WRITTEN, {**inode, "ino": 13, "wrote": 1}),
        Event(120 * MS, 0, 8, PAUSED, {"pause": 30}),
        Event(130 * MS, 0, 8, PAUSED, {"pause": -1}),
    ]
    with made(tmp_path, [*events], kinds=(STARTED, WRITTEN, PAUSED)) as store:
        found = answer(store, questions()["writeback"], 5)
    assert found.conclusion[0].startswith(
        "Writing back is slow: the longest of 2 files took 100 ms, 55.0 ms on average"
    )
    assert found.conclusion[1] == "4 pages of 2 files were written."
    assert found.conclusion[2].startswith("Writers had to pause 1 times, 30.0 ms in all")
    assert [r[:2] + r[3:] for r in found.evidence[0].rows] == [
        ("8:0", 12, 1, 3, 100 * MS, 100 * MS),
        ("8:0", 13, 1, 1, 10 * MS, 10 * MS),
    ]
