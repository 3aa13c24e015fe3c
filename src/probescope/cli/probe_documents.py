"""``probe -V``, ``-L``, ``-F``, ``-l`` and ``-D`` with ``-f json``: what each tells as documents, one a line.

The keys are told in docs/probe.md. Addresses are numbers; of a program as its file has them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probescope.model.probe_found import ProbeEvent
    from probescope.sources.probe_events import KeptEvent

Document = Mapping[str, object]


def write(documents: Iterable[Document]) -> None:
    import json

    from probescope.model.visible import visible_json

    for document in documents:
        sys.stdout.write(visible_json(json.dumps(document)) + "\n")


def declared(text: str) -> dict[str, object]:
    """``TYPE<tab>NAME`` as its parts."""
    kind, _, name = text.partition("\t")
    return {"name": name, "type": kind}


def of_event(e: ProbeEvent) -> Document:
    """What ``-D`` tells: the place, and the line for tracefs. A file and a line that nobody knows are left out."""
    f = e.found
    out: dict[str, object] = {"event": e.name, "definition": e.definition(), "path": f.path, "module": f.module}
    out |= {"function": f.function or f.symbol, "offset": f.inside if f.path else f.offset, "return": f.ret}
    out |= {"inlined": f.inlined, "arguments": [a.fetch.name for a in f.args], "untold": list(e.untold())}
    return out | ({"file": f.file} if f.file else {}) | ({"line": f.line} if f.line else {})


def of_kept(e: KeptEvent, about: str) -> Document:
    """What ``-l`` tells. ``about``: where that is, in words."""
    out: dict[str, object] = {"event": e.name, "definition": e.definition, "place": e.place, "return": e.ret}
    return out | {"arguments": list(e.args), "about": about}
