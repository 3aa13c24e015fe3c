"""What `trace-cmd report` shows of a trace.dat, with its options.

In: batches of a ``formats.tracedat.TraceDat`` and what of them is wanted. Out: texts. Who may import me: cli.

    filtering    'sched_switch: prev_pid == 1 && COMM ~= x'   text -> tree -> mask over a batch
    lines        formats/tracing/text's lines, raw, with differences of time, as latency tracers have them
    choosing     events of some CPUs, without those in interrupts, with times moved
    wakeups      how long woken tasks waited
"""
