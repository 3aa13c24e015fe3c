"""Programs on streams of events: a recording, or the rings of perf.

In: a ``StreamPlan`` and a ``Feed`` of ``EventBatch``es. Out: the same as from programs in the kernel: maps and records,
by way of evaluate/ and ``collect.actions``. Who may import me: session.py and the rooms above, inside functions: numpy
comes with this room.

    feed ──► EventBatch ──► tasks (who) ──► kinds (columns) ──► evaluate/columns ──► maps, records
                      `──► deadlines: intervals by the time of the events

    side        what kernel_side.py is for programs in the kernel: phases, losses, maps
    feed        where batches come from
    kinds       events of one kind as columns for evaluate/
    who         names of threads at the moment of each event
    stacks      stacks by number;  names: their frames
    moments     the time of begin, end and interval
"""
