"""Programs over columns: what ``evaluate.machine`` does a row at a time, done for all events of a batch at once.

In: clauses and ``Events`` (columns of one kind of event). Out: additions to maps, the same as the machine would make.
Who may import me: collect/ and tests, inside functions: numpy comes with this room.

    values    numbers, texts by code, tuples of both; groups of equal rows
    number    arithmetic at the widths and signs of C
    expr      expressions -> functions of a ``View``
    agg       count, sum, min, max, avg, hist, lhist of groups
    clause    statements -> additions; why a clause cannot be run in columns
    hoist     what of the others is worked out in columns all the same
    runner    which clauses run in columns, which a row at a time, and both in order over a batch

Only what does not depend on the order of events runs in columns: aggregations, under a predicate and keys that read no
map. The machine is the definition; a property test holds the two together.
"""
