"""Calls of functions as they happen, from whatever can see them: who called what, for how long.

In: ``GraphRequest``, data. Out: a ``Calls``, which gives columns of entries and returns in order of time. Used by cli/.

    request.py    what is asked
    ways.py       which mechanism answers here, and what is said about it
    functions.py  patterns to functions; how many, and how often they are called
    traced.py     ftrace's function_graph
    probed.py     probes at each function: uprobes, fentry, kprobes, system calls
    nesting.py    depth and time of calls that were probed
    recorded.py   a trace.dat, or the text of one
    mixed.py      a program's functions with the kernel's below them: two streams of one clock
    kept.py       pages of ftrace's buffers on their way into a trace.dat
"""
