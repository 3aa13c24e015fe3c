"""Keys of ``report`` that few recordings have, beside perf report, of a file made by hand."""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.support.formats_perfmaker import (
    CGROUP,
    CODE_PAGE,
    CPU,
    IP,
    PERIOD,
    SAMPLE_ID_ALL,
    TID,
    TIME,
    TRANSACTION,
    WEIGHT_STRUCT,
    Event,
    PerfMaker,
    Sample,
    add_name,
    add_sample,
    padded,
    trailer,
)  # fmt: skip
from tests.support.perf_lines import report_table

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")

NRCPUS, CPU_TOPOLOGY = 7, 13
"""Numbers of the header's features."""
CGROUP_RECORD = 19
KINDS = IP | TID | TIME | CPU | PERIOD | WEIGHT_STRUCT | TRANSACTION | CGROUP | CODE_PAGE
EVENT = Event(KINDS, flags=SAMPLE_ID_ALL | 1 << 6, type=0, size=128)
TRANSACTIONS = (0, 1, 2 | 4, 7 << 32 | 32, 2 | 64, 16 | 2)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two CPUs, each of a socket; two control groups, of which one is told by its path."""
    maker = PerfMaker([EVENT])
    p, text = maker.pack, maker.string
    topology = p("I", 1) + text("0-1") + p("I", 2) + text("0") + text("1") + p("4I", 0, 0, 1, 1)
    maker.features = {NRCPUS: p("II", 2, 2), CPU_TOPOLOGY: topology}
    of = trailer(maker, EVENT, Sample(pid=100, tid=100, time=1))
    add_name(maker, EVENT, 100, "worker")
    maker.add(CGROUP_RECORD, p("Q", 77) + padded("/user.slice/a") + of)
    for i in range(40):
        one = Sample(
            0x401000 + 16 * (i % 5), 100, 100, 5000 + i, cpu=i % 2, period=1000 + i % 4,
            weight=i % 3 | (i % 4) << 32 | (i % 5) << 48, transaction=TRANSACTIONS[i % 6],
            cgroup=77 if i % 4 else 5 * (i % 8), code_page=(4096, 0, 1 << 21, 1 << 30)[i % 4],
        )  # fmt: skip
        add_sample(maker, EVENT, one)
    made = tmp_path_factory.mktemp("keys") / "perf.data"
    made.write_bytes(maker.build())
    return str(made)


@pytest.mark.parametrize(
    "keys",
    [
        *("local_ins_lat", "ins_lat", "local_weight", "weight", "transaction", "code_page_size", "addr", "socket"),
        *("cgroup", "socket,cgroup,comm"),
    ],
)
def test_as_perf_has_them(path: str, keys: str) -> None:
    """Headings, widths, values and the order of rows."""
    ours = [sys.executable, "-m", "probescope", "report", "--stdio", "-i", path, "-s", keys]
    assert report_table(*ours) == report_table("perf", "report", "--stdio", "-i", path, "-s", keys)
