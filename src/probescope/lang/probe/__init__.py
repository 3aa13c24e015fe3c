"""perf's way to define probes, as after ``probescope probe``.

In: the text of a definition, of a range of lines, of a filter. Out: values of ``model.probe_def`` and ``model.fetch``
that know nothing of this machine, or a ``ScriptError`` with its place; and, of definitions that ``sources`` found
places for, an ``ir.Program`` (``lower``). Who may import me: the rooms above.
"""
