"""The language of bpftrace.

    text --lexer, parser--> ast --macros--> ast --check, lower--> ir.Program

What comes in: text. What goes out: ``bt.ast.Program`` from the syntax half (``frontend.py``), ``ir.Program`` from the
other. Who may import me: whoever may import ``probescope.lang``.
"""
