"""Fresh recordings of the installed perf, read by us and by `perf script`; and files of ours, read by perf."""

from __future__ import annotations

import subprocess
from pathlib import Path

import formats_perf as fp
import pytest

from probescope.formats.perfdata import open_perfdata
from probescope.formats.perfdata.reader import PerfData
from probescope.formats.perfdata.records import FINISHED_ROUND, USER_START
from probescope.formats.perfdata.writer import PerfDataWriter, WrittenEvent

LOOP = ("sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; ls / >/dev/null; true")
RECORDINGS: dict[str, tuple[str, ...]] = {
    "clock": ("-F", "5000", "-e", "cpu-clock"),
    "chains": ("-F", "3000", "-g", "-e", "cpu-clock"),
    "user chains": ("-F", "3000", "-g", "-e", "cpu-clock:u"),
    "all cpus": ("-a", "-F", "500", "-g", "-e", "cpu-clock"),
    "dwarf": ("-F", "1000", "--call-graph", "dwarf,4096", "-e", "cpu-clock"),
    "tracepoint": ("-e", "raw_syscalls:sys_enter"),
    "tracepoints": ("-e", "raw_syscalls:sys_enter", "-e", "sched:sched_switch", "-e", "page-faults"),
    "group": ("-e", "{cpu-clock,page-faults,context-switches}", "-c", "100000"),
    "group read": ("-e", "{cpu-clock,page-faults,context-switches}:S", "-c", "100000"),
    "zstd": ("-z", "-F", "5000", "-g", "-e", "cpu-clock"),
    "zstd tracepoints": ("-z", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit"),
    "addresses": ("-d", "--phys-data", "-W", "-e", "page-faults", "-c", "1"),
    "registers": ("--user-regs=ip,sp,bp", "--intr-regs=ip,ax", "-F", "2000", "-e", "cpu-clock"),
    "side-band": ("--switch-events", "--namespaces", "--all-cgroups", "-F", "1000", "-e", "cpu-clock"),
    "clock id": ("-k", "monotonic", "-F", "1000", "-e", "cpu-clock"),
    "no inherit": ("--no-inherit", "-T", "-P", "-e", "context-switches", "-c", "1"),
}
CHAINED = {"chains", "user chains", "all cpus", "zstd"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("perfdata")


def recording(folder: Path, name: str) -> Path:
    path = folder / f"{name.replace(' ', '-')}.data"
    return path if path.exists() else fp.recorded(path, RECORDINGS[name], LOOP)


def told(name: str, opened: PerfData, path: Path) -> None:
    """dwarf: perf unwinds what it prints, so only where each sample was is compared."""
    wanted = fp.samples(path, cpu=all(attr.sample_type & 1 << 7 for attr in opened.attrs))
    if name == "dwarf":
        wanted = [fp.Line(w.pid, w.tid, w.cpu, w.time, w.period, w.event, ()) for w in wanted]
        got = [fp.Line(g.pid, g.tid, g.cpu, g.time, g.period, g.event, ()) for g in fp.ours(opened, chains=False)]
    else:
        got = fp.ours(opened, chains=name in CHAINED)
    if wanted and wanted[0].cpu < 0:
        got = [fp.Line(g.pid, g.tid, -1, g.time, g.period, g.event, g.stack) for g in got]
    assert len(got) == len(wanted) > 0
    assert [pair for pair in zip(got, wanted, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("name", RECORDINGS)
def test_samples_as_perf_script_prints_them(folder: Path, name: str) -> None:
    """Process, thread, CPU, time, period, event and chain of every sample, in perf's order."""
    path = recording(folder, name)
    with open_perfdata(str(path)) as opened:
        told(name, opened, path)
        assert opened.damage == ()
        assert opened.machine.recorder.startswith("perf ")


@pytest.mark.parametrize("name", ["chains", "tracepoints", "side-band", "zstd"])
def test_counts_of_records(folder: Path, name: str) -> None:
    """`perf report --stats` counts the same records of each type."""
    path = recording(folder, name)
    with open_perfdata(str(path)) as opened:
        for _ in opened.batches():
            pass
        stats = dict(opened.stats)
    stats.pop("COMPRESSED", None)  # perf counts what was in it
    command = [fp.perf(), "report", "--stats", "-i", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in text.split(" stats:", 2)[1].splitlines() if "events:" in line]
    wanted = {words[0]: int(words[2]) for words in lines if words[0] != "TOTAL"}
    wanted.pop("COMPRESSED", None)
    assert {k: v for k, v in wanted.items() if k in stats} == {k: v for k, v in stats.items() if k in wanted}
    assert set(stats) >= set(wanted) - {"LOST_SAMPLES"}


def test_a_pipe(folder: Path) -> None:
    """`perf record -o -`: attributes and features as records; the same samples from a file of it."""
    path = folder / "pipe.data"
    command = [fp.perf(), "record", "-q", "-F", "3000", "-e", "cpu-clock", "-o", "-", "--", "sh", "-c", LOOP[2]]
    with path.open("wb") as out:
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=False)
    with open_perfdata(str(path)) as opened:
        told("clock", opened, path)  # perf prints no chains of pipes when fields are named
        assert opened.machine.hostname
        assert opened.damage == ()


def test_events_of_tracepoints(folder: Path) -> None:
    """TRACING_DATA gives ids, names and formats; raw records begin with the id."""
    with open_perfdata(str(recording(folder, "tracepoints"))) as opened:
        names = {event.name: event for event in opened.events}
        assert {"raw_syscalls:sys_enter", "sched:sched_switch", "page-faults"} <= set(names)
        by_id = {i: event.id for i, event in enumerate(opened.events)}
        for batch in opened.batches():
            for i in range(batch.count):
                if by_id[batch.event[i]]:
                    assert int.from_bytes(batch.raw.piece(i)[:2].tobytes(), "little") == by_id[batch.event[i]]


# --- written by us, read by perf


def rewritten(source: Path, to: Path, level: int) -> Path:
    """The same records, ids and sections through our writer."""
    with open_perfdata(str(source)) as opened:
        ids: dict[int, list[int]] = {}
        for id_, index in opened.ids.items():
            ids.setdefault(index, []).append(id_)
        events = [
            WrittenEvent(attr, opened.events[i].name, tuple(ids.get(i, ()))) for i, attr in enumerate(opened.attrs)
        ]
        with to.open("wb") as out:
            writer = PerfDataWriter(out, events, level=level)
            for kind, record in opened.records():
                if kind == FINISHED_ROUND:
                    writer.round()
                else:
                    (writer.write if kind < USER_START else writer.plain)(record)
            sections = {n: d for n, d in opened.sections.items() if n not in {"EVENT_DESC", "COMPRESSED"}}
            writer.finish(sections)
    return to


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", ["chains", "dwarf", "tracepoints", "group", "zstd", "side-band", "all cpus"])
def test_perf_reads_what_we_write(folder: Path, name: str, level: int) -> None:
    """The whole text of `perf script` is the same for the copy, compressed or not; so is the header, but for places."""
    source = recording(folder, name)
    copy = rewritten(source, folder / f"copy-{level}.data", level)
    options = ("--show-task-events", "--show-mmap-events", "--show-switch-events")
    assert fp.script(copy, *options) == fp.script(source, *options)
    with open_perfdata(str(copy)) as opened:
        told(name, opened, source)
    assert header(copy) == header(source)


def header(path: Path) -> list[str]:
    command = [fp.perf(), "report", "--header-only", "-I", "-i", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    changing = ("captured on", "data offset", "data size", "feat offset", "compressed", "missing features")
    return [line for line in text.splitlines() if not any(word in line for word in changing)]
