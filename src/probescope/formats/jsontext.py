"""JSON that any reader takes and no terminal obeys: names of strangers with their control characters escaped."""

from __future__ import annotations

import json
from typing import Any

from probescope.model.visible import visible_json


def dumps(value: Any) -> str:
    return visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
