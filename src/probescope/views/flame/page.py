"""Flame graphs as one HTML page: the stacks themselves with a program that draws them. No network, no other file.

<script type="application/gzip">  base64(gzip(JSON))   frames, tree, rows; the page lays out what is selected
Content-Security-Policy           nothing but the page's own script and style, known by their hashes
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib import resources
from typing import Any

from probescope.views.flame.stacks import StackSamples

_PARTS = ("page.css", "page.js", "page.html")


def render(samples: StackSamples, title: str = "", notes: tuple[str, ...] = ()) -> str:
    """The page's text. ``notes``: lines shown above the graph, such as what was lost."""
    style, script, page = (resources.files("probescope.views.flame").joinpath(p).read_text("utf-8") for p in _PARTS)
    packed = gzip.compress(json.dumps(document(samples), separators=(",", ":")).encode(), 6, mtime=0)
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    values = {
        "policy": policy,
        "title": escape(title or "Flame graph"),
        "notes": "".join(f"<p>{escape(n)}</p>" for n in notes),
        "style": style,
        "script": script,
        "data": base64.b64encode(packed).decode("ascii"),
    }
    return _filled(page, values)


def document(samples: StackSamples) -> dict[str, Any]:
    """What the page reads: columns, one item a row."""
    return {
        "unit": samples.unit,
        "slots": samples.slots,
        "times": list(samples.times),
        "frames": [f.encode("utf-8", "replace").decode() for f in samples.frames],
        "parent": samples.parent,
        "frame": samples.frame,
        "groups": [[g.process, g.pid, g.tid, g.cpu] for g in samples.groups],
        "rows": _columns(samples.rows),
        "base": None if samples.base is None else _columns(samples.base),
    }


def _columns(rows: Mapping[tuple[int, int, int], float]) -> dict[str, list[float]]:
    keys = list(rows)
    return {
        "node": [k[0] for k in keys],
        "group": [k[1] for k in keys],
        "slot": [k[2] for k in keys],
        "weight": [int(w) if w == int(w) else w for w in rows.values()],
    }


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _filled(page: str, values: Mapping[str, str]) -> str:
    """``page`` with each ``{{name}}`` replaced, once: what is filled in is not looked at again."""
    out: list[str] = []
    for i, piece in enumerate(page.split("{{")):
        if i == 0:
            out.append(piece)
            continue
        name, _, rest = piece.partition("}}")
        out += [values[name], rest]
    return "".join(out)
