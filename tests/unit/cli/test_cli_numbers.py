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
