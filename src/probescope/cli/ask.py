"""``probescope ask``: ready-made analyses of recordings, with a conclusion in plain words."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, how_many
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

EXAMPLES = """examples:
  probescope ask                          which questions there are, and what perf.data can answer
  probescope ask preemptions              by its name, about perf.data
  probescope ask who evicts whom          by words
  probescope ask iowait -i trace.dat -n 5
  probescope ask wakeups -f json
"""


def parser() -> Parser:
    p = Parser("ask", "Ask a recording a question that is ready to be asked.", EXAMPLES)
    p.add_argument("question", nargs="*", metavar="QUESTION", help="its name, or words about it; without it, a list")
    p.add_argument("-i", "--input", action="append", metavar="FILE", help="perf.data by default; may be repeated")
    p.add_argument("-n", "--rows", type=how_many, default=10, metavar="N", help="most rows of each table (10)")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default) or json")
    p.add_argument("--fresh", action="store_true", help="make the tables of the recording anew")
    p.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_intermixed_args(argv)
    if not 1 <= args.rows <= 100_000:
        raise UsageError("a table has at least one row, and at most 100,000", hints=["-n 20"])
    _no_file(args.question)
    return _ask(args) if args.question else _list(args)


def _no_file(words: list[str]) -> None:
    """Raises UsageError where a recording stands among the words, as it does with ``query``."""
    from probescope.formats.sniff import recording_kind

    for word in words:
        if word != "-" and recording_kind(word):
            rest = " ".join(w for w in words if w != word)
            named = " ".join(["probescope ask", *([rest] if rest else []), f"-i {word}"])
            raise UsageError(f"{word} is a recording, not a question", hints=[named])


def _ask(args: argparse.Namespace) -> int:
    """1 where the events were not recorded."""
    from probescope.cli.report_summaries import ask_store
    from probescope.model.visible import visible_json
    from probescope.views.ask.answer import answer
    from probescope.views.ask.question import find
    from probescope.views.ask.text import as_json, lines

    question = find(args.question)
    with ask_store(args.input or ["perf.data"], quiet=args.quiet, fresh=args.fresh) as store:
        found = answer(store, question, args.rows)
    if args.format == "json":
        sys.stdout.write(visible_json(json.dumps(as_json(found), ensure_ascii=False)) + "\n")
    else:
        sys.stdout.writelines(lines(found))
    return 1 if found.missing else 0


def _list(args: argparse.Namespace) -> int:
    from probescope.cli.report_summaries import ask_store
    from probescope.cli.tables import columns, width
    from probescope.views.ask.question import questions
    from probescope.views.summaries.said import lacking, present

    files = args.input or (["perf.data"] if os.path.exists("perf.data") else [])
    kinds: dict[str, int] | None = None
    if files:
        with ask_store(files, quiet=args.quiet, fresh=args.fresh) as store:
            kinds = present(store)
    rows = []
    for q in questions().values():
        missing = lacking(q.needs, kinds) if kinds is not None else []
        rows.append((q, missing))
    if args.format == "json":
        for q, missing in rows:
            told = {"name": q.name, "title": q.title, "needs": list(q.needs), "record": q.command}
            here = {"missing": missing} if kinds is not None else {}
            sys.stdout.write(json.dumps({**told, **here}) + "\n")
        return 0
    if kinds is None:
        short = [(q.name, q.title) for q, _ in rows]
        sys.stdout.write(columns(("question", "what it answers"), short, wide=width()))
    else:
        marked = [(q.name, "no" if missing else "yes", _about(q.title, missing)) for q, missing in rows]
        sys.stdout.write(columns(("question", "here", "what it answers"), marked, wide=width()))
    return 0


def _about(title: str, missing: list[str]) -> str:
    return f"{title}; needs {', '.join(' or '.join(n.split('|')) for n in missing)}" if missing else title
