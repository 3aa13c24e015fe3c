"""SQL beside the picture, and filters that are checked while they are written."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from probescope.errors import LimitError
from probescope.views.timeline.filters.sql import condition
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import Reply

if TYPE_CHECKING:
    from probescope.store.result import Result

MOST_ROWS = 10_000
MOST_COUNTED = 100_000
MOST_S = 60.0
MOST_CELL = 10_000
MOST_REPLY = 8 << 20
"""Characters of all cells together."""
FETCHED = 64
EXACT = 1 << 53
"""Larger numbers lose digits in JavaScript: they go as texts."""
_TIMES = re.compile(r"(?<![:\w]):(start|end)\b")
_USED = re.compile(r"\$(start|end)\b")
_WORD = re.compile(r"[\w.:]*$")
KEYWORDS = (
    *(
        "select",
        "from",
        "where",
        "group by",
        "order by",
        "limit",
        "join",
        "left join",
        "using",
        "on",
        "as",
        "and",
        "or",
    ),
    *("not", "in", "between", "like", "is null", "having", "distinct", "case", "when", "then", "else", "end", "with"),
    *("count(*)", "sum", "avg", "min", "max", "quantile_cont", "$start", "$end"),
)


def answer_sql(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    sql = _TIMES.sub(r"$\1", str(args["sql"]))
    limit = min(max(int(args.get("limit", 1000)), 1), MOST_ROWS)
    times = {"start": args.get("start", 0), "end": args.get("end", opened.length)}
    params = {name: int(times[name]) + opened.origin for name in set(_USED.findall(sql))}
    began = time.monotonic()
    with timed(ticket):
        found = opened.asked.query(sql, params, ticket.cursor(), reading=True)
        rows, more = _rows(found, limit)
    ms = round((time.monotonic() - began) * 1000, 1)
    columns = [{"name": n, "type": t} for n, t in zip(found.columns, found.types, strict=True)]
    return Reply({"columns": columns, "rows": rows, "cut": more, "ms": ms})


def _rows(found: Result, limit: int) -> tuple[list[list[Any]], int]:
    """As many as are wanted and as fit into a reply, and how many more there are. They are fetched in small parts: a
    few rows may have all that fits."""
    rows: list[list[Any]] = []
    room, more = MOST_REPLY, 0
    for part in found.chunks(1, FETCHED):
        for row in part:
            if len(rows) < limit and room > 0:
                rows.append([cell(v) for v in row])
                room -= sum(len(v) if isinstance(v, str) else 8 for v in rows[-1])
            else:
                more += 1
        if more >= MOST_COUNTED or (more and room <= 0):
            break
    return rows, more


@contextmanager
def timed(ticket: Ticket) -> Generator[None]:
    """What takes too long is ended. Raises LimitError."""
    began = time.monotonic()
    timer = threading.Timer(MOST_S, ticket.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    except LimitError as e:
        if time.monotonic() - began < MOST_S:
            raise
        hints = ["a part of the time: ts between $start and $end"]
        raise LimitError(f"the query took more than {MOST_S:.0f} s", hints=hints) from e
    finally:
        timer.cancel()


def cell(value: Any) -> Any:
    """As JSON has it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value[:MOST_CELL]
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value[:MOST_CELL]).hex()
    return str(value)[:MOST_CELL]


def answer_complete(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    """Words that may be meant where the caret is; those that belong to tables of the query first."""
    sql = str(args["sql"])[:100_000]
    at = min(max(int(args["at"]), 0), len(sql))
    found = _WORD.search(sql[:at])
    word = found[0] if found else ""
    asked = opened.asked
    used = [n for n in (*asked.tables, *asked.views) if re.search(rf"(?<![\w.]){re.escape(n)}(?!\w)", sql)]
    columns = [c.name for n in used if n in asked.tables for c in asked.columns(n)]
    names = [n if ":" not in n else f'"{n}"' for n in (*asked.tables, *asked.views)]
    last = word.rpartition(".")[2]
    words: dict[str, str] = {}
    for kind, some in (("column", columns), ("table", names), ("word", KEYWORDS)):
        for one in some:
            plain = one.strip('"').lower()
            if plain.startswith(word.lower()) or (kind == "column" and plain.startswith(last.lower())):
                words.setdefault(one, kind)
    return Reply({"from": at - len(word), "words": [{"text": t, "kind": k} for t, k in list(words.items())[:50]]})


def answer_check(opened: Opened, args: Mapping[str, Any], ticket: Ticket) -> Reply:
    condition(opened, str(args["filter"]))
    return Reply({})
