"""Who was on which CPU, and what threads waited for.

    sched_switch   out of prev, into next, on one CPU        ──► sched_slice: from one to the next of a CPU
    sched_waking, sched_wakeup, sched_wakeup_new             ──► wakeup
    of one thread: out, wake, in, out...                     ──► thread_state

A wake-up counts for a thread that has left its CPU: what comes while it runs, or after another one, changes nothing.
Where both are recorded, sched_waking (done by who wakes) comes before sched_wakeup (done where it is to run), so the
former counts: perf-sched(1) and Perfetto have it the same way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.build.pairing import Pairing, Pairs
from probescope.store.build.sink import lasted, none
from probescope.store.columns import NO_NUMBER
from probescope.store.lasting import SCHED_SLICE, THREAD_STATE, WAKEUP

if TYPE_CHECKING:
    from probescope.store.build.kinds import KindBatch
    from probescope.store.build.people import People
    from probescope.store.build.sink import Sink

    Array = np.ndarray[Any, Any]

SWITCH = "sched:sched_switch"
WAKES = ("sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new")
_LETTER = re.compile(r"\{\s*(0x[0-9a-fA-F]{1,8}|\d{1,9})\s*,\s*\"(\w)\"\s*\}")
_LETTERS = {1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "P", 128: "I"}
"""include/linux/sched.h, where the print format does not tell."""

CLASSES = {"R": "runnable", "S": "sleeping", "I": "sleeping", "P": "sleeping", "D": "blocked", "T": "stopped"} | {
    "t": "stopped",
    "X": "dead",
    "Z": "dead",
}
STATES = ("", "runnable", "sleeping", "blocked", "stopped", "dead", "running")
UNKNOWN, RUNNABLE, DEAD, RUNNING = 0, 1, 5, 6
OUT, WAKE, IN = 1, 2, 3
SKEW_NS = 10_000_000
"""How far clocks of two CPUs may be apart: two ticks of the slowest kernel. Source: sched_clock_cpu() of
kernel/sched/clock.c."""
MOST_CUTS = 256
"""Losses of a batch that are told apart."""
IRQ_FLAGS = 0x08 | 0x10
"""TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ of include/linux/trace_events.h."""


class States:
    """What numbers of ``prev_state`` mean, as the event's own print format has it."""

    def __init__(self, print_fmt: str) -> None:
        found = {int(n, 0): letter for n, letter in _LETTER.findall(print_fmt)} or _LETTERS
        self._mask = 0
        for bit in found:
            self._mask |= bit
        self._found = found
        self._known: dict[int, tuple[str, int]] = {}

    def of(self, numbers: Array) -> tuple[Array, Array]:
        """(letters as perf prints them, indices of ``STATES``)."""
        different, where = np.unique(numbers, return_inverse=True)
        told = [self._told(n) for n in different.tolist()]
        letters: Array = np.empty(len(told), object)
        letters[:] = [t[0] for t in told]
        return letters[where], np.array([t[1] for t in told], np.int64)[where]

    def _told(self, number: int) -> tuple[str, int]:
        number &= (1 << 64) - 1
        letters = "".join(letter for bit, letter in sorted(self._found.items()) if number & bit)
        if not letters:
            return ("R+" if number & ~self._mask else "R"), RUNNABLE
        return letters, STATES.index(CLASSES.get(letters[0], "sleeping"))


class Sched:
    def __init__(self, sink: Sink, people: People) -> None:
        self._sink, self._people = sink, people
        self._cpus = Pairing()
        self._threads = Transitions(sink)
        self._states: States | None = None
        self._wakes = self._slices = 0
        self._unbegun, self._cpus_seen = 0, np.zeros(0, np.int64)
        self._epochs: dict[int, int] = {}
        self._cuts: list[tuple[int, int]] = []
        self._moves: list[dict[str, Array]] = []
        sink.make(SCHED_SLICE)
        sink.make(THREAD_STATE)
        sink.make(WAKEUP)

    def lost(self, at: int, cpu: int) -> None:
        """What comes from event ``at`` of the batch on does not end what began before it; -1: on no CPU."""
        self._cuts.append((at, cpu))

    # --- what comes

    def switches(self, k: KindBatch) -> None:
        if not k.has("prev_pid", "prev_state", "next_pid"):
            return
        if self._states is None:
            self._states = States(k.event.print_fmt)
        prev_tid, next_tid = k.number("prev_pid"), k.number("next_pid")
        prev, following = self._people.of(prev_tid, k.which), self._people.of(next_tid, k.which)
        for utids, name in ((prev, "prev_comm"), (following, "next_comm")):
            codes = k.codes(name)
            if codes is not None:
                self._people.names.mentions(k.which, utids, k.time, codes)
        letters, states = self._states.of(k.number("prev_state"))
        dead = states == DEAD
        if dead.any():
            self._people.dies(prev[dead], prev_tid[dead])
        prio = k.number("prev_prio", NO_NUMBER), k.number("next_prio", NO_NUMBER)
        self._sliced(k, prev, following, prio, letters)
        for place, utid, kind, state in ((0, prev, OUT, states), (1, following, IN, np.full(len(k), RUNNING))):
            self._moves.append(
                {
                    "at": k.which * 2 + place,
                    "utid": utid,
                    "ts": k.time,
                    "kind": np.full(len(k), kind),
                    "state": state,
                    "cpu": k.cpu,
                    "wakeup": none(len(k)),
                    "waker": none(len(k)),
                    "fresh": np.zeros(len(k), np.bool_),
                }
            )

    def wakes(self, k: KindBatch, actors: Array) -> None:
        """``actors``: who was on the CPU."""
        if not k.has("pid"):
            return
        utids = self._people.of(k.number("pid"), k.which)
        codes = k.codes("comm")
        if codes is not None:
            self._people.names.mentions(k.which, utids, k.time, codes)
        ids = np.arange(self._wakes, self._wakes + len(k))
        self._wakes += len(k)
        fresh = np.full(len(k), k.event.name.endswith("_new"))
        flags = k.number("common_flags")
        self._sink.add(
            WAKEUP,
            {
                "id": ids,
                "ts": k.time,
                "cpu": k.cpu,
                "utid": utids,
                "waker_utid": actors,
                "target_cpu": k.number("target_cpu"),
                "prio": k.number("prio", NO_NUMBER),
                "interrupt": np.where(flags < 0, -1, (flags & IRQ_FLAGS) != 0).astype(np.int8),
                "fresh": fresh.astype(np.int8),
            },
        )
        self._moves.append(
            {
                "at": k.which * 2,
                "utid": utids,
                "ts": k.time,
                "kind": np.full(len(k), WAKE),
                "state": np.full(len(k), RUNNABLE),
                "cpu": none(len(k)),
                "wakeup": ids,
                "waker": actors.astype(np.int64),
                "fresh": fresh,
            }
        )

    def batch_done(self) -> None:
        for _, cpu in self._cuts:
            self._epochs[cpu] = self._epochs.get(cpu, 0) + 1
        self._cuts = []
        if self._moves:
            moves, self._moves = self._moves, []
            self._threads.feed({n: np.concatenate([m[n] for m in moves]) for n in moves[0]})

    # --- CPUs

    def _sliced(self, k: KindBatch, prev: Array, following: Array, prio: tuple[Array, Array], letters: Array) -> None:
        count = len(k)
        time, cpu = k.time, k.cpu.astype(np.int64)
        epoch = self._epoch(k.which, cpu) << 32
        both = np.arange(2 * count) // 2  # of each switch: the end of one slice, then the begin of another
        begins = np.tile([False, True], count)
        utid = np.where(begins, following[both], prev[both]).astype(np.int64)
        columns = {
            "ts": time[both],
            "cpu": cpu[both],
            "utid": utid,
            "prio": np.where(begins, prio[1][both], prio[0][both]),
            "end": letters[both],
        }
        self._cpus_seen = np.union1d(self._cpus_seen, cpu)
        pairs = self._cpus.feed(cpu[both], begins, utid | epoch[both], columns)
        self._unbegun += int((pairs.begin < 0).sum())
        self._slices_of(pairs)

    @property
    def missing(self) -> int:
        """Switches that must have been: of threads that left a CPU which another one had got last."""
        return self._unbegun - len(self._cpus_seen)

    def _epoch(self, places: Array, cpu: Array) -> Array:
        """How often events of its CPU were lost before each event."""
        out = np.zeros(len(cpu), np.int64)
        if self._epochs:
            cpus, where = np.unique(cpu, return_inverse=True)
            all_of_them = self._epochs.get(-1, 0)
            out += np.array([self._epochs.get(c, 0) + all_of_them for c in cpus.tolist()], np.int64)[where]
        for at, lost in self._cuts[:MOST_CUTS]:
            out[(places >= at) & ((cpu == lost) | (lost < 0))] += 1
        return out

    def _slices_of(self, pairs: Pairs) -> None:
        count = len(pairs)
        if not count:
            return
        ts, end = pairs.of_begin("ts"), pairs.of_end("ts")
        dur = lasted(ts, end)
        cpu, utid = pairs.of_either("cpu"), pairs.of_either("utid")
        ends = pairs.columns["end"][np.maximum(pairs.end, 0)].copy()
        ends[pairs.end < 0] = None
        ids = np.arange(self._slices, self._slices + count)
        self._slices += count
        shared = {"id": ids, "ts": ts, "dur": dur, "end_ts": end, "cpu": cpu, "utid": utid}
        self._sink.add(SCHED_SLICE, {**shared, "end_state": ends, "prio": pairs.of_either("prio")})
        busy = np.flatnonzero(utid > 0)
        if len(busy):
            self._threads.ran({n: shared[n][busy] for n in ("ts", "dur", "end_ts", "cpu", "utid")})

    def finish(self) -> None:
        self._slices_of(self._cpus.rest())
        self._threads.finish()


class Transitions:
    """Of each thread what it did last; a row for each stretch between two."""

    _HELD = ("ts", "kind", "state", "cpu", "wakeup", "waker", "fresh", "start", "preempted")

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held: dict[str, Array] = {n: np.zeros(64, np.int64) for n in self._HELD}
        self._ids = 0

    def ran(self, rows: dict[str, Array]) -> None:
        count = len(rows["ts"])
        no = none(count)
        self._emit({**rows, "state": np.full(count, RUNNING), "wakeup": no, "waker": no, "preempted": no})

    def feed(self, rows: dict[str, Array]) -> None:
        """Moves of a batch, in any order; those of the idle threads are left out."""
        utid = rows["utid"].astype(np.int64)
        some = np.flatnonzero(utid > 0)
        order = some[((utid[some] << 32) | rows["at"][some]).argsort()]
        if not len(order):
            return
        m = {n: c[order].astype(np.int64) for n, c in rows.items()}
        self._room(int(m["utid"].max()) + 1)
        m = self._effective(self._in_order(m))
        if not len(m["utid"]):
            return
        last_cpu = np.where(self._before(m, "kind") > 0, self._before(m, "cpu"), -1)
        m["cpu"] = np.where(m["kind"] == WAKE, last_cpu, m["cpu"])
        held = {n: self._before(m, n) for n in ("ts", "kind", "state", "cpu", "wakeup", "waker")}
        # a runnable stretch that a wake-up only marks began when the thread had to leave
        had_to = (m["kind"] == WAKE) & (held["kind"] == OUT) & (held["state"] == RUNNABLE)
        m["start"] = np.where(had_to, held["ts"], m["ts"])
        m["preempted"] = (had_to | ((m["kind"] == OUT) & (m["state"] == RUNNABLE))).astype(np.int64)
        held["start"], held["preempted"] = self._before(m, "start"), self._before(m, "preempted")
        self._stretches(m, held, had_to)
        last = np.flatnonzero(np.append(m["utid"][1:] != m["utid"][:-1], True))
        for n in self._HELD:
            self._held[n][m["utid"][last]] = m[n][last]

    def _in_order(self, m: dict[str, Array]) -> dict[str, Array]:
        """A thread that slept was woken up before it ran. Where the clocks of two CPUs differ, or the machine moved to
        other ones, the wake-up may bear a later time than the switch that it led to: it goes before that, at that
        one's time."""
        asleep = (self._before(m, "kind") == OUT) & (self._before(m, "state") != RUNNABLE)
        here = np.flatnonzero((asleep & (m["kind"] == IN))[:-1])
        late = (m["utid"][here + 1] == m["utid"][here]) & (m["kind"][here + 1] == WAKE)
        here = here[late & (m["ts"][here + 1] - m["ts"][here] <= SKEW_NS)]
        if not len(here):
            return m
        order = np.arange(len(m["utid"]))
        order[here], order[here + 1] = here + 1, here
        out = {n: c[order] for n, c in m.items()}
        out["ts"][here] = out["ts"][here + 1]
        return out

    def _effective(self, m: dict[str, Array]) -> dict[str, Array]:
        before = self._before(m, "kind")
        kept = (m["kind"] != WAKE) | (before == OUT) | (before == 0)
        return m if kept.all() else {n: c[kept] for n, c in m.items()}

    def _before(self, m: dict[str, Array], name: str) -> Array:
        """Of each move what the one before it of the same thread has."""
        utid = m["utid"]
        out = np.empty_like(m[name])
        out[1:] = m[name][:-1]
        first = np.flatnonzero(np.append(True, utid[1:] != utid[:-1]))
        out[first] = self._held[name][utid[first]]
        return out

    def _stretches(self, m: dict[str, Array], before: dict[str, Array], had_to: Array) -> None:
        """What lay between two moves, but running, which is the CPUs' to tell, and what a wake-up only marks."""
        unknown = before["kind"] == 0
        told = (before["kind"] == OUT) | (before["kind"] == WAKE)
        told |= unknown & (m["kind"] == IN)
        told |= unknown & (m["kind"] == WAKE) & (m["fresh"] == 0)
        told &= ~had_to & ~((before["kind"] == OUT) & (before["state"] == DEAD) & (m["kind"] != OUT))
        rows = np.flatnonzero(told)
        if not len(rows):
            return
        end = np.where(m["kind"] == OUT, -1, m["ts"])[rows]  # out after out: when it came in is not known
        b = {n: c[rows] for n, c in before.items()}
        no = unknown[rows]
        state = np.where(no, np.where(m["kind"][rows] == IN, RUNNABLE, UNKNOWN), b["state"])
        self._emit(
            {
                "ts": np.where(no, -1, b["start"]),
                "dur": np.where(no, -1, lasted(b["start"], end)),
                "end_ts": end,
                "utid": m["utid"][rows],
                "state": state,
                "cpu": np.where(no, -1, b["cpu"]),
                "wakeup": np.where(no, -1, b["wakeup"]),
                "waker": np.where(no, -1, b["waker"]),
                "preempted": np.where(no | (state != RUNNABLE), -1, b["preempted"]),
            }
        )

    def _emit(self, rows: dict[str, Array]) -> None:
        count = len(rows["ts"])
        states = np.empty(len(STATES), object)
        states[:] = [s or None for s in STATES]
        self._sink.add(
            THREAD_STATE,
            {
                "id": np.arange(self._ids, self._ids + count),
                **{n: rows[n] for n in ("ts", "dur", "end_ts", "utid", "cpu", "wakeup")},
                "state": states[rows["state"]],
                "waker_utid": rows["waker"],
                "preempted": rows["preempted"].astype(np.int8),
            },
        )
        self._ids += count

    def finish(self) -> None:
        """What they wait for at the end."""
        utid = np.flatnonzero((self._held["kind"] == OUT) | (self._held["kind"] == WAKE))
        if not len(utid):
            return
        h = {n: c[utid] for n, c in self._held.items()}
        no = none(len(utid))
        columns = {n: h[n] for n in ("state", "cpu", "wakeup", "waker")}
        preempted = np.where(h["state"] == RUNNABLE, h["preempted"], -1)
        self._emit({**columns, "ts": h["start"], "dur": no, "end_ts": no, "utid": utid, "preempted": preempted})

    def _room(self, count: int) -> None:
        have = len(self._held["ts"])
        if count > have:
            more = max(count - have, have)
            self._held = {n: np.append(c, np.zeros(more, np.int64)) for n, c in self._held.items()}
