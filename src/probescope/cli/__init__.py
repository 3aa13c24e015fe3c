"""The command line: one module a subcommand, and the only room that prints and chooses exit codes.

In: arguments. Out: text on standard output, diagnostics on standard error, an exit code. Nothing imports this but the
``probescope`` script. Modules are imported when their subcommand is named, so that a start pays only for what it uses.
"""
