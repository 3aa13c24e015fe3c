"""Files of others, in and out: perf.data, trace.dat and what viewers read.

In: an open binary file (or a path) and, for writers, batches of events. Out: a ``model.recording.Recording``, or bytes.
Who may import me: sources and every room above it. Nothing here touches Linux or knows of processes that run. Bytes are
hostile: every reader gives a typed error or a partial result with its damage counted, in memory that does not grow with
the file.
"""
