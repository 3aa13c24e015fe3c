"""The command line: one file a subcommand; argument parsing and printing only. Nothing imports this room.

``main.py`` looks at the first word and imports only what it names: start-up is a feature.
"""
