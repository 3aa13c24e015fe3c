"""ftrace at work: a private instance set up, its buffers read as they fill, everything put back.

In: ``Setup``, data. Out: batches of events, counts of what was lost. Used by cli/ and by collectors.

    setup.py   what is asked: tracer, functions, events, processes
    arming.py  writes it into tracefs, and undoes it
    live.py    pages of all CPUs -> batches in order of time
    guard.py   watches the rate, and backs off
    run.py     a command or some seconds under it all
"""
