"""The conditions of ``#if``: constant expressions in which an unknown word counts as 0."""

from __future__ import annotations

import re
from collections import defaultdict

from probescope.diagnostics import Source
from probescope.lang.bt import fold
from probescope.lang.bt.defines import Defines
from probescope.lang.bt.lexer import Lexer
from probescope.lang.bt.parser import ScriptParser
from probescope.lang.bt.parser_base import Enough, Unparsable


class _Zero(defaultdict[str, int]):
    def get(self, key: str, default: int | None = None) -> int:  # type: ignore[override]
        return self[key]


def holds(text: str, defines: Defines) -> bool:
    """Whether the condition holds; raises ``ValueError`` with the reason if it is none."""

    def defined(found: re.Match[str]) -> str:
        return "1" if (found.group(1) or found.group(2)) in defines.by_name else "0"

    text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))", defined, text)
    parser = ScriptParser(Lexer(Source("#if", text), None, defines.by_name, defines.expand))
    try:
        expr = parser.lone_expression()
    except Unparsable as e:
        raise ValueError(e.finding.message) from None
    except Enough:
        raise ValueError("it has too many errors") from None
    value = fold.evaluate(expr, _Zero(int))
    if value is None or parser.findings:
        raise ValueError("it is no constant")
    return bool(value)
