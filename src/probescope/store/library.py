"""Views that are ready to be asked: one file of SQL each, ``library/DOMAIN/NAME.sql``, which is ``DOMAIN.NAME`` in SQL.

-- What it tells, in one sentence, which may go on
-- in further lines.
-- needs: block:block_rq_issue, block:block_rq_complete      kinds of events, if it reads their tables
select ...
"""

from __future__ import annotations

import os
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
    """By domain, in the order of ``DOMAINS``, then by name; what reads another one comes after it."""
    found = [_read(domain, name) for domain in DOMAINS for name in sorted(os.listdir(os.path.join(FOLDER, domain)))]
    return tuple(found)


def _read(domain: str, file: str) -> View:
    with open(os.path.join(FOLDER, domain, file), encoding="utf-8") as f:
        lines = f.read().splitlines()
    head = [line.removeprefix("--").strip() for line in lines if line.startswith("--")]
    needs = [line.removeprefix("needs:") for line in head if line.startswith("needs:")]
    about = " ".join(line for line in head if not line.startswith("needs:"))
    kinds = tuple(w.strip() for n in needs for w in n.split(",") if w.strip())
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
    return View(f"{domain}.{file.removesuffix('.sql')}", about, sql, kinds)
