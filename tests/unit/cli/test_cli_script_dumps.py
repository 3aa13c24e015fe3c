"""Files that are called after the events of a recording, which calls them as it likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from probescope.cli.script_more import Dumps


def test_names_of_events_lead_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not into another folder, not past the end of a name, and a terminal obeys none of them."""
    dumps = Dumps(str(tmp_path / "perf.data"), ["sched:sched_switch", "../../etc/x", "a\0b", "\x1b[31mred", "\udcff"])
    for kind in range(5):
        dumps.write(kind, b"text", 1)
    dumps.close()
    assert sorted(p.name.removeprefix("perf.data.") for p in tmp_path.iterdir()) == [
        ".._.._etc_x.dump",
        "_.dump",
        "_[31mred.dump",
        "a_b.dump",
        "sched:sched_switch.dump",
    ]
    told = capsys.readouterr().out
    assert told.count("(1 samples)") == 5
    assert "\x1b" not in told
