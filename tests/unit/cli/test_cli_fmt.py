"""``probescope run --fmt``."""

from __future__ import annotations

import pytest

from probescope.cli import main as cli


@pytest.mark.parametrize("how", [["--fmt"], ["--mode", "format"]])
def test_a_script_is_printed_in_its_layout_and_not_run(tmp_path, capsysbinary, how):
    """Needs no root and no kernel: nothing of it is looked up."""
    script = tmp_path / "a.bt"
    script.write_bytes(b'kprobe:nosuch{print("\xff");}')
    assert cli.main(["run", *how, str(script)]) == 0
    assert capsysbinary.readouterr().out == b'kprobe:nosuch\n{\n  print("\xff");\n}\n'


def test_what_is_no_script_is_an_error(capsys):
    assert cli.main(["run", "--fmt", "-e", "begin { exit( }"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "stdin:1:15" in err
