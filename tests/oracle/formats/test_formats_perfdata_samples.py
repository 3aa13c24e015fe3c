"""Recordings of many kernels, architectures and versions of perf, read as perf 6.12 reads them.

``PROBESCOPE_SAMPLES`` names a folder with ``perfdata/NAME`` and ``expected/NAME.script.txt.gz``, the output of `perf
script --show-task-events --show-mmap-events --show-lost-events` without any symbols.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from formats_perf import MOST_PRINTED

from probescope.formats.perfdata import open_perfdata
from probescope.model.recording import Ended, MappedFile, Named, Started

FOLDER = Path(os.environ.get("PROBESCOPE_SAMPLES", "/nonexistent"))
SAMPLES = sorted(FOLDER.glob("perfdata/*"))
#: perf 6.12 does not know COMPRESSED2, so what it printed is only the beginning.
NOT_THE_TRUTH = {"lpd.sleep.compressed2.pipe.data"}
NONE = pytest.mark.skipif(not SAMPLES, reason="PROBESCOPE_SAMPLES names no folder of recordings")

_LINE = re.compile(
    r"\s*(?P<comm>.*?)\s+(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<time>\d+\.\d+):(?P<gap>\s+)(?P<rest>.*)"
)
_SAMPLE = re.compile(r"(?:(?P<period>\d+)\s+)?(?P<event>\S+:?):\s*(?:(?P<ip>[0-9a-f]+) )?")
#: What perf makes of AUX data, which are not decoded here.
_DECODED = ("psb:", "cbr:", "branches:")


def expected(path: Path) -> Iterator[tuple[str, re.Match[str], list[int]]]:
    """Each line that is an event, and the addresses of the lines below it."""
    last: tuple[str, re.Match[str], list[int]] | None = None
    with gzip.open(FOLDER / "expected" / f"{path.name}.script.txt.gz", "rt", errors="replace") as lines:
        for line in lines:
            text = line.rstrip("\n")
            match = None if text.startswith("\t") or re.match(r"\s+[0-9a-f]+ \[", text) else _LINE.match(text)
            if match is None:
                if last is not None and (address := re.match(r"\s+([0-9a-f]+) ", text)):
                    last[2].append(int(address[1], 16))
                continue
            if last is not None:
                yield last
            last = ("side" if match["rest"].startswith("PERF_RECORD_") else "sample", match, [])
    if last is not None:
        yield last


@NONE
@pytest.mark.parametrize("path", [p for p in SAMPLES if p.name not in NOT_THE_TRUTH], ids=lambda p: p.name)
def test_samples(path: Path) -> None:
    """Thread, CPU, time, period, event, address or chain of each sample, in order."""
    decoded = path.name.endswith("intel_pt-4.14.data")
    wanted = [
        (m, ips)
        for kind, m, ips in expected(path)
        if kind == "sample" and not (decoded and any(f" {word}" in f" {m['rest']}" for word in _DECODED))
    ]
    with open_perfdata(str(path)) as opened:
        got = [(opened, batch, i) for batch in opened.batches() for i in range(batch.count)]
        assert len(got) == len(wanted)
        wrong = [
            (m.group(), found)
            for (m, ips), one in zip(wanted, got, strict=True)
            if (found := differences(m, ips, *one))
        ]
    assert wrong == []


def differences(m: re.Match[str], ips: list[int], opened, batch, i: int) -> list[str]:
    """Names of what is not as perf printed it."""
    time = int(batch.time[i])
    name = opened.events[batch.event[i]].name + ":"
    rest = _SAMPLE.match(m["rest"])
    found = {
        "tid": int(m["tid"]) == batch.tid[i],
        "cpu": m["cpu"] is None or int(m["cpu"]) == batch.cpu[i],
        "time": m["time"] == f"{time // 10**9}.{time % 10**9 // 1000:06d}",
        "event": f" {name}" in f"{m['gap']} {m['rest']}",
        "period": rest is None or rest["period"] is None or int(rest["period"]) == batch.period[i],
    }
    if ips:
        entries = [ip for ip in batch.stacks.piece(i).tolist() if ip < (1 << 64) - 4095]
        found["chain"] = entries[:MOST_PRINTED] == ips
    elif rest is not None and rest["ip"] and rest["event"] + ":" == name:
        found["ip"] = int(rest["ip"], 16) == batch.numbers["ip"][i]
    return [part for part, same in found.items() if not same]


@NONE
@pytest.mark.parametrize("path", [p for p in SAMPLES if p.name not in NOT_THE_TRUTH], ids=lambda p: p.name)
def test_side_band(path: Path) -> None:
    """Every mapping, name, start and end of the text, in order: numbers and paths."""
    wanted = [text for kind, m, _ in expected(path) if kind == "side" and (text := described(m["rest"]))]
    with open_perfdata(str(path)) as opened:
        between = [record for batch in opened.batches() for _, record in batch.between]
    texts = [shown(record) for record in between]
    assert [text for text in texts if text] == wanted


def described(rest: str) -> str:
    kind, _, about = rest.removeprefix("PERF_RECORD_").partition(" ")
    if kind in {"MMAP", "MMAP2"}:
        return f"MMAP {re.sub('<[0-9a-f]+>', '', about)}"
    return (
        rest.removeprefix("PERF_RECORD_")
        if rest.startswith(("PERF_RECORD_COMM", "PERF_RECORD_FORK", "PERF_RECORD_EXIT"))
        else ""
    )


def shown(record: object) -> str:
    """As perf prints it."""
    match record:
        case MappedFile():
            where = f"[{number(record.start)}({number(record.size)}) @ {number(record.offset)}"
            if not record.protection and not record.inode:
                return f"MMAP {record.pid}/{record.tid}: {where}]: {'x' if record.executable else 'r'} {record.path}"
            letters = "".join(c if record.protection >> i & 1 else "-" for i, c in enumerate("rwx"))
            letters += "s" if record.flags & 1 else "p"
            major, minor = record.device
            place = f"{major:02x}:{minor:02x} {record.inode} {record.generation}"
            return f"MMAP {record.pid}/{record.tid}: {where} {place}]: {letters} {record.path}"
        case Named():
            return f"COMM{' exec' if record.exec else ''}: {record.comm}:{record.pid}/{record.tid}"
        case Started() | Ended():
            kind = "FORK" if isinstance(record, Started) else "EXIT"
            return f"{kind}({record.pid}:{record.tid}):({record.parent}:{record.parent_tid})"
    return ""


def number(value: int) -> str:
    return f"{value:#x}" if value else "0"
