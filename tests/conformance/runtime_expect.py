"""Whether an output is what a case expects. ``check`` gives the first expectation that is not met."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from runtime_case import FILE, JSON, Case, Expectation


def check(case: Case, output: str, folder: Path) -> str:
    """Empty, or what is wrong. Files of expected output are named relative to ``folder``."""
    for expectation in case.expectations:
        wrong = _wrong(case, expectation, output, folder)
        if wrong:
            return wrong
    return ""


def _wrong(case: Case, expectation: Expectation, output: str, folder: Path) -> str:
    kind, text = expectation.kind, expectation.text
    if kind in {FILE, JSON}:
        expected = (folder / text).read_text().strip()
        if kind == FILE:
            moment = int(case.one("LOCALIZE_TIMESTAMPS", "-1"))
            expected = expected if moment < 0 else time.strftime(expected, time.localtime(moment))
            same = output.strip() == expected
        else:
            same = _documents(output, lines=text.endswith(".ndjson")) == _documents(expected, lines=None)
        return "" if same else f"{kind} {text}:\n{expected}"
    pattern = text if "REGEX" in kind else rf"^\s*{re.escape(text)}\s*$"
    found = re.search(pattern, output, re.MULTILINE) is not None
    return "" if found != kind.endswith("_NONE") else f"{kind} {text}"


def _documents(text: str, *, lines: bool | None) -> object:
    """One document, or one a line where ``lines``; ``None``: as many as there are, since a file may be indented."""
    try:
        if lines is None:
            try:
                return [json.loads(text)]
            except ValueError:
                return [json.loads(line) for line in text.strip().splitlines()]
        found = text.strip().splitlines()
        return [json.loads(line) for line in found] if lines or len(found) == 1 else f"{len(found)} lines"
    except ValueError as e:
        return f"no JSON: {e}"
