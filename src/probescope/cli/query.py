"""``probescope query``: SQL on recordings."""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser
from probescope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.store.opening import Asked

EXAMPLES = """examples:
  probescope query perf.data 'select name, events from event_kind'
  probescope query perf.data 'select * from sched.latency limit 10'
  probescope query .tables                                what there is in perf.data; .views: what is ready to be asked
  probescope query perf.data '.schema thread_state'
  probescope query host.dat guest.dat@-1.25 '...'         both together, the second moved back by 1.25 s
  probescope query trace.dat -f jsonl -o slow.jsonl 'select * from syscall where dur > 1000000'
  probescope query trace.dat                              a prompt with history and completion
  probescope query perf.data --parquet tables/            every table as a file; such a folder can be asked as well

The first time, tables are made of the recording, and kept. docs/query.md and docs/store.md say what is in them.
"""
FORMATS = ("table", "csv", "json", "jsonl", "parquet")


def parser() -> Parser:
    p = Parser("query", "Ask recordings by SQL.", EXAMPLES)
    about = "recordings (perf.data), each perhaps with @SECONDS to move it by, then SQL or a word like .tables"
    p.add_argument("words", nargs="*", metavar="FILE|SQL", help=about)
    p.add_argument("-f", "--format", choices=FORMATS, help="table (default), csv, json, jsonl or parquet")
    p.add_argument("-o", "--output", metavar="OUT", default="-", help="where to (stdout)")
    p.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="what $NAME stands for")
    p.add_argument("--save", metavar="NAME", help="keep the query under this name")
    p.add_argument("--saved", metavar="NAME", help="ask the query that was kept under this name")
    p.add_argument("--parquet", metavar="DIR", help="write every table of the recording into this folder")
    p.add_argument("--fresh", action="store_true", help="make the tables anew")
    p.add_argument("--memory", metavar="SIZE", default="1GB", help="most that a query may use (1GB)")
    p.add_argument("--wide", action="store_true", help="cells of tables are not cut")
    p.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
    return p


def main(argv: list[str]) -> int:
    from probescope.cli.query_saved import load, save

    args = parser().parse_intermixed_args(argv)
    files, text = _sorted_out(args.words)
    params = _params(args.param)
    if args.saved:
        if text:
            raise UsageError("--saved NAME is a query already", hints=[f"leave it away, or '{_short(text)}'"])
        text = load(args.saved)
    if args.save:
        if not text:
            raise UsageError("there is no query to be kept", hints=["probescope query --save NAME 'select ...'"])
        save(args.save, text)
    if not text and not args.parquet and not sys.stdin.isatty():
        text = sys.stdin.read()
    with _opened(files, args) as asked:
        if not args.quiet:
            _tell_losses(asked)
        if args.parquet:
            return _parquet(asked, args)
        if text.strip():
            return answer(asked, text, args, params)
        from probescope.cli.query_prompt import prompt

        return prompt(asked, args)


def _sorted_out(words: Sequence[str]) -> tuple[list[tuple[str, int]], str]:
    """Files with their offsets, and the query. A word is a file where there is one; else it is the query if it is the
    last one."""
    from probescope.store.opening import named

    files = list(words)
    text = files.pop() if files and not _is_file(files[-1]) and _is_query(files[-1], len(files) == 1) else ""
    early = next((w for w in files if not text and not _is_file(w) and any(c.isspace() for c in w)), None)
    if early is not None:
        raise UsageError(f"'{_short(early)}' is no file", hints=["recordings come first: probescope query FILE 'SQL'"])
    return [named(w) for w in files or ["perf.data"]], text


def _is_file(word: str) -> bool:
    return word == "-" or os.path.exists(word) or os.path.exists(word.rpartition("@")[0])


def _is_query(word: str, alone: bool) -> bool:
    """A single word that is no file is a name that was mistyped, but for words like .tables."""
    return any(c.isspace() for c in word.strip()) or word.startswith(".") or (not alone and word.isidentifier())


def _params(given: list[str]) -> dict[str, object]:
    out: dict[str, object] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"-p {word}: this is not NAME=VALUE", hints=["-p pid=42 'select ... where pid = $pid'"])
        try:
            out[name] = int(value)
        except ValueError:
            out[name] = value
    return out


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _opened(files: list[tuple[str, int]], args: argparse.Namespace) -> Asked:
    from probescope.cli.progress import Progress
    from probescope.cli.symbols import plain_search
    from probescope.store.opening import Asked

    progress = None if args.quiet else Progress(f"making tables of {', '.join(f for f, _ in files)}")
    try:
        return Asked(
            files,
            fresh=args.fresh,
            step=progress or (lambda *_: None),
            search=plain_search,
            memory=_size(args.memory),
        )
    finally:
        if progress is not None:
            progress.close()


def _size(text: str) -> str:
    """As DuckDB takes it. Raises UsageError."""
    import re

    if not re.fullmatch(r"\d{1,6}(\.\d+)?\s*([KMGT]i?B)", text, re.IGNORECASE):
        raise UsageError(f"--memory {text}: this is no size", hints=["--memory 512MB", "--memory 4GB"])
    return text


def _tell_losses(asked: Asked) -> None:
    from probescope.model.visible import visible

    found = asked.query(
        "select r.path, s.name, sum(s.count)::bigint, any_value(s.about) from stats s"
        " join recording r on r.id = s.recording where s.severity <> 'info' group by 1, 2 order by 1, 3 desc"
    )
    rows = list(found.tuples())
    for path, _, count, about in rows[:5]:
        sys.stderr.write(visible(f"WARNING: {os.path.basename(path)}: {count} times: {about}\n"))
    if rows:
        sys.stderr.write("HINT: select * from stats tells more\n")


def _parquet(asked: Asked, args: argparse.Namespace) -> int:
    from probescope.cli.progress import Progress
    from probescope.store.parts import write_parquet

    if len(asked.parts) != 1:
        raise UsageError("--parquet writes the tables of one recording", hints=["once for each of them"])
    progress = Progress(f"writing {args.parquet}")
    try:
        count = write_parquet(asked.parts[0], args.parquet, progress)
    finally:
        progress.close()
    if not args.quiet:
        sys.stderr.write(f"{count} tables in {args.parquet}\n")
    return 0


def answer(asked: Asked, text: str, args: argparse.Namespace, params: dict[str, object]) -> int:
    """The exit code. ``text``: SQL, or a word like ``.tables``."""
    from probescope.cli.outfile import OutFile

    kind = args.format or _by_ending(args.output)
    if text.lstrip().startswith("."):
        from probescope.cli.query_words import word

        sys.stdout.write(word(asked, text.strip()))
        return 0
    if kind == "parquet" and args.output == "-" and sys.stdout.isatty():
        raise UsageError("Parquet is nothing for a terminal", hints=["-o FILE.parquet"])
    if kind == "parquet":
        with OutFile(args.output) as out:
            asked.write_parquet(text, out.file)
        return 0
    found = asked.query(text, params)
    with OutFile(args.output) as out:
        from probescope.views.query import write

        wrapped = io.TextIOWrapper(out.file, "utf-8", "replace", newline="")
        write(kind, wrapped, found.columns, found.types, found.tuples(), wide=args.wide)
        wrapped.detach()
    return 0


def _by_ending(output: str) -> str:
    ending = output.rpartition(".")[2].lower()
    return {"ndjson": "jsonl"}.get(ending, ending if ending in FORMATS else "table")
