"""The ftrace collector on kernels that have kprobes: dynamic events with fetch arguments answer as BPF programs do."""

from __future__ import annotations

import pytest

from probescope.kernel import tracefs
from probescope.kernel.features import have
from probescope.kernel.leftovers import PREFIX
from tests.support.collect_run import run
from tests.support.stream_work import NAME, OFFSETS, SPAWNS, words

pytestmark = pytest.mark.skipif(not have("ftrace:kprobe_events"), reason="this kernel has no kprobe_events")

MINE = f'/comm == "{NAME}"/'
PROGRAMS = {
    "arguments": f'kprobe:ksys_lseek /comm == "{NAME}" && arg2 <= 2/ {{ @[arg2] = count(); @s = sum(arg1); }}',
    "results": f"kretprobe:ksys_lseek {MINE} {{ @r = sum(retval); @n[comm] = count(); }}",
    "both ends": f"kprobe:ksys_lseek {MINE} {{ @at[tid] = arg1; }}"
    f" kretprobe:ksys_lseek /@at[tid]/ {{ @same[retval == @at[tid]] = count(); delete(@at, tid); }}",
    "with tracepoints": f"kprobe:ksys_lseek {MINE} {{ @k = count(); }}"
    f" tracepoint:syscalls:sys_enter_lseek {MINE} {{ @t = count(); @o = max(args.offset); }}",
    "filters": 'tracepoint:sched:sched_process_exec /args.filename == "/bin/true"/ { @[args.filename] = count(); }',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_as_by_bpf(name, tmp_path):
    by_bpf, by_ftrace = (run(PROGRAMS[name], "--via", via, "-c", words(tmp_path)) for via in ("bpf", "ftrace"))
    assert (by_bpf.code, by_ftrace.code) == (0, 0), by_ftrace.err
    assert by_ftrace.lines == by_bpf.lines
    assert any("@" in line for line in by_bpf.lines)


def test_the_answers_are_the_works_own(tmp_path):
    """Worked out from the work itself: equal answers could be wrong all the same."""
    done = run(PROGRAMS["with tracepoints"], "--via", "ftrace", "-c", words(tmp_path))
    assert {f"@k: {len(OFFSETS)}", f"@t: {len(OFFSETS)}", f"@o: {max(OFFSETS)}"} <= set(done.lines)
    done = run(PROGRAMS["filters"], "--via", "ftrace", "-c", words(tmp_path))
    assert f"@[/bin/true]: {SPAWNS}" in done.lines


def test_nothing_is_left(tmp_path):
    run(PROGRAMS["both ends"], "--via", "ftrace", "-c", words(tmp_path))
    assert PREFIX not in tracefs.read("dynamic_events")
