"""Types that damaged debug information makes of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_text import declaration


class _Takes:
    """A function that takes pointers to what it is, 100 of them."""

    tag = c.TAG_SUBROUTINE

    def type(self) -> None:
        return None

    def children(self, *_tags: int) -> Iterator[_Of]:
        return (_Of(c.TAG_PARAM, _Of(c.TAG_POINTER, self)) for _ in range(100))


class _Of:
    def __init__(self, tag: int, inner: _Of | _Takes) -> None:
        self.tag, self._inner = tag, inner

    def type(self) -> _Of | _Takes:
        return self._inner


def test_a_function_that_takes_itself() -> None:
    text = declaration(cast("Die", _Of(c.TAG_POINTER, _Takes())), "f")
    assert text.startswith("void (*f)(void (*)(")
    assert "..." in text
    assert len(text) < 16384
