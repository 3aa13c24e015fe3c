"""``--time`` of commands that read a recording once."""

from __future__ import annotations

import pytest

from probescope.cli.recordings import Opened
from probescope.errors import UsageError


class _Timeless(Opened):
    def __init__(self) -> None:
        pass

    def times(self) -> tuple[int, int]:
        return 0, 0


def test_shares_need_the_ends() -> None:
    """A file that does not tell when it begins has no tenth; of seconds it has."""
    with pytest.raises(UsageError, match="does not tell"):
        _Timeless().spans("10%-20%")
    assert _Timeless().spans("1,2") == ((10**9, 2 * 10**9),)
