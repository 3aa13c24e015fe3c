"""From a recording to the tables of a store, in one walk through it.

In: a recording that is open, and an empty DuckDB database. Out: the tables of ``schema``. Who may import me: store/
alone, inside functions: numpy comes with every module here.

    batch ──► changes, people ──► who each thread was at that moment (utid)
          ├─► kinds ────────────► the table of each kind of event
          ├─► stacks ───────────► callsite, frame
          └─► sched, calls, interrupts, graph, marks ──► slices    by pairing: what begins and what ends it
    all of it ──► sink ──► DuckDB, in large pieces
"""
