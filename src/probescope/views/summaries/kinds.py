"""Summaries by their options."""

from __future__ import annotations

from probescope.views.summaries import irq, sched, syscalls, timehist, waits
from probescope.views.summaries.said import Kind

_SWITCHES = (
    "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_stat_runtime,"
    "sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit"
)
KINDS: dict[str, Kind] = {
    "sched": Kind(("sched:sched_switch",), _SWITCHES, sched.say),
    "timehist": Kind(("sched:sched_switch",), _SWITCHES, timehist.say),
    "syscalls": Kind(
        ("raw_syscalls:sys_exit|syscalls:sys_exit_*",), "raw_syscalls:sys_enter,raw_syscalls:sys_exit", syscalls.say
    ),
    "irq": Kind(
        ("irq:irq_handler_entry|irq:softirq_entry|irq_vectors:*_entry",),
        "irq:*,irq_vectors:local_timer_entry,irq_vectors:local_timer_exit",
        irq.say,
    ),
    "latency": Kind(("sched:sched_switch",), _SWITCHES, waits.say),
}
