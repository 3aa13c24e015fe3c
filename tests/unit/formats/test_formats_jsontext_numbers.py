"""Numbers that JSON does not have, in what is written as JSON."""

from __future__ import annotations

import json
import math

import numpy as np

from probescope.formats.jsontext import line
from probescope.views.export.fields import _json


def strict(text: str) -> object:
    """As readers that go by RFC 8259: NaN and Infinity are errors."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_lines() -> None:
    value = {"a": math.nan, "b": [1.5, math.inf], "c": {"d": -math.inf}, "e": "NaN", "f": 3}
    assert strict(line(value)) == {"a": None, "b": [1.5, None], "c": {"d": None}, "e": "NaN", "f": 3}
    assert line({"a": 1.5}) == '{"a": 1.5}\n'


def test_columns_of_fields() -> None:
    found = _json('"x":', np.array([1.5, math.nan, math.inf]))
    assert [strict("{" + one + "}") for one in found] == [{"x": 1.5}, {"x": None}, {"x": None}]
    assert _json('"x":', np.array([1, 2])) == ['"x":1', '"x":2']
