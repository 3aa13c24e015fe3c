"""From one event to another: what is asked, as a program of any collector, and as synthetic events of the kernel.

In: the words of a command line. Out: ``model.latency.Pairs`` as they happen. Used by cli/.

    words.py      the words -> what is asked
    program.py    what is asked -> a program, which bpf, perf, ftrace or a recording answers
    definition.py what is asked -> the kernel's own: a synthetic event and the two triggers that make it
    synthetic.py  these in an instance of ours, and its records as pairs
"""
