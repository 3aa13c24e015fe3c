"""C's binary operators by how tightly they bind: those of the same level group from the left."""

from __future__ import annotations

from collections.abc import Mapping

PRECEDENCE: Mapping[str, int] = {
    operator: level
    for level, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=1
    )
    for operator in operators.split()
}
