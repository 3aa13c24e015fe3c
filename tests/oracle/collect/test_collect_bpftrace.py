"""The same script, the same traced program, two tools: what they print must be the same.

Scripts are written in what bpftrace 0.17 and its successors both take. Times, addresses and process ids are kept out.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import environment, run


def _scripts() -> dict[str, tuple[str, str]]:
    """Name -> what ``work`` is to do, and the script; WORK in it stands for the path of that program."""
    text = Path(__file__).with_name("scripts.txt").read_text()
    blocks = re.findall(r"^== (.+) \| (.+)\n((?:(?!== ).*\n?)*)", text, re.MULTILINE)
    return {name: (args, script.strip()) for name, args, script in blocks}


SCRIPTS = _scripts()


def peer(script: str, command: str, *words: str) -> list[str]:
    args = ["bpftrace", "-q", "-e", script, "-c", command, *words]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    return comparable(done.stdout)


EMPTY_BUCKET = re.compile(r"^\[.* 0 \| +\|$")


def comparable(text: str) -> list[str]:
    """Lines without blanks at their ends. Empty lines are left out, and empty buckets, of which bpftrace 0.17 shows
    some behind the last one. Entries of a map whose values are equal come in no order that is said: lines that begin
    with @ are sorted, each with what belongs to it."""
    blocks: list[list[str]] = []
    for line in map(str.rstrip, text.splitlines()):
        if not line or EMPTY_BUCKET.match(line):
            continue
        if line.startswith("@") or not blocks:
            blocks.append([])
        blocks[-1].append(line)
    first = [] if not blocks or blocks[0][0].startswith("@") else blocks.pop(0)
    return [*first, *(line for block in sorted(blocks) for line in block)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_collect_as_bpftrace(name: str) -> None:
    """Same lines, in the same order."""
    if shutil.which("bpftrace") is None:
        pytest.skip("needs bpftrace")
    args, script = SCRIPTS[name]
    script = script.replace("WORK", work())
    words = ("7", "some text") if name == "positional" else ()
    expected = peer(script, f"{work()} {args}", *words)
    done = run(script, "-q", "-c", f"{work()} {args}", *words)
    assert done.code == 0, done.err
    assert comparable(done.out) == expected
    assert expected


AS_JSON = ["fields", "hist by key", "lhist", "tuple key", "print tuple", "print top", "print values", "begin and end"]
AS_JSON += ["map of strings", "usdt", "uprobe text", "join", "time format", "cat", "sum avg min max", "buffer"]


def documents(text: str) -> list[str]:
    """Documents with the keys of their objects in order; how many probes a tool counts is its own affair."""
    found = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [json.dumps(d, sort_keys=True) for d in found if d["type"] != "attached_probes"]


@pytest.mark.parametrize("name", AS_JSON)
def test_collect_json_as_bpftrace(name: str) -> None:
    """-f json: the same documents."""
    if shutil.which("bpftrace") is None:
        pytest.skip("needs bpftrace")
    args, script = SCRIPTS[name]
    script, command = script.replace("WORK", work()), f"{work()} {args}"
    words = ["bpftrace", "-f", "json", "-e", script, "-c", command]
    peer = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment(), check=False)
    done = run(script, "-f", "json", "-c", command)
    assert sorted(documents(done.out)) == sorted(documents(peer.stdout))
    assert documents(peer.stdout)
