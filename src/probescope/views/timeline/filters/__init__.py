"""The language of filters: ``event ~ "sched:*" and (task == "bash" or cpu in 0,2-3) and not prev_prio < 100``.

In: text. Out: conditions of SQL over event, and masks over threads and CPUs. Who may import me: the timeline.

    text ── parse ──► tree ──┬── sql ────► a condition, with its parameters
                             └── masks ──► which threads and CPUs may match
"""
