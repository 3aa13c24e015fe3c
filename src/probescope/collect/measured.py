"""Costs that were measured, remembered until the next boot: ``$XDG_CACHE_HOME/probescope/costs.json``.

The file says for which boot and kernel it holds; another one's is ignored. It is ours, yet read as bytes from outside:
what is not of the form below is as good as not there. A cache that cannot be written is no error.

    {"boot_id": "...", "kernel": "6.18.44", "machine": "x86_64", "costs": {"tp_btf": {"ns": 18, "low": 17, "high": 19}},
     "missing": {"fentry": "the kernel refuses it ..."}}
"""

from __future__ import annotations

import os
from typing import Any

from probescope.collect.measure import Measured
from probescope.kernel.host import host
from probescope.kernel.machine import sysctl
from probescope.kernel.wholefile import whole_file
from probescope.plan.costs import Cost

_MOST_BYTES = 1 << 20
_MOST_NS = 1_000_000_000


def path() -> str:
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not folder.startswith("/"):  # the specification: a relative path is to be ignored
        folder = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "probescope", "costs.json")


def _key() -> dict[str, str]:
    return {"boot_id": sysctl("kernel.random.boot_id") or "", "kernel": host().release, "machine": host().machine}


def load() -> Measured:
    """What was measured since this boot; empty if nothing was."""
    import json

    try:
        with open(path(), "rb") as f:
            found = json.loads(f.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return Measured({})
    if not isinstance(found, dict) or any(found.get(k) != v for k, v in _key().items()):
        return Measured({})
    return _read(found)


def _read(found: dict[str, Any]) -> Measured:
    costs, missing = found.get("costs"), found.get("missing")
    known = {n: _cost(c) for n, c in costs.items()} if isinstance(costs, dict) else {}
    reasons = {n: str(r)[:500] for n, r in missing.items()} if isinstance(missing, dict) else {}
    return Measured({n: c for n, c in known.items() if c is not None}, reasons)


def _cost(value: Any) -> Cost | None:
    numbers = [value.get(k) for k in ("ns", "low", "high")] if isinstance(value, dict) else []
    good = [n for n in numbers if type(n) is int and 0 <= n < _MOST_NS]
    return Cost(*good) if len(good) == 3 else None


def save(measured: Measured) -> bool:
    """Whether it could be written: whole, or not at all."""
    import json

    target = path()
    text = json.dumps({**_key(), **measured.to_json()}, indent=1)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with whole_file(target) as f:
            f.write(text.encode() + b"\n")
    except OSError:
        return False
    return True
