"""Every table of the store and every column of it, as data: what builds the store, what joins stores of several
recordings, what completes names and what writes docs/store.md all read this.

- Times (``ts``, ``start_ts``, ``end_ts``) are nanoseconds of the recording's own clock, durations (``dur``) are
  nanoseconds.
- What is not known is NULL, never invented: a slice that began before the recording did, or whose begin was lost, has
  no ``ts`` and no ``dur``; one that had not ended has no ``end_ts`` and no ``dur``.
- Numbers of rows (``id``, ``utid``, ``upid``) are the store's own. A thread number that the kernel gave out again is
  another thread: another ``utid``.
- An arrow in the type (``refers``) says whose number a column holds. Where several recordings are opened together,
  these are shifted, so that they stay unique, and ``recording`` tells the recordings apart.
- Every table but ``recording`` ends in a column ``recording``, the number of the recording that a row is of.
- Each kind of event that has fields also has a table of its own, called as the event is: ``"sched:sched_switch"``. It
  has the columns of ``FIELDS`` and then the event's. A field that is called as one of these is called ``field_NAME``.
"""

from __future__ import annotations

from probescope.store.columns import (
    BIG,
    FLAG,
    INT,
    NO_NUMBER,
    NS,
    SMALL,
    TEXT,
    Column,
    Table,
    ident,
    thread,
    time,
)
from probescope.store.lasting import CPU, FUNC, IRQ, SCHED_SLICE, SOFTIRQ, SPAN, SYSCALL, THREAD_STATE, WAKEUP

VERSION = 2
"""Of the layout: stores of another one are built anew. Folders of Parquet files of older ones are read: what those do
not have yet (``since``) is NULL there."""
OLDEST = 1
"""The layout of folders that are still read."""

IDLE = 0
"""``utid`` and ``upid`` of the idle threads of all CPUs, which have one number: 0."""

SEVERITIES = {
    "error": "events are missing, and answers are wrong where they would have been",
    "warning": "something is missing or uncertain: some answers are incomplete",
    "info": "worth knowing",
}
"""Values of ``stats.severity``."""


TELLS = ident("the event that tells of it", "event", "event")

FIELDS: tuple[Column, ...] = (
    ident("the event", "event", "event"),
    time("when"),
    CPU,
    thread("the thread that was on the CPU"),
)
"""What tables of single kinds of events begin with."""

RECORDING = Table(
    "recording",
    "The recordings that are open: one row each.",
    (
        Column("id", INT, "number, in the order of the command line", refers="recording"),
        Column("path", TEXT, "the file or directory"),
        Column("format", TEXT, "perf.data, trace.dat, text of ftrace, text of perf"),
        Column("host", TEXT, "name of the machine that was recorded"),
        Column("release", TEXT, "of its kernel"),
        Column("arch", TEXT, "of its processors"),
        Column("cpus", INT, "how many it had"),
        Column("cpu_model", TEXT, "of its processors"),
        Column("memory", BIG, "of the machine", "bytes"),
        Column("clock", TEXT, "that gave the times, if the file tells"),
        Column("wall_offset", BIG, "what makes times of that clock those of the day (since 1970)", NS, null=NO_NUMBER),
        Column("offset_ns", BIG, "what was added to its times because it was asked for", NS, null=NO_NUMBER),
        time("of the first event", "start_ts"),
        time("of the last event", "end_ts"),
        Column("events", BIG, "how many there are"),
        Column("recorder", TEXT, "the program that wrote it"),
        Column("command", TEXT, "its command line"),
    ),
    key="id",
    order="id",
)
PROCESS = Table(
    "process",
    "Processes. A number that was used again is another process; a new program (exec) is not.",
    (
        Column("upid", INT, "number of the row", refers="process"),
        Column("pid", INT, "the kernel's number (tgid)"),
        Column("parent_upid", INT, "the process that made it", refers="process"),
        Column("name", TEXT, "of its first thread, the last one that it had"),
        time("when it was made; NULL if before the recording", "start_ts"),
        time("when its last thread ended; NULL if not while recording", "end_ts"),
        Column("cmdline", TEXT, "the program file of its last exec"),
    ),
    key="upid",
    order="upid",
)
THREAD = Table(
    "thread",
    "Threads. A number that was used again is another thread. utid 0 are the idle threads of all CPUs.",
    (
        thread("number of the row"),
        Column("tid", INT, "the kernel's number (pid, in the kernel's own words)"),
        Column("upid", INT, "its process; NULL if not known (trace.dat seldom tells)", refers="process"),
        Column("name", TEXT, "the last one that it had (comm)"),
        time("when it was made; NULL if before the recording", "start_ts"),
        time("when it ended; NULL if not while recording", "end_ts"),
        Column("main", FLAG, "whether it is the first one of its process"),
    ),
    key="utid",
    order="utid",
)
THREAD_NAME = Table(
    "thread_name",
    "Names of threads over time: each holds until the next one of the same thread.",
    (thread(), time("from when on; NULL: from before the recording"), Column("name", TEXT, "the name (comm)")),
)
EVENT_KIND = Table(
    "event_kind",
    "Kinds of events that were recorded. Those with fields have a table of the same name.",
    (
        Column("id", INT, "number of the row", refers="event_kind"),
        Column("name", TEXT, "as users write it: sched:sched_switch, cycles:u"),
        Column("events", BIG, "how many there are"),
        Column("fields", INT, "how many fields of its own it has"),
        Column("unit", TEXT, "what the period of its events counts: ns, or events"),
    ),
    key="id",
    order="id",
)
EVENT_TABLE = Table(
    "event",
    "Everything that was recorded, in order of time.",
    (
        ident("number of the row", "event"),
        time("when"),
        CPU,
        thread("the thread that was on the CPU"),
        Column("kind", INT, "what happened", refers="event_kind"),
        Column("period", BIG, "how many happenings it stands for (1 for tracepoints)", "event_kind.unit"),
        Column("callsite", INT, "the stack that it was recorded with", refers="callsite"),
        Column(
            "flags",
            SMALL,
            "common_flags of the record: 1 interrupts off, 4 or 32 a thread should be scheduled,"
            " 8 in an interrupt, 16 in a soft one",
            since=2,
        ),
        Column(
            "preempt",
            SMALL,
            "common_preempt_count of the record: how often preemption was disabled; from 16 on,"
            " how often migration was",
            since=2,
        ),
    ),
    key="id",
)
SAMPLE = Table(
    "sample",
    "Events that are samples: of CPU clocks, hardware counters, software events. Tracepoints with stacks are in event.",
    (
        ident("the event", "event", "event"),
        time("when"),
        CPU,
        thread("the thread that was on the CPU"),
        Column("kind", INT, "what was sampled", refers="event_kind"),
        Column("period", BIG, "what it stands for", "event_kind.unit"),
        Column("callsite", INT, "the stack, or the place alone; NULL if neither was recorded", refers="callsite"),
        Column("mode", TEXT, "where the CPU was: kernel, user, hypervisor, guest kernel, guest user"),
        Column("addr", "UBIGINT", "the address that was accessed, if it was recorded", null=0),
        Column("weight", BIG, "latency or weight, if it was recorded", "cycles"),
    ),
)
CALLSITE = Table(
    "callsite",
    "Stacks, each different one once, as a tree: a row is a frame that was called by the frame of its parent.",
    (
        Column("id", INT, "number of the row; parents have smaller ones", refers="callsite"),
        Column("parent", INT, "the caller; NULL of outermost frames", refers="callsite"),
        Column("frame", INT, "what was called", refers="frame"),
        Column("depth", INT, "0 of outermost frames"),
    ),
    key="id",
    order="id",
)
FRAME = Table(
    "frame",
    "Functions and places in them that stacks are made of, each different one once.",
    (
        Column("id", INT, "number of the row", refers="frame"),
        Column("function", TEXT, "demangled name; the address where there is no name"),
        Column("module", TEXT, "the file that it is in, [kernel.kallsyms], or [MODULE] of the kernel"),
        Column("file", TEXT, "of the source, if it was asked for"),
        Column("line", INT, "of the source", null=0),
        Column("kernel", FLAG, "whether it is the kernel's"),
        Column("inlined", FLAG, "whether it was inlined into its caller"),
    ),
    key="id",
    order="id",
)
COUNTER_TRACK = Table(
    "counter_track",
    "Things that have a value over time.",
    (
        Column("id", INT, "number of the row", refers="counter_track"),
        Column("name", TEXT, "cpu_frequency, cpu_idle, or what a program called it"),
        Column("unit", TEXT, "of its values: kHz, bytes; empty if not known"),
        Column("cpu", INT, "whose it is; NULL if of none"),
        Column("upid", INT, "the process that told it; NULL if none", refers="process"),
    ),
    key="id",
    order="id",
)
COUNTER = Table(
    "counter",
    "Their values: each holds until the next one of the same track.",
    (
        Column("track", INT, "what has the value", refers="counter_track"),
        time("from when on"),
        Column("value", "DOUBLE", "the value", "counter_track.unit"),
    ),
)
MARKER = Table(
    "marker",
    "Texts that programs wrote into the trace (trace_marker).",
    (
        TELLS,
        time("when"),
        CPU,
        thread("who wrote it"),
        Column("text", TEXT, "what was written"),
    ),
)
STATS = Table(
    "stats",
    "What is missing or doubtful, and what to do about it. Look here before believing an answer.",
    (
        Column("name", TEXT, "a stable word: lost, overrun, damage..."),
        Column("severity", TEXT, ", ".join(SEVERITIES)),
        Column("count", BIG, "how many, or how often"),
        CPU,
        time("of the first"),
        Column("about", TEXT, "a sentence"),
        Column("advice", TEXT, "what helps, if anything does"),
    ),
    order="name",
)
LOST = Table(
    "lost",
    "Where events are missing: each loss that the recording tells of, at the place where it tells of it. What stats"
    " adds up.",
    (
        time("when the next event was recorded, or the loss was told of"),
        Column("cpu", INT, "the CPU; NULL if not told"),
        Column("count", BIG, "how many; NULL if not told"),
        Column("kind", TEXT, "as stats calls it: lost, lost_samples, overrun, dropped"),
    ),
    since=2,
)

TABLES: tuple[Table, ...] = (
    RECORDING,
    STATS,
    LOST,
    PROCESS,
    THREAD,
    THREAD_NAME,
    EVENT_KIND,
    EVENT_TABLE,
    SCHED_SLICE,
    THREAD_STATE,
    WAKEUP,
    SYSCALL,
    IRQ,
    SOFTIRQ,
    FUNC,
    SAMPLE,
    CALLSITE,
    FRAME,
    COUNTER_TRACK,
    COUNTER,
    MARKER,
    SPAN,
)
SLICES = (SCHED_SLICE, THREAD_STATE, SYSCALL, IRQ, SOFTIRQ, FUNC)
"""Those that tell of what lasts, out of events."""
BY_NAME: dict[str, Table] = {t.name: t for t in TABLES}
