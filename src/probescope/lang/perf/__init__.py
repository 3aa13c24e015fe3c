"""perf's way to write events, as after ``-e``.

In: the text. Out: ``model.perf_spec`` values that know nothing of this machine, or a ``ScriptError``. Who may import
me: the rooms above. ``sources/perf_events.py`` finds what the names mean here.
"""
