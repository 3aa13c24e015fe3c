"""Values of options that several commands have."""

from __future__ import annotations

import pytest

from probescope.cli.parsing import cpu_list
from probescope.errors import UsageError


def test_lists_of_cpus() -> None:
    assert cpu_list("0,2-4") == [0, 2, 3, 4]


@pytest.mark.parametrize("text", ["x", "3-1", "-1", "0,,x", "1-999999999", "", ",", "0-", "0-,3"])
def test_what_is_no_list_of_cpus(text: str) -> None:
    """The user's mistake (exit code 2), with an example."""
    with pytest.raises(UsageError, match="is not a list of CPUs") as e:
        cpu_list(text)
    assert "-C 0,2-3" in e.value.hints
