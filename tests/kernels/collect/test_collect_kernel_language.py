"""What programs say, on other verifiers: loops, texts, aggregations, output without loss, clauses in user space."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from kernels_run import Seen, finished, traced

PROBE = "kprobe:ksys_write /pid == PID && arg0 == 9999/"
"""Writing to a descriptor that is not open: a call with any length and address that we like, without consequences."""


def writes(*sizes: int) -> Callable[[], None]:
    """System calls whose third argument is known; the descriptor does not exist."""
    import ctypes

    libc = ctypes.CDLL(None)
    text = ctypes.create_string_buffer(TEXT)

    def work() -> None:
        for size in sizes:
            libc.write(9999, text, ctypes.c_size_t(size))

    return work


TEXT = b"The quick brown fox jumps over the lazy dog. " * 40


def on_writes(body: str, *sizes: int, head: str = "", **options: Any) -> Seen:
    seen = traced(f"{head} {PROBE} {{ {body} }}", writes(*sizes), **options)
    assert not seen.lost, seen.lost
    return seen


# --- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for ($i : 0..100) { @ += $i; }", 4950),
        ("for ($i : 0..10) { for ($j : 0..10) { @ += $i * $j; } }", 2025),
        ("$i = 0; while ($i < 50) { if ($i == 20) { break; } $i++; if ($i % 2) { continue; } @ += $i; }", 110),
        ("unroll(5) { @ += arg2; }", 35),
        ("for ($i : 0..arg2) { @ += 10; }", 70),
        ("$i = 3; while ($i) { $j = $i; while ($j) { @ += 1; $j--; } $i--; }", 6),
    ],
)
def test_loops(body: str, expected: int) -> None:
    assert on_writes(f"@ = 0; {body}", 7).maps["@"] == expected


def test_loop_over_a_map() -> None:
    """What was kept by earlier hits is walked by the last one."""
    seen = on_writes(
        "@m[arg2] = arg2 * 2; if (arg2 == 5) { for ($kv : @m) { @sum += $kv.0 * 1000 + $kv.1; } }", 1, 2, 3, 5
    )
    assert seen.maps["@sum"] == 11 * 1000 + 22


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('strcontains(str(uptr(arg1), 46), "fox")', 1),
        ('strcontains(str(uptr(arg1), 46), "cat")', 0),
        ('str(uptr(arg1), 4) == "The"', 1),
        ('strncmp(str(uptr(arg1), 20), "The quiet", 7)', 0),
        ("strlen(str(uptr(arg1), 21))", 20),
    ],
)
def test_texts(expression: str, expected: int) -> None:
    assert on_writes(f"@ = (int64)({expression});", 10).maps["@"] == expected


@pytest.mark.parametrize("length", [64, 500, 1500])
def test_long_texts(length: int) -> None:
    """Far larger than a program's stack of 512 bytes: through the ring, as a key, and compared."""
    text = TEXT.decode()[:length]
    seen = on_writes(
        r'$s = str(uptr(arg1)); printf("%s\n", $s); @[$s] = count(); @same = $s == str(uptr(arg1));',
        5,
        6,
        head=f'config = {{ max_strlen = {length}; str_trunc_trailer = "" }}',
    )
    assert seen.lines == [text, text]
    assert seen.maps["@"] == {text: 2}
    assert seen.maps["@same"]


def test_buffers() -> None:
    seen = on_writes(r'printf("%r|%rh\n", buf(uptr(arg1), 5), buf(uptr(arg1), arg2));', 3)
    assert seen.lines == ["The q|54 68 65"]


# --- aggregations -----------------------------------------------------------------------------------------------------

SIZES = (0, 1, 2, 3, 5, 8, 13, 21, 21, 34)


def test_aggregations() -> None:
    seen = on_writes(
        """@count = count(); @sum = sum(arg2); @min = min(arg2); @max = max(arg2); @avg = avg(arg2);
        @stats = stats(arg2); @hist = hist(arg2); @lhist = lhist(arg2, 0, 30, 10);""",
        *SIZES,
    )
    assert seen.maps == {
        "@count": 10,
        "@sum": 108,
        "@min": 0,
        "@max": 34,
        "@avg": 10,
        "@stats": {"count": 10, "average": 10, "total": 108},
        "@hist": seen.maps["@hist"],
        "@lhist": seen.maps["@lhist"],
    }
    hist = {low: n for (low, _), n in seen.maps["@hist"].items() if n}
    assert hist == {0: 1, 1: 1, 2: 2, 4: 1, 8: 2, 16: 2, 32: 1}
    lhist = {low: n for (low, _), n in seen.maps["@lhist"].items() if n}
    assert lhist == {0: 6, 10: 1, 20: 2, 30: 1}


def test_counts_of_all_cpus_come_together() -> None:
    """Per-CPU copies are one number when they are read, and compared."""

    def work() -> None:
        for cpu in sorted(os.sched_getaffinity(0)):
            os.sched_setaffinity(0, {cpu})
            writes(*range(10))()

    seen = traced(f"{PROBE} {{ @ = count(); @by[cpu] = count(); if (@ >= 15) {{ @late += 1; }} }}", work)
    cpus = os.cpu_count() or 1
    assert seen.maps["@"] == 10 * cpus
    assert sum(seen.maps["@by"].values()) == 10 * cpus
    assert len(seen.maps["@by"]) == cpus
    assert seen.maps["@late"] == 10 * cpus - 14


# --- output -----------------------------------------------------------------------------------------------------------


def test_every_event_arrives_or_is_counted() -> None:
    """5,000 lines as fast as they can be made: received and lost are what was produced, in order."""
    count = 5000
    seen = traced(f'{PROBE} {{ printf("%d %s %d\\n", arg2, comm, pid); @ = count(); }}', writes(*range(count)))
    numbers = [int(line.split(" ", 1)[0]) for line in seen.lines]
    assert seen.maps["@"] == count
    assert numbers == sorted(numbers)
    assert len(numbers) + seen.lost.get("ring_full", 0) == count


def test_a_small_ring_tells_its_losses() -> None:
    seen = traced(
        f'config = {{ perf_rb_pages = 1 }} {PROBE} {{ printf("%d %s\\n", arg2, str(uptr(arg1), 60)); }}',
        writes(*range(3000)),
    )
    assert len(seen.lines) + seen.lost.get("ring_full", 0) == 3000


def test_full_maps_tell_their_losses() -> None:
    seen = traced(f"config = {{ max_map_keys = 10 }} {PROBE} {{ @[arg2] = 1; }}", writes(*range(25)))
    assert len(seen.maps["@"]) == 10
    assert seen.lost == {"map_full": 15}


def test_clauses_in_user_space() -> None:
    """begin and end, and an interval that prints and clears what the kernel counts."""
    seen = traced(
        f"""begin {{ printf("start\\n"); @base = 100; }}
        {PROBE} {{ @n = count(); @seen = @base + 1; }}
        interval:ms:300 {{ print(@n); clear(@n); }}
        end {{ printf("end %d\\n", @base); clear(@base); }}""",
        writes(1, 2, 3),
        wait=0.5,
    )
    assert seen.lines == ["start", "end 100"]
    assert sum(count for m in seen.printed("n") for _, count in m.items) == 3
    assert seen.maps["@seen"] == 101


def test_everything_inside_the_kernel() -> None:
    """``--via bpf``: begin, end and intervals as programs too."""
    seen = finished(
        r"""begin { printf("start\n"); @a = 1; }
        interval:ms:50 { @a += 1; if (@a > 3) { exit(); } }
        end { printf("end %d\n", @a); }""",
        via="bpf",
    )
    assert seen.lines == ["start", "end 4"]


def test_exit_code_and_time() -> None:
    before = time.time()
    seen = finished(r'interval:ms:200 { printf("%s\n", strftime("%s", nsecs)); exit(3); }')
    assert before - 5 <= int(seen.lines[0]) <= time.time() + 5


def test_values_of_the_task() -> None:
    """Builtins agree with what the worker knows of itself."""
    seen = on_writes("@[pid == PID, tid == PID, uid, gid, comm, ppid] = count(); @c[cgroup] = count();", 4)
    assert seen.maps["@"] == {(1, 1, os.getuid(), os.getgid(), "worker", os.getpid()): 1}
    assert len(seen.maps["@c"]) == 1


def test_structs_of_the_kernel() -> None:
    """Casts, members behind pointers, arrays inside structs, and bit fields."""
    seen = on_writes(
        """$t = (struct task_struct *)curtask;
        @[$t.comm, $t.pid == PID, $t.group_leader.tgid == PID, $t.real_parent.pid] = count();
        @flags[$t.in_execve] = count();""",
        4,
    )
    assert seen.maps["@"] == {("worker", 1, 1, os.getpid()): 1}
    assert seen.maps["@flags"] == {0: 1}
