"""Recording events of perf: opened, mapped, drained into a perf.data file, finished so that perf itself reads it.

In: ``RecordRequest`` (what, of whom, how, where to). Out: files, and ``Recorded``: how much, how much was lost.
api and cli may import this; collect/stream reuses the rings.

    sampling    options of record -> attributes of events
    opening     one event on one place, with what older kernels lack left out
    rings       all events on all places, one ring for each place: ``Rings``
    sizes       of rings
    behind      what comes fast, written by a thread
    starting    what was there before: kernel, modules, tasks and their maps, as records
    bpf_programs    those that were loaded before
    files       names, rotation, header and features of the files
    hits        which mapped files the samples are in; build-ids and symbols of those
    off_cpu     time that threads waited, as samples at the end
    trigger     an event that begins another file
    control     commands that come through a fifo while it records
    session     from open to finish: ``record``
"""
