"""The examples under each command's --help, as command lines."""

from __future__ import annotations

import re
import shlex
from importlib import import_module

from probescope.cli.main import COMMANDS, usage

LINE = re.compile(r"^  (?:eval \"\$\()?(probescope .*?)(?:\s{2,}.*|\)\")?$", re.MULTILINE)


def help_text(command: str) -> str:
    return import_module(f"probescope.cli.{COMMANDS[command][0]}").parser().format_help()


def examples(text: str) -> list[str]:
    """Command lines as they stand there, without the remark behind them; only what follows ``examples:``."""
    return LINE.findall(text.partition("examples:\n")[2].partition("\n\n")[0] + "\n")


def words(line: str) -> list[str]:
    """Its arguments, up to where the shell takes over; ``$$`` is the process 1."""
    found = shlex.split(line.replace("$$", "1"))[1:]
    cut = next((i for i, w in enumerate(found) if w in ("|", ">", "&&", ";")), len(found))
    return found[:cut]


def all_examples() -> list[tuple[str, str]]:
    """(command, line) of every help page, and of the tool's own."""
    out = [("", line) for line in examples(usage())]
    for command in COMMANDS:
        out += [(command, line) for line in examples(help_text(command))]
    return out
