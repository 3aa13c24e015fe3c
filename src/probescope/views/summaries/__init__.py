"""What recordings come to, for a terminal: scheduling, system calls, interrupts, waits for a CPU.

In: a store of recordings (``store.opening.Asked``) and a piece of time. Out: ``Said``, line by line: text for people,
and the same as values for JSON. The tables are perf's (sched latency, sched timehist, trace -s, kwork report); columns
that perf has not come after them. cli/ may import this.
"""
