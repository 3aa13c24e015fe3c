"""The list of events beside trace-cmd and perf: of each event the words that they have for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import formats_perf as fp
import pytest
from formats_fresh import TRACEFS, fresh
from timeline_fakes import asked

from probescope.formats.tracedat.writer import write_tracedat
from probescope.store.opening import Asked
from probescope.store.parts import write_parquet
from probescope.views.timeline.opened import Opened

#: All kinds of fields: names, dynamic texts, arrays, addresses of functions, flags and symbols.
SYSTEMS = ("sched", "irq", "raw_syscalls", "kmem", "task", "signal", "workqueue", "power")
LINE = re.compile(r".*-\d+\s+\[\d+\].*?\s\d+\.\d{6}:\s+(\w+):\s*(.*)")
OLD = {"sched_switch"}
"""libtraceevent 1.7 shows states as kernels before 4.14 had them."""


def listed(path: Path) -> Counter[tuple[str, str]]:
    """(event, words), in whatever order."""
    with Opened(Asked([(str(path), 0)])) as opened:
        total = sum(n for _, _, n in opened.kinds)
        pages = [asked(opened, "events", offset=i, limit=1000)[0]["rows"] for i in range(0, total, 1000)]
    return Counter((row[4].partition(":")[2], row[5].strip()) for page in pages for row in page)


def unnamed(found: Counter[tuple[str, str]], named: re.Pattern[str]) -> Counter[tuple[str, str]]:
    out: Counter[tuple[str, str]] = Counter()
    for (event, words), count in found.items():
        out[event, named.sub("=?", words)] += count
    return out


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_as_trace_cmd_words_them(tmp_path: Path) -> None:
    """KernelShark shows the same, which has them by the same library."""
    if shutil.which("trace-cmd") is None:
        pytest.skip("trace-cmd is not installed")
    if not TRACEFS.joinpath("instances").is_dir():
        pytest.skip("needs root")
    path = tmp_path / "trace.dat"
    with path.open("wb") as f:
        write_tracedat(f, *fresh(SYSTEMS, 512))
    text = subprocess.run(["trace-cmd", "report", str(path)], capture_output=True, text=True, check=True).stdout
    theirs = Counter((m[1], m[2].strip()) for m in map(LINE.match, text.splitlines()) if m)
    mine = listed(path)
    assert {k: n for k, n in mine.items() if k[0] not in OLD} == {k: n for k, n in theirs.items() if k[0] not in OLD}
    assert len({name for name, _ in mine}) > 10


def test_as_perf_words_them(tmp_path: Path) -> None:
    """And ``script``: addresses of functions by the names of the kernel that runs."""
    options = [
        "-a",
        "-c",
        "1",
        *(w for s in ("sched", "irq", "raw_syscalls", "kmem", "task") for w in ("-e", f"{s}:*")),
    ]
    path = fp.recorded(tmp_path / "perf.data", options, ["sh", "-c", "ls -l / > /dev/null; cat /etc/hostname"])
    line = re.compile(r"\s*[\w-]+:(\w+):\s(.*)")
    texts = fp.script(path, "-F", "event,trace").splitlines()
    theirs = Counter((m[1], m[2].strip()) for m in map(line.match, texts) if m)
    mine = listed(path)
    named = re.compile(r"=[\w.$]+(?=\+0x)")
    # of several names of one place perf may choose another
    assert unnamed(mine, named) == unnamed(theirs, named)
    pointing = {k for k in theirs if named.search(k[1])}
    assert len(pointing & set(mine)) > 0.9 * len(pointing) > 0


def test_columns_are_all_that_a_folder_of_parquet_has(tmp_path: Path) -> None:
    """Whatever path it names is not opened."""
    path = fp.recorded(tmp_path / "perf.data", ["-e", "sched:sched_process_exec", "-c", "1"], ["ls", "/"])
    with Asked([(str(path), 0)]) as found:
        write_parquet(found.parts[0], str(tmp_path / "folder"), lambda *_: None)
    ((_, words),) = listed(tmp_path / "folder")
    assert re.fullmatch(r"filename=/\S+/ls pid=\d+ old_pid=\d+", words)
