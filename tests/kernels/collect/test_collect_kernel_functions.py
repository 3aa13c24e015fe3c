"""Kernel functions under live programs: how often, with which arguments, from where. A worker's calls are known."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels_run import COMM, Worker, traced

from probescope.errors import ScriptError

TRACEFS = Path("/sys/kernel/tracing")
SIZE = 777
"""A length that nobody else asks for: it tells the worker's reads from those of its own bookkeeping."""


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """A file of 100 bytes on a tmpfs, with a name that is looked for."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "read-by-worker"
        path.write_bytes(b"x" * 100)
        yield str(path)


def reads(path: str, count: int, size: int = SIZE):
    def work() -> None:
        fd = os.open(path, os.O_RDONLY)
        for _ in range(count):
            assert len(os.pread(fd, size, 0)) == 100

    return work


def test_kprobe_arguments_by_position_and_by_name(target: str) -> None:
    """``vfs_read(file, buf, count, pos)``: arg2 is count, and the name of the file is behind three pointers."""
    seen = traced(
        f"""kprobe:vfs_read /pid == PID && arg2 == {SIZE}/ {{
            @position[comm, arg2] = count();
            @name[str(args.file.f_path.dentry.d_name.name), args.count] = count();
        }}""",
        reads(target, 13),
    )
    assert seen.maps["@position"] == {(COMM, SIZE): 13}
    assert seen.maps["@name"] == {("read-by-worker", SIZE): 13}
    assert not seen.lost


def first_boundary(function: str) -> int:
    """The first offset inside a function, past what ftrace patches, that the kernel itself takes for an instruction."""
    events = os.open(TRACEFS / "kprobe_events", os.O_WRONLY | os.O_APPEND)
    try:
        for offset in range(5, 20):
            try:
                os.write(events, f"p:vmtest_boundary {function}+{offset}\n".encode())
            except OSError:
                continue
            os.write(events, b"-:vmtest_boundary\n")
            return offset
    finally:
        os.close(events)
    raise AssertionError(f"no instruction in the first bytes of {function}")


def test_kprobe_inside_a_function(target: str) -> None:
    """An offset is an instruction, and fires as often as the function runs; one in the middle of an instruction is
    refused by name."""
    offset = first_boundary("vfs_read")
    seen = traced(f"kprobe:vfs_read+{offset} /pid == PID/ {{ @[probe] = count(); }}", reads(target, 50))
    assert 50 <= seen.maps["@"][f"kprobe:vfs_read+{offset}"] < 60
    with pytest.raises(ScriptError) as e:
        traced("kprobe:vfs_read+1 { @ = count(); }")
    (found,) = e.value.diagnostics
    assert found.message.startswith("Unable to attach probe: kprobe:vfs_read+1: ")
    assert (found.span.line, found.span.column) == (1, 1)


def test_kretprobe_values(target: str) -> None:
    """100 bytes of a longer request; and a directory, which cannot be read, as a negative number."""

    def work() -> None:
        reads(target, 7)()
        fd = os.open("/", os.O_RDONLY)
        for _ in range(3):
            with pytest.raises(IsADirectoryError):
                os.pread(fd, SIZE, 0)

    seen = traced("kretprobe:vfs_read /pid == PID && retval != 1/ { @[(int64)retval] = count(); }", work)
    assert seen.maps["@"] == {100: 7, -21: 3}


def test_fentry_and_fexit(target: str) -> None:
    """The program that the tool is known by, and a return value beside the arguments."""
    seen = traced(
        f"""fentry:vfs_read {{ @[comm, str(args.file.f_path.dentry.d_name.name)] = count(); }}
        fexit:vfs_read /pid == PID && args.count == {SIZE}/ {{ @got[args.count, retval] = count(); }}""",
        reads(target, 21),
    )
    assert seen.maps["@"][COMM, "read-by-worker"] == 21
    assert seen.maps["@got"] == {(SIZE, 100): 21}
    assert seen.mechanisms == ["fentry", "fexit"]


def test_entry_and_return_share_a_map(target: str) -> None:
    """The shape of every latency tool: a time kept at entry, taken at return."""
    seen = traced(
        f"""kprobe:vfs_read /pid == PID && arg2 == {SIZE}/ {{ @start[tid] = nsecs; }}
        kretprobe:vfs_read /@start[tid]/ {{
            @took = hist(nsecs - @start[tid]); @n = count(); delete(@start, tid);
        }}""",
        reads(target, 30),
    )
    assert seen.maps["@n"] == 30
    assert sum(seen.maps["@took"].values()) == 30
    assert not seen.maps["@start"]


def test_many_functions_by_pattern(target: str, matrix: dict[str, str]) -> None:
    """One program for all that match, and each hit knows its own name: by the cookie of one link, or of each event."""

    def work() -> None:
        reads(target, 9)()
        fd = os.open("/dev/null", os.O_WRONLY)
        for _ in range(4):
            os.write(fd, bytes(SIZE))

    seen = traced(f"kprobe:vfs_* /pid == PID && arg2 == {SIZE}/ {{ @[probe, func] = count(); }}", work)
    assert seen.maps["@"] == {("kprobe:vfs_read", "vfs_read"): 9, ("kprobe:vfs_write", "vfs_write"): 4}
    assert seen.attached > 30
    assert set(seen.mechanisms) == {"kprobe_multi" if matrix["attach:kprobe_multi"] == "yes" else "kprobe"}


def test_returns_by_pattern(target: str) -> None:
    seen = traced("kretprobe:vfs_rea* /pid == PID && retval == 100/ { @[func] = count(); }", reads(target, 5))
    assert seen.maps["@"] == {"vfs_read": 5}


def test_functions_of_a_module() -> None:
    """The share with the host is served by a module: its functions have addresses and types of their own."""
    path = f"/run/vmtest/opened-{os.getpid()}"
    Path(path).write_text("x")

    def work() -> None:
        for _ in range(6):
            os.close(os.open(path, os.O_RDONLY))

    seen = traced(
        """kprobe:9p:v9fs_file_open /pid == PID/ { @k = count(); }
        fentry:9p:v9fs_file_open /pid == PID/ { @f[str(args.file.f_path.dentry.d_name.name)] = count(); }""",
        work,
    )
    os.unlink(path)
    assert seen.maps == {"@k": 6, "@f": {os.path.basename(path): 6}}


def test_only_one_process(target: str) -> None:
    """``-p``: the other worker does the same, and is not seen."""
    seen = traced(
        f"kprobe:vfs_read /arg2 == {SIZE}/ {{ @[pid] = count(); }}", reads(target, 5), reads(target, 8), pid=True
    )
    (count,) = seen.maps["@"].values()
    assert count == 5


def test_stacks(target: str) -> None:
    """Kernel stacks begin at the probed function and lead back to the system call; user stacks end in the program."""
    seen = traced(
        f"""kprobe:vfs_read /pid == PID && arg2 == {SIZE}/ {{ @k[kstack] = count(); @u[ustack] = count(); }}
        fentry:vfs_read /pid == PID && args.count == {SIZE}/ {{ @f[kstack(3)] = count(); }}""",
        reads(target, 5),
    )
    ((kernel, count),) = seen.maps["@k"].items()
    names = [f.symbol for f in kernel.frames]
    assert count == 5
    assert names[0] == "vfs_read"
    assert any(re.fullmatch(r"(ksys_pread64|__x64_sys_pread64|__do_sys_pread64)", n) for n in names), names
    assert "do_syscall_64" in names
    ((user, count),) = seen.maps["@u"].items()
    assert count == 5
    assert any("pread" in f.symbol for f in user.frames), user
    ((short, count),) = seen.maps["@f"].items()
    assert count == 5
    assert 1 <= len(short.frames) <= 3


def test_functions_out_of_bounds(target: str) -> None:
    """A name that exists and may not be probed: an error that names it; a warning, or silence, where the script says
    so, and then it does not count as attached."""
    names = re.findall(r"^[0-9a-f]+ t (\w+)$", Path("/proc/kallsyms").read_text(), re.MULTILINE)
    listed = set((TRACEFS / "available_filter_functions").read_text().split())
    once = {n for n in names if names.count(n) == 1} if len(names) < 1000 else set(names)
    forbidden = next(n for n in ("blk_account_io_done", *sorted(once)) if n in once and n not in listed)
    program = f"kprobe:{forbidden}, kprobe:vfs_read /pid == PID && arg2 == {SIZE}/ {{ @ = count(); }}"
    with pytest.raises(ScriptError) as e:
        traced(program, reads(target, 1))
    assert f"Unable to attach probe: kprobe:{forbidden}: " in e.value.diagnostics[0].message
    assert "it is not in available_filter_functions" in e.value.diagnostics[0].hints[0]
    warned = traced(f"config = {{ missing_probes = warn }} {program}", reads(target, 2))
    assert (warned.maps["@"], warned.attached) == (2, 1)
    assert [w.split(":")[2] for w in warned.warnings] == [forbidden]
    silent = traced(f"config = {{ missing_probes = ignore }} {program}", reads(target, 2))
    assert (silent.maps["@"], silent.attached, silent.warnings) == (2, 1, [])


def test_a_worker_that_fails_is_seen() -> None:
    """Every count above rests on the worker having done its work."""

    def work() -> None:
        raise OSError("on purpose")

    with Worker(work) as worker, pytest.raises(AssertionError, match="the worker failed"):
        worker.go()
