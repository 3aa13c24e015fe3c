"""JSON that any reader takes and no terminal obeys: names of strangers with their control characters escaped."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from probescope.model.visible import visible_json


def dumps(value: Any) -> str:
    return visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def line(value: Any) -> str:
    """An object a line, with blanks; numbers that JSON does not have (NaN, infinite) are null."""
    try:
        return json.dumps(value, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_finite(value)) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value


MOST_TEXTS = 1 << 16


class Texts(dict[str, str]):
    """Texts as JSON, those met before without encoding them again."""

    def __missing__(self, text: str) -> str:
        if len(self) >= MOST_TEXTS:
            self.clear()
        found = self[text] = dumps(text)
        return found
