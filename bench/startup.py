"""From nothing to nothing: what a person waits for before anything happens."""

from __future__ import annotations

from bench.harness import Row, Settings, measure, turns
from bench.tools import Tool

SCRIPTS = {
    "empty program": "BEGIN { exit(); }",
    "one-liner": "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); } interval:ms:1 { exit(); }",
}


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    rows: list[Row] = []
    for name, script in SCRIPTS.items():
        a, b = turns(
            settings.rounds * 2,
            lambda script=script: measure(ours.command(script)),
            lambda script=script: measure(theirs.command(script)),
        )
        target = 0.5 if name == "empty program" else None
        rows += [
            Row(f"{name}: wall", "s", [u.wall for u in a], [u.wall for u in b], target),
            Row(f"{name}: CPU", "s", [u.cpu for u in a], [u.cpu for u in b]),
            Row(f"{name}: peak memory", "MB", [u.rss / 1024 for u in a], [u.rss / 1024 for u in b], target),
        ]
    return rows
