"""What the kernel says of its own events, and their text: fields out of raw records, and ``print fmt`` worked out.

In: texts of events/SYSTEM/EVENT/format, and raw records of one event as ``model.recording.Ragged``. Out: ``EventType``,
columns of fields (``fields``), and text as trace-cmd report and perf script print it (``print_fmt``, ``text``).
Who may import me: formats/perfdata, formats/tracedat, sources and every room above. numpy is imported by the modules
that work on columns (all but ``event_format``, ``lexer`` and ``parser``), never by this file.
"""
