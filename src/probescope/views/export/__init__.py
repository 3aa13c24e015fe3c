"""Recordings for other programs: from what a recording tells to what writers in ``formats`` take.

In: an opened recording (perf.data, trace.dat), or folded text, and a ``selection.Selection``. Out: ``SampleBatch``
columns with a ``StackTable``, rows of tables, or bytes through a writer. Who may import me: cli/ and api. Batches go
through one at a time; what is kept grows with different stacks and threads.

    source.PerfSource   ──┐           ┌─ samples.Sampler ─► folded, pprof, speedscope, chrome, firefox
    source.TraceSource  ──┼─► Piece ──┼─ rows.Rows ───────► csv, jsonl, parquet
    selection.Selection ──┘           └─ timeline ────────► perfetto
"""
