"""Tables of what lasts, and of wake-ups: a part of ``schema``."""

from __future__ import annotations

from probescope.store.columns import BIG, FLAG, INT, NO_NUMBER, NS, TEXT, Column, Table, a_slice, ident, thread, time

CPU = Column("cpu", INT, "the CPU")
STATES = {
    "running": "it is on a CPU",
    "runnable": "it could run, and waits for a CPU: it was woken up, or had to leave one",
    "sleeping": "it waits for something and can be interrupted (S), or waits to be frozen or parked (I, P)",
    "blocked": "it waits and cannot be interrupted (D): mostly for disks, or for locks of the kernel",
    "stopped": "by a signal or by a debugger (T, t)",
    "dead": "it has ended (X, Z)",
}
"""Values of ``thread_state.state``."""


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
