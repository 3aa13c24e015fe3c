"""A function, layer by layer: who calls it, with which arguments, how long it takes, what it returns, what it calls.

In: a function of a program or of the kernel with its probes, and maps and sums that were measured. Out: programs of the
bpftrace language, panes of rows, and the way that was walked as a script. Who may import me: cli/.

    subject   a function, its probes, its arguments -> what a program asks of them
    program   steps -> one program for all of them, and the command of each alone
    panes     what was measured -> rows, some of which lead to another function
    stacks    stacks -> who called, and whole ways
    callees   machine code -> the functions that it calls
    text      panes as lines and as documents
    walk      functions and panes so far -> a script
"""
