"""Languages: program text -> ``ir.Program``.

What comes in: a script's text, its parameters, the catalogue of probes and types of a host (as protocols).
What goes out: a typed program of ``probescope.ir``, or a ``ScriptError`` whose diagnostics show every finding.
Who may import me: plan, collect, tools, api, cli. One package per language; a language never knows another.
"""
