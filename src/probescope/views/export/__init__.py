"""Recordings for other programs: from what a recording tells to what writers in ``formats`` take.

In: an opened recording (perf.data, trace.dat), or folded text, and a ``selection.Selection``. Out: bytes, through a
writer of ``formats``. Who may import me: cli/ and api. Batches go through one at a time; what is kept grows with
different stacks and threads.

    source.PerfSource   ──┐           ┌─ samples.Sampler ─► folded, pprof, speedscope      SampleBatch, StackTable
    source.TraceSource  ──┼─► Piece ──┼─ timeline, perfetto, firefox ─► the same, and fields of events
    selection.Selection ──┘           ├─ rows.Rows ─► csv, jsonl, parquet
                                      └─ cut ─► perf.data, trace.dat

kinds lists the formats, writers.export is the way in.
"""
