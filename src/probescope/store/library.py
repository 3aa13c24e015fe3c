"""Views that are ready to be asked: one file of SQL each, ``library/DOMAIN/NAME.sql``, which is ``DOMAIN.NAME`` in SQL.

-- What it tells, in one sentence, which may go on
-- in further lines.
-- needs: block:block_rq_issue, block:block_rq_complete      kinds of events, if it reads their tables
select ...
"""

from __future__ import annotations

import os
import re
from functools import cache

from probescope.frozen import dataclass

FOLDER = os.path.join(os.path.dirname(__file__), "library")
DOMAINS = {
    "sched": "who runs, who waits for a CPU, and who wakes whom",
    "syscalls": "system calls: counts, times, errors",
    "io": "disks: requests, queues, latencies",
    "irq": "interrupts and soft interrupts",
    "locks": "who waits for locks",
    "profile": "samples and their stacks",
}


_MENTIONED = re.compile(
    rf'\b(?:{"|".join(DOMAINS)})\b(?:"|\s|/\*.*?\*/|--[^\n]*\n)*\.'
    r"|\b(?:information_schema|duckdb_\w+|sqlite_\w+|show|use|set|pragma|describe|summarize|query)\b",
    re.IGNORECASE | re.DOTALL,
)


def mentioned(sql: str) -> bool:
    """Whether views may be meant, or what tells of all that there is."""
    return _MENTIONED.search(sql) is not None


@dataclass(frozen=True, slots=True)
class View:
    """``needs``: kinds of events whose tables it reads."""

    name: str
    about: str
    sql: str
    needs: tuple[str, ...] = ()

    @property
    def domain(self) -> str:
        return self.name.partition(".")[0]


@cache
def views() -> tuple[View, ...]:
    """By domain, in the order of ``DOMAINS``, then by name; but what reads another one comes after it."""
    files = [(domain, name) for domain in DOMAINS for name in sorted(os.listdir(os.path.join(FOLDER, domain)))]
    left = {view.name: view for view in (_read(domain, name) for domain, name in files)}
    found: list[View] = []
    while left:
        ready = next(v for v in left.values() if not any(_reads(v, other) for other in left if other != v.name))
        found.append(left.pop(ready.name))
    return tuple(found)


def _reads(view: View, other: str) -> bool:
    return re.search(rf"\b{re.escape(other)}\b", view.sql) is not None


def _read(domain: str, file: str) -> View:
    with open(os.path.join(FOLDER, domain, file), encoding="utf-8") as f:
        lines = f.read().splitlines()
    head = [line.removeprefix("--").strip() for line in lines if line.startswith("--")]
    needs = [line.removeprefix("needs:") for line in head if line.startswith("needs:")]
    about = " ".join(line for line in head if not line.startswith("needs:"))
    kinds = tuple(w.strip() for n in needs for w in n.split(",") if w.strip())
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
    return View(f"{domain}.{file.removesuffix('.sql')}", about, sql, kinds)
