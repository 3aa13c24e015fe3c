"""One work, four ways: the same programs by bpf, by perf's samples, by ftrace and from a recording give the same
answers; what ftrace counts in the kernel is what is evaluated elsewhere."""

from __future__ import annotations

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
PROGRAMS = {
    "count": f"{AT} {{ @ = count(); }}",
    "by comm": f"{AT} {{ @[comm] = count(); }}",
    "hist": f"{AT} {{ @ = hist(args.count); }}",
    "printf": f'{AT} {{ printf("%s %d\\n", comm, args.count); }}',
    "stack": f"tracepoint:raw_syscalls:sys_enter /{MINE} && args.id == {READ}/ {{ @[kstack] = count(); }}",
}
COUNTED = {
    "sum": f"{AT} {{ @s = sum(args.count); @a = avg(args.count); @n = count(); }}",
    "linear": f"{AT} {{ @ = lhist(args.count, 500, 2000, 100); }}",
    "key": f"{AT} {{ @[args.count] = count(); }}",
    "keys": f"tracepoint:raw_syscalls:sys_enter /{MINE} && args.id < 9/ {{ @[args.id, args.id] = count(); }}",
    "printed": f"{AT} {{ @ = count(); }} end {{ print(@); }}",
}


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
    subprocess.run(made, check=True, capture_output=True, timeout=120)
    return path


def by(via, program, words, recording):
    where = ["-i", str(recording)] if via == "replay" else ["--via", via, "-c", shlex.join(words)]
    done = run(program, *where, timeout=120)
    assert done.code == 0, done.err
    assert "lost" not in done.err.lower(), done.err
    return done.lines


@pytest.mark.parametrize("name", PROGRAMS)
def test_four_ways(name, words, recording):
    """The five programs of the bench."""
    asked = by("bpf", PROGRAMS[name], words, recording)
    assert any(line.strip() for line in asked)
    for via in ("ftrace", "perf", "replay"):
        assert by(via, PROGRAMS[name], words, recording) == asked, via


@pytest.mark.parametrize("name", COUNTED)
def test_counted_in_the_kernel(name, words, recording):
    """What hist triggers counted is what BPF did; that they do count is what the plan says."""
    planned = run(COUNTED[name], "--via", "ftrace", "--emit", "plan")
    assert "ftrace hist trigger" in planned.out, planned.out
    assert by("ftrace", COUNTED[name], words, recording) == by("bpf", COUNTED[name], words, recording)


def test_the_answer_is_the_works_own(words, recording):
    """Worked out from the work itself."""
    lines = by("ftrace", f"{AT} {{ @s = sum(args.count); @n = count(); }}", words, recording)
    assert {f"@s: {sum(SIZES)}", f"@n: {len(SIZES)}"} <= set(lines)


PAIRED = f"""{AT} {{ @s[tid] = nsecs; }}
tracepoint:syscalls:sys_exit_read /@s[tid]/
{{ @n[args.ret] = count(); @d = count(); @q = min(nsecs - @s[tid]); delete(@s, tid); }}
end {{ if (@q > 0) {{ printf("took time\\n"); }} clear(@s); clear(@q); }}"""


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
