"""One work, four ways: the same programs by bpf, by perf's samples, by ftrace and from a recording give the same
answers; what ftrace counts in the kernel is what is evaluated elsewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from probescope.kernel import tracefs
from probescope.kernel.features import have
from probescope.kernel.leftovers import PREFIX
from tests.support.collect_run import run

pytestmark = pytest.mark.skipif(not have("ftrace:hist"), reason="this kernel has no hist triggers")

NAME = "countwork"
SIZES = [(i * 37) % 3000 for i in range(300)]
MINE = f'comm == "{NAME}"'
READ = 0  # x86-64's number of read(2)
WORK = f"""
import os
open("/proc/self/comm", "w").write({NAME!r})
fd = os.open("/dev/zero", os.O_RDONLY)
for i in range(300):
    os.read(fd, (i * 37) % 3000)
"""

AT = f"tracepoint:syscalls:sys_enter_read /{MINE}/"
RAW = f"tracepoint:raw_syscalls:sys_enter /{MINE} && args.id == {READ}/"
FIVE = "\n".join(
    (
        f"{AT} {{ @count = count(); }}",
        f"{AT} {{ @by_comm[comm] = count(); }}",
        f"{AT} {{ @hist = hist(args.count); }}",
        f"{RAW} {{ @stack[kstack] = count(); }}",
        f'{AT} {{ printf("%s %d\\n", comm, args.count); }}',
    )
)
"""The programs of the bench, at once: each of them is planned by itself."""
COUNTED = "\n".join(
    (
        f"{AT} {{ @sum = sum(args.count); @avg = avg(args.count); @n = count(); }}",
        f"{AT} {{ @linear = lhist(args.count, 500, 2000, 100); }}",
        f"{AT} {{ @key[args.count] = count(); }}",
        f"{RAW} {{ @keys[args.id, args.id] = count(); }}",
        "end { print(@n); }",
    )
)
PAIRED = f"""{AT} {{ @s[tid] = nsecs; }}
tracepoint:syscalls:sys_exit_read /@s[tid]/
{{ @n[args.ret] = count(); @d = count(); @q = min(nsecs - @s[tid]); delete(@s, tid); }}
end {{ if (@q > 0) {{ printf("took time\\n"); }} clear(@s); clear(@q); }}"""


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    path = tmp_path_factory.mktemp("work") / "work.py"
    path.write_text(WORK)
    return [sys.executable, "-I", "-S", str(path)]


@pytest.fixture(scope="module")
def recording(words, tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "perf.data"
    events = ["-e", "syscalls:sys_enter_read", "-e", "raw_syscalls:sys_enter"]
    made = [sys.executable, "-m", "probescope", "record", *events, "-c", "1", "-g", "-o", str(path), "--", *words]
    done = subprocess.run(made, capture_output=True, text=True, timeout=120, check=False)
    wrote = re.search(r"\((\d+) samples\)", done.stderr)
    assert done.returncode == 0, done.stderr
    assert wrote, done.stderr
    assert int(wrote[1]) >= 2 * len(SIZES), done.stderr
    return path


def told(recording):
    """Names, and the first and last samples of a recording, in the order of their times: why it answers otherwise."""
    shown = [sys.executable, "-m", "probescope", "script", "--show-task-events", "-F", "comm,tid,time,event"]
    lines = subprocess.run(
        [*shown, "-i", str(recording)], capture_output=True, text=True, timeout=120, check=False
    ).stdout.splitlines()
    return "\n".join([*(line for line in lines if "PERF_RECORD" in line), *lines[:3], *lines[-3:]])


def by(via, program, words, recording):
    where = ["-i", str(recording)] if via == "replay" else ["--via", via, "-c", shlex.join(words)]
    done = run(program, *where, timeout=120)
    assert done.code == 0, done.err
    assert "lost" not in done.err.lower(), done.err
    return done.lines


@pytest.fixture(scope="module")
def asked(words, recording):
    """As BPF answers the five."""
    return by("bpf", FIVE, words, recording)


@pytest.mark.parametrize("via", ["ftrace", "perf", "replay"])
def test_four_ways(via, asked, words, recording):
    """Counts, names, histograms, stacks and printed lines are the same."""
    assert {f"@count: {len(SIZES)}", f"@by_comm[{NAME}]: {len(SIZES)}", f"{NAME} {SIZES[7]}"} <= set(asked)
    assert by(via, FIVE, words, recording) == asked, told(recording) if via == "replay" else ""


def test_counted_in_the_kernel(words, recording):
    """What hist triggers counted is what BPF did, and the work's own; that they do count is what the plan says."""
    planned = run(COUNTED, "--via", "ftrace", "--emit", "plan")
    assert planned.out.count("ftrace hist trigger") == 4, planned.out
    lines = by("ftrace", COUNTED, words, recording)
    assert lines == by("bpf", COUNTED, words, recording)
    assert {f"@sum: {sum(SIZES)}", f"@n: {len(SIZES)}"} <= set(lines)


def test_paired_in_the_kernel(words, recording):
    """From the entry of a call to its return by a synthetic event: each call once, and it takes time."""
    planned = run(PAIRED, "--via", "ftrace", "--emit", "plan")
    assert "ftrace synthetic event" in planned.out, planned.out
    lines = by("ftrace", PAIRED, words, recording)
    assert lines == by("bpf", PAIRED, words, recording)
    assert {f"@d: {len(SIZES)}", "took time"} <= set(lines)


def test_a_map_that_is_full(words, recording):
    """What found no room is told."""
    program = f"config = {{ max_map_keys = 128 }} {AT} {{ @[args.count] = count(); }}"
    done = run(program, "--via", "ftrace", "-c", shlex.join(words), timeout=120)
    assert "a map was full" in done.err


def test_nothing_is_left():
    """No instance, no trigger outlives the session."""
    assert PREFIX not in tracefs.read("dynamic_events")
