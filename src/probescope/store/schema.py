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

from probescope.store.columns import BIG, FLAG, INT, NO_NUMBER, NS, TEXT, Column, Table, a_slice, ident, thread, time

VERSION = 1
"""Of the layout: stores of another one are built anew."""

IDLE = 0
"""``utid`` and ``upid`` of the idle threads of all CPUs, which have one number: 0."""

STATES = {
    "running": "it is on a CPU",
    "runnable": "it could run, and waits for a CPU: it was woken up, or had to leave one",
    "sleeping": "it waits for something and can be interrupted (S), or waits to be frozen or parked (I, P)",
    "blocked": "it waits and cannot be interrupted (D): mostly for disks, or for locks of the kernel",
    "stopped": "by a signal or by a debugger (T, t)",
    "dead": "it has ended (X, Z)",
}
"""Values of ``thread_state.state``."""

SEVERITIES = {
    "error": "events are missing, and answers are wrong where they would have been",
    "warning": "something is missing or uncertain: some answers are incomplete",
    "info": "worth knowing",
}
"""Values of ``stats.severity``."""


CPU = Column("cpu", INT, "the CPU")
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
SCHED_SLICE = Table(
    "sched_slice",
    "Who was on which CPU: from one sched_switch of a CPU to its next one. The idle threads are among them (utid 0).",
    (
        ident("number of the row", "sched_slice"),
        *a_slice("when the thread got the CPU", "when it left it"),
        CPU,
        thread(),
        Column("end_state", TEXT, "why it left: R (it had to), R+ (preempted), S, D, T, t, X, Z, P, I"),
        Column("prio", INT, "the kernel's priority: 120 is nice 0, below 100 is real time", null=NO_NUMBER),
    ),
    key="id",
)
THREAD_STATE = Table(
    "thread_state",
    "What threads did over time; the idle threads are left out. Runnable rows that begin with a wake-up are wake-up"
    " latencies.",
    (
        ident("number of the row", "thread_state"),
        *a_slice("when it began", "when it ended"),
        thread(),
        Column("state", TEXT, ", ".join(STATES) + "; NULL before the first thing that is known of it"),
        Column("cpu", INT, "where it runs; of other states, where it ran last"),
        Column("wakeup", BIG, "of runnable rows, the wake-up: NULL if it had to leave the CPU", refers="wakeup"),
        thread("of runnable rows, who woke it up", "waker_utid"),
        Column("preempted", FLAG, "of runnable rows: it had to leave a CPU, and was not woken up"),
    ),
    key="id",
)
WAKEUP = Table(
    "wakeup",
    "Wake-ups: sched_waking where it was recorded, else sched_wakeup; and sched_wakeup_new.",
    (
        ident("number of the row", "wakeup"),
        time("when"),
        Column("cpu", INT, "where it was done"),
        thread("who is woken up"),
        thread("who was on the CPU that did it; not the cause where an interrupt did it", "waker_utid"),
        Column("target_cpu", INT, "where it is to run"),
        Column("prio", INT, "of the thread that is woken up", null=NO_NUMBER),
        Column("interrupt", FLAG, "whether it was done in an interrupt; NULL if the event does not tell"),
        Column("fresh", FLAG, "whether it is the first one of a new thread"),
    ),
    key="id",
)
SYSCALL = Table(
    "syscall",
    "System calls, from raw_syscalls:* or syscalls:*.",
    (
        ident("number of the row", "syscall"),
        *a_slice("when it was entered", "when it returned"),
        Column("cpu", INT, "where it was entered; where that is not known, where it returned"),
        thread(),
        Column("nr", INT, "number of the call on its architecture"),
        Column("name", TEXT, "of the call; its number where it has none"),
        *(
            Column(f"arg{i}", BIG, "argument, as a 64-bit number; NULL if not recorded", null=NO_NUMBER)
            for i in range(6)
        ),
        Column("ret", BIG, "what it returned; NULL if it had not, or did not", null=NO_NUMBER),
        Column("error", TEXT, "name of the errno that it returned: ENOENT"),
    ),
    key="id",
)
IRQ = Table(
    "irq",
    "Interrupts: irq:irq_handler_* of devices, irq_vectors:* of the processor itself.",
    (
        ident("number of the row", "irq"),
        *a_slice("when the handler was entered", "when it was done"),
        CPU,
        thread("the thread that was interrupted"),
        Column("irq", INT, "number of the interrupt, or of the vector"),
        Column("name", TEXT, "of the handler (eth0-rx-0), or of the vector (local_timer)"),
        Column("handled", FLAG, "whether the handler took it for its own; NULL of vectors"),
    ),
    key="id",
)
SOFTIRQ = Table(
    "softirq",
    "Soft interrupts, from irq:softirq_*.",
    (
        ident("number of the row", "softirq"),
        *a_slice("when it was entered", "when it was done"),
        CPU,
        thread("the thread that was on the CPU"),
        Column("vec", INT, "its number"),
        Column("name", TEXT, "TIMER, NET_RX, SCHED, RCU..."),
        time("when it was raised on this CPU, if that was recorded", "raised_ts"),
    ),
    key="id",
)
FUNC = Table(
    "func",
    "Calls of functions of the kernel, from ftrace's function_graph.",
    (
        ident("number of the row", "func"),
        *a_slice("when it was entered", "when it returned"),
        Column("cpu", INT, "where it returned; where that is not known, where it was entered"),
        thread(),
        Column("function", TEXT, "its name; the address where it has none"),
        Column("depth", INT, "how deep below the first function that was traced"),
        Column("parent", BIG, "the call that it was called by", refers="func"),
        Column("self_dur", BIG, "without the calls that it made", NS, null=NO_NUMBER),
        Column("ret", BIG, "what it returned, if that was recorded", null=NO_NUMBER),
    ),
    key="id",
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
SPAN = Table(
    "span",
    "Spans that programs wrote into the trace: B|PID|NAME and E|PID nest in a thread, S|PID|NAME|COOKIE and F|... need"
    " not.",
    (
        ident("number of the row", "span"),
        *a_slice("when it began", "when it ended"),
        thread("the thread that began it"),
        Column("name", TEXT, "its name"),
        Column("depth", INT, "of spans that nest, how deep; NULL of others"),
        Column("parent", BIG, "of spans that nest, the one around it", refers="span"),
        Column("cookie", TEXT, "of spans that do not nest, what tells those of one name apart"),
    ),
    key="id",
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

TABLES: tuple[Table, ...] = (
    RECORDING,
    STATS,
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
