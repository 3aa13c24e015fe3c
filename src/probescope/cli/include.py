"""``probescope include``: where the header is that marks one's own code."""

from __future__ import annotations

import os
import sys

from probescope.cli.parsing import Parser

EXAMPLES = """examples:
  probescope include
  cc -I"$(probescope include)" -O2 -o server server.c
"""


def parser() -> Parser:
    return Parser("include", "Print the folder of probescope.h, by which C and C++ programs mark their code.", EXAMPLES)


def main(argv: list[str]) -> int:
    parser().parse_args(argv)
    sys.stdout.write(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "include") + "\n")
    return 0
