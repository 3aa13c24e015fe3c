"""Names of events whose file does not tell them: what `perf script -F event` (6.12) called the same attributes."""

from __future__ import annotations

import pytest

from probescope.formats.perfdata import open_perfdata
from tests.support.formats_perfmaker import SAMPLE_ID_ALL, Event, PerfMaker

USER, KERNEL, HV, HOST, GUEST, PRECISE = (1 << n for n in (4, 5, 6, 19, 20, 15))
#: (type, config, flags): name.
NAMES = {
    (0, 0, 0): "cycles:HG",
    (0, 9, 0): "ref-cycles:HG",
    (0, 20, 0): "unknown-hardware:HG",
    (1, 0, 0): "cpu-clock:HG",
    (1, 30, 0): "unknown-software:HG",
    (3, 0, 0): "L1-dcache-loads:HG",
    (3, 0x10002, 0): "LLC-load-misses:HG",
    (3, 0x20106, 0): "unknown-ext-hardware-cache-result:HG",
    (3, 7, 0): "unknown-ext-hardware-cache-type:HG",
    (3, 0x300, 0): "unknown-ext-hardware-cache-op:HG",
    (4, 0x1CD, 0): "raw 0x1cd:HG",
    (4, 1, PRECISE): "raw 0x1:p",
    (4, 1, 3 * PRECISE): "raw 0x1:ppp",
    (5, 0, 0): "mem:0x0::HG",
    (6, 3, 0): "unknown attr type: 6",
    (0, 0, HV): "cycles:ku",
    (0, 0, HV | KERNEL): "cycles:u",
    (0, 0, HV | HOST): "cycles:kuG",
    (0, 0, HV | GUEST): "cycles:kuH",
    (0, 0, HV | HOST | GUEST): "cycles:ku",
    (0, 0, GUEST): "cycles",
    (0, 0, USER | KERNEL | HV | GUEST): "cycles:H",
    (0, 0, HV | PRECISE | HOST): "cycles:kupG",
}


@pytest.mark.parametrize(("attr", "name"), NAMES.items(), ids=NAMES.values())
def test_names_as_perf_has_them(attr: tuple[int, int, int], name: str, tmp_path) -> None:
    """By type and number, with what is excluded."""
    kind, config, flags = attr
    path = tmp_path / "perf.data"
    path.write_bytes(PerfMaker([Event(type=kind, config=config, flags=SAMPLE_ID_ALL | flags)]).build())
    with open_perfdata(str(path)) as recording:
        assert [e.name for e in recording.events] == [name]
