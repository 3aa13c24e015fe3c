"""JSON that any reader takes and no terminal obeys: names of strangers with their control characters escaped."""

from __future__ import annotations

import json
from typing import Any

from probescope.model.visible import visible_json


def dumps(value: Any) -> str:
    return visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


MOST_TEXTS = 1 << 16


class Texts(dict[str, str]):
    """Texts as JSON, those met before without encoding them again."""

    def __missing__(self, text: str) -> str:
        if len(self) >= MOST_TEXTS:
            self.clear()
        found = self[text] = dumps(text)
        return found
