"""Columns of ``script`` of recordings that few machines can make: what perf 6.12 printed of the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from probescope.cli.main import main
from tests.support.formats_perfmaker import (
    ADDR,
    BRANCH,
    CODE_PAGE,
    CPU,
    DATA_PAGE,
    DATA_SRC,
    IDENTIFIER,
    IP,
    PERIOD,
    PHYS_ADDR,
    SAMPLE_ID_ALL,
    TID,
    TIME,
    WEIGHT_STRUCT,
    Event,
    PerfMaker,
    Sample,
    add_name,
    add_sample,
)  # fmt: skip

HEAD = IP | TID | TIME | CPU | PERIOD
LOADS = Event(
    HEAD | ADDR | WEIGHT_STRUCT | DATA_SRC | PHYS_ADDR | DATA_PAGE | CODE_PAGE | IDENTIFIER,
    [1],
    type=4,
    config=0x1CD,
    size=128,
)
STORES = Event(LOADS.sample_type, [2], type=4, config=0x2CD, size=128)
BRANCHES = Event(HEAD | BRANCH, [1], SAMPLE_ID_ALL | 1 << 6, type=0, branch=9, size=128)


@pytest.fixture
def memory(tmp_path: Path) -> str:
    """A load, a store, a load."""
    maker = PerfMaker([LOADS, STORES])
    add_name(maker, LOADS, 100, "worker", event_id=1)
    for i, (event, source) in enumerate(((LOADS, 0x2), (STORES, 0xE00000004), (LOADS, 0x0))):
        weight = 7 + i | (3 + i) << 32 | (2 + i) << 48
        pages = {"data_page": (0, 4096, 1 << 21)[i], "code_page": (4096, 0, 1 << 30)[i]}
        one = Sample(
            ip=0x432000 + i, pid=100, tid=100, time=1000 * i + 5000, addr=0x450000 + i, id=i % 2 + 1, cpu=i,
            period=1000 + i, weight=weight, data_src=source, phys_addr=0x123000 + i, **pages,
        )  # fmt: skip
        add_sample(maker, event, one)
    path = tmp_path / "memory.data"
    path.write_bytes(maker.build())
    return str(path)


@pytest.fixture
def branches(tmp_path: Path) -> str:
    maker = PerfMaker([BRANCHES])
    add_name(maker, BRANCHES, 100, "worker", event_id=1)
    rows = [(0x432000, 0x432010, 2 | 1 << 20), (0x432020, 0x7F0000001000, 1 | 5 << 4)]
    add_sample(maker, BRANCHES, Sample(ip=0x432000, pid=100, tid=100, time=5000, branches=rows))
    path = tmp_path / "branches.data"
    path.write_bytes(maker.build())
    return str(path)


#: Four parts of each line: its head and address, the access, where it came from, pages.
MEMORY = (
    (
        "          worker     100 [000]     0.000005:       1000 raw 0x1cd:HG:           450000",
        "               2 |OP LOAD|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A",
        "               7               3               2           432000 [unknown] ([unknown])",
        "          123000 N/A 4K",
    ),
    (
        "          worker     100 [001]     0.000006:       1001 raw 0x2cd:HG:           450001",
        "       e00000004 |OP STORE|LVL Unknown level 7 |SNP N/A|TLB N/A|LCK No|BLK  N/A",
        "               8               4               3           432001 [unknown] ([unknown])",
        "          123001 4K N/A",
    ),
    (
        "          worker     100 [002]     0.000007:       1002 raw 0x1cd:HG:           450002",
        "               0 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A                ",
        "               9               5               4           432002 [unknown] ([unknown])",
        "          123002 2M 1024M",
    ),
)


def test_raw_events(memory: str, capsys) -> None:
    """What loads and stores are printed with by themselves; a shorter text is as long as those before it."""
    assert main(["script", "-i", memory]) == 0
    assert capsys.readouterr().out.splitlines() == ["".join(line) for line in MEMORY]


def test_fields_of_one_kind(memory: str, capsys) -> None:
    """``raw:`` changes raw events, ``hw:`` those that are not here; none at all, and they are not printed."""
    assert main(["script", "-i", memory, "-F", "hw:comm", "-F", "raw:comm,weight"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"          worker                {n}" for n in (7, 8, 9)]
    assert main(["script", "-i", memory, "-F", "raw:"]) == 0
    assert capsys.readouterr().out == ""


BRSTACK = {
    "ip,brstack": "           432000 0x432000/0x432010/P/-/-/0/COND/-  0x432020/0x7f0000001000/M/-/-/5//- ",
    "ip,dso,brstack": "           432000 ([unknown]) 0x432000 ([unknown])/0x432010 ([unknown])/P/-/-/0/COND/-  "
    "0x432020 ([unknown])/0x7f0000001000 ([unknown])/M/-/-/5//- ",
    "comm,brstacksym": "          worker [unknown]/[unknown]/P/-/-/0/COND/- [unknown]/[unknown]/M/-/-/5//- ",
}


@pytest.mark.parametrize(("fields", "line"), BRSTACK.items(), ids=list(BRSTACK))
def test_branches(branches: str, fields: str, line: str, capsys) -> None:
    """Addresses, with what they lie in where dso is shown, or functions."""
    assert main(["script", "-i", branches, "-F", fields]) == 0
    assert capsys.readouterr().out.splitlines() == [line]


@pytest.mark.parametrize(
    ("field", "attribute"), [("data_src", "DATA_SRC"), ("ins_lat", "WEIGHT_STRUCT"), ("addr", "ADDR")]
)
def test_what_was_not_recorded(branches: str, field: str, attribute: str, capsys) -> None:
    """A field that is asked for by name, and is not there: it is told which, and how to record it."""
    assert main(["script", "-i", branches, "-F", f"comm,{field}"]) == 2
    error = capsys.readouterr().err
    assert f"'cycles:ku' do not have {attribute} attribute set, cannot print '{field}' field" in error
    assert "probescope record -" in error


def test_kinds_that_there_are_not(branches: str, capsys) -> None:
    """A word before the colon that is none."""
    assert main(["script", "-i", branches, "-F", "hardware:comm"]) == 2
    assert "hw, sw, trace, raw" in capsys.readouterr().err
