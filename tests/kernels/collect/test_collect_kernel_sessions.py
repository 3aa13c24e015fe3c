"""Entry and return of kernel functions in one program, where the kernel has sessions; the same answers where not."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels_run import COMM, traced

import probescope
from probescope.kernel.features import have

SIZE = 777


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "read-by-worker"
        path.write_bytes(b"x" * 100)
        yield str(path)


def reads(path: str, count: int):
    def work() -> None:
        fd = os.open(path, os.O_RDONLY)
        for _ in range(count):
            assert len(os.pread(fd, SIZE, 0)) == 100

    return work


def session_here() -> bool:
    return have("attach:kprobe_session") is True


def test_entry_and_return_of_one_function(target: str) -> None:
    """The usual latency script: both ends see every call, in order, and the result is the return's."""
    seen = traced(
        f"""kprobe:vfs_read /pid == PID && arg2 == {SIZE}/ {{ @start[tid] = nsecs; @entries = count(); }}
        kretprobe:vfs_read /@start[tid]/ {{
            @took = max(nsecs > @start[tid] ? 1 : 0);
            @result[comm, retval] = count();
            delete(@start[tid]);
        }}""",
        reads(target, 9),
    )
    assert seen.maps["@entries"] == 9
    assert seen.maps["@result"] == {(COMM, 100): 9}
    assert seen.maps["@took"] == 1
    assert seen.maps["@start"] == {}
    assert (set(seen.mechanisms) == {"kprobe_session"}) == session_here()
    assert seen.attached == (1 if session_here() else 2)


def test_names_of_many_functions_at_both_ends(target: str) -> None:
    """One cookie tells both ends which function it is."""
    seen = traced(
        f"""kprobe:vfs_re* /pid == PID && arg2 == {SIZE}/ {{ @in[probe, func] = count(); @inside[tid] = 1; }}
        kretprobe:vfs_re* /@inside[tid]/ {{ @out[probe, func] = count(); delete(@inside[tid]); }}""",
        reads(target, 5),
    )
    assert seen.maps["@in"] == {("kprobe:vfs_read", "vfs_read"): 5}
    assert seen.maps["@out"] == {("kretprobe:vfs_read", "vfs_read"): 5}


def test_one_process_alone(target: str) -> None:
    """What other processes do is seen at neither end; what this one does, at both."""
    seen = traced(
        """kprobe:vfs_read { @in[pid == PID] = count(); } kretprobe:vfs_read { @out[pid == PID] = count(); }""",
        reads(target, 4),
        reads(target, 4),
        pid=True,
    )
    assert list(seen.maps["@in"]) == list(seen.maps["@out"]) == [1]
    assert seen.maps["@in"][1] >= 4
    assert abs(seen.maps["@in"][1] - seen.maps["@out"][1]) <= 1, "a call may be under way at either end"


def test_two_returns_in_the_order_of_the_script(target: str) -> None:
    seen = traced(
        """kprobe:vfs_read /pid == PID && !@done/ { printf("in\\n"); }
        kretprobe:vfs_read /pid == PID && !@done/ { printf("first\\n"); }
        kretprobe:vfs_read /pid == PID && !@done/ { printf("second\\n"); @done = 1; }""",
        reads(target, 1),
    )
    assert seen.lines == ["in", "first", "second"]


def test_programs_are_known_by_their_probes() -> None:
    """The kernel keeps 15 characters; bpftool finds the whole name in the program's BTF."""
    with probescope.run("kprobe:ksys_read { @ = count(); }") as session:
        session.poll(0)
        listed = subprocess.run(["bpftool", "prog"], capture_output=True, text=True, check=True).stdout
    assert "name kprobe_ksys_read_1 " in listed


def test_functions_of_a_program_that_runs() -> None:
    """fentry on a program of another session: it is found by its name, told by its id, and counted."""
    with probescope.run("interval:ms:20 { @ticks = count(); }", via="bpf") as watched:
        watched.poll(0)
        program = (
            "fentry:bpf:interval_ms_20_* { @[probe] = count(); } fexit:bpf:interval_ms_20_* { @result = sum(retval); }"
        )
        with probescope.run(program) as session:
            session.wait(1)
            session.stop()
            ((name, hits),) = session.maps["@"].items()
            result = session.maps["@result"]
        watched.stop()
    assert re.fullmatch(r"fentry:bpf:\d+:interval_ms_20_1", name)
    assert hits > 5
    assert result == 0
