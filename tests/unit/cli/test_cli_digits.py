"""Arguments that are numbers: what is one, and what is none whatever Python would make of it."""

from __future__ import annotations

import pytest

from probescope.cli.main import main
from probescope.cli.numbers import whole, whole_list

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("12", 12), ("007", 7), ("2147483647", 2147483647), ("2147483648", None), ("", None), ("-1", None),
     ("1_0", None), (" 1", None), ("\N{ARABIC-INDIC DIGIT ONE}", None), ("²", None), (LONG, None),
     ("0" * 5000 + "3", 3)],
)  # fmt: skip
def test_whole(text: str, expected: int | None) -> None:
    assert whole(text) == expected


def test_bounds() -> None:
    assert [whole(t, 2, 4) for t in "12345"] == [None, 2, 3, 4, None]


def test_lists() -> None:
    assert [whole_list("1,22"), whole_list("7"), whole_list("1,"), whole_list(""), whole_list("1,9", 8)] == [
        [1, 22],
        [7],
        None,
        None,
        None,
    ]


def test_digits_that_are_none_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(["whois", "--returns", "\N{SUPERSCRIPT TWO}"]))
    assert ended.value.code == 2
    assert "is not an error number" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    ["record -m", "record -D", "record -c", "record -F", "record -z", "record -r", "record --switch-output",
     "record --max-size", "stat -r", "stat --timeout", "stat -p", "report -w", "report --jobs", "report --pid",
     "report --max-stack", "script --pid", "flame --width", "top -d", "demo --seconds", "ftrace record -P",
     "ftrace record -b", "ftrace record -m", "ftrace split -e", "run -p", "graph --max-depth"],
)  # fmt: skip
def test_more_digits_than_python_reads_are_told(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and its hints, and no traceback."""
    try:
        status = main([*words.split(), LONG])
    except SystemExit as e:
        status = e.code
    said = capsys.readouterr().err
    assert status not in {0, None}
    assert "Traceback" not in said
    assert said.startswith(("ERROR: ", "usage: "))
