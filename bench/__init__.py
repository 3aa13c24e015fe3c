"""Side by side with bpftrace on this machine: `make bench`.

In: commands that run a script. Out: tables of medians and their ratio. Machines are noisy and shared, so a figure alone
says little: both tools take turns in one run, and only the ratio is held against a target.

    harness.py   run a command to its end and measure it; turns; rows and tables
    tools.py     the two tools as commands; a running tool and its programs in the kernel
    launch.c     starts a command and takes its times and its peak of memory
    load.c       what is traced: loops of system calls, at full speed or at a given rate
    startup.py, attach.py, hit.py, loop.py, stream.py   the benchmarks, each a function that returns rows
"""
