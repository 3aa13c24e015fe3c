"""Words that look like numbers and are none: ``isdigit`` of Python takes more than ``int`` does, and ``int`` more than
four thousand digits never."""

from __future__ import annotations

import pytest

from probescope.cli.main import main

ODD = ("²", "--5", "-", "", "9" * 5000)
WORDS = [
    ("diff", "-c", "wdiff:{},1"),
    ("whois", "{}"),
    ("timeline", "--port={}", "x"),
    ("ftrace", "record", "-b", "{}", "-e", "sched:sched_switch", "true"),
    ("ftrace", "record", "-M", "{}", "-e", "sched:sched_switch", "true"),
    ("script", "-i", "/dev/null", "--pid", "{}"),
    ("script", "-i", "/dev/null", "--time", "{},{}"),
    ("report", "-i", "/dev/null", "--time", "0%-{}%"),
    ("run", "--dry-run", "-e", "begin {{ print(${}); }}"),
]


MANY = [
    ("hist", "sched:sched_switch", "--most"),
    ("latency", "a:b", "to", "c:d", "--worst"),
    ("args", "main", "-x", "/bin/sh", "--hits"),
    ("ask", "runqueue", "-n"),
    ("probe", "-x", "/bin/sh", "main", "--count"),
    ("report", "--max-stack"),
    ("script", "--max-stack"),
    ("top", "--times"),
    ("whois", "some message", "-n"),
]
LONG = [("span", "main"), ("peel", "main"), ("probe", "main"), ("hist", "a:b"), ("graph", "main")]


@pytest.mark.parametrize("words", MANY, ids=" ".join)
@pytest.mark.parametrize("odd", ["-1", "1.5", "x", "9" * 30])
def test_how_many(words: tuple[str, ...], odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    """None was taken for all but one, and a thing for another: -1 left out the last row."""
    assert main([*words[:-1], f"{words[-1]}={odd}" if words[-1].startswith("--") else words[-1] + odd]) == 2
    assert "is no number of things, from 0 on" in capsys.readouterr().err


@pytest.mark.parametrize("words", LONG, ids=" ".join)
@pytest.mark.parametrize("odd", ["-1", "nan", "inf", "x", "1e9"])
def test_how_long(words: tuple[str, ...], odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Less than no time was none at all, and not a word was said."""
    assert main([*words, f"--seconds={odd}"]) == 2
    assert f"'{odd}' is no number of seconds between 0 and 1e+07" in capsys.readouterr().err


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("odd", ODD, ids=["superscript", "two minus", "minus", "nothing", "long"])
def test_a_word_that_is_no_number_is_a_mistake_of_who_wrote_it(
    words: tuple[str, ...], odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([w.format(odd, odd) for w in words]) in (1, 2)
    told = capsys.readouterr().err
    assert told.strip()
    assert "Traceback" not in told
    assert "bug in probescope" not in told, told[:300]
