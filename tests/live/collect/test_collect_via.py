"""Clauses of begin, end and intervals run in user space or in the kernel with the same result."""

from __future__ import annotations

import re

import pytest
from collect_programs import work
from collect_run import run

SCRIPTS = {
    "texts": (
        'BEGIN { printf("%s %d %5d|%-4d|%x\\n", "text", 1, 2, 3, 255); printf("%s\\n", comm == "python3" ? "p" : '
        '"q"); exit(); }'
    ),
    "arithmetic": (
        'BEGIN { $a = 7; $b = -3; printf("%d %d %d %d %d\\n", $a * $b, $a / 2, $a % 4, $a << 3, $b >> 1); exit(); }'
    ),
    "widths": 'BEGIN { printf("%d %d %u %d\\n", (int8)200, (uint8)-1, (uint32)-1, (int16)70000); exit(); }',
    "division by zero": 'BEGIN { $z = 0; printf("%d %d\\n", 5 / $z, 5 % $z); exit(); }',
    "maps": 'BEGIN { @a = 1; @b[1] = 2; @b[2] = 3; @c[1, "x"] = 4; delete(@b[1]); @d++; @d += 5; @e[3]++; exit(); }',
    "aggregations": (
        "BEGIN { $i = 0; while ($i < 20) { @c = count(); @s = sum($i); @a = avg($i); @l = min($i); @h = max($i); "
        "@st = stats($i); @hist = hist($i); @lh = lhist($i, 0, 10, 3); $i++; } exit(); }"
    ),
    "aggregations by key": (
        "BEGIN { $i = 0; while ($i < 20) { @c[$i % 3] = count(); @h[$i % 2] = hist($i); @a[$i % 4] = avg($i); "
        "$i++; } exit(); }"
    ),
    "print": (
        'BEGIN { @a[1] = 1; @a[2] = 2; @b[3] = 3; zero(@b); print(@a); print(@b); print((1, "x", (2, 3))); '
        'print("t"); exit(); }'
    ),
    "print top": (
        "BEGIN { $i = 0; while ($i < 9) { @x[$i] = $i * 10; $i++; } print(@x, 3); print(@x, 2, 10); clear(@x); "
        "exit(); }"
    ),
    "exit code": "BEGIN { @x = 1; exit(5); @x = 2; }",
    "strings": (
        'BEGIN { $s = "abc"; @m[$s] = $s; @n = $s == "abc" ? 1 : 0; printf("%d %s\\n", strncmp($s, "abd", 2), '
        '@m["abc"]); exit(); }'
    ),
    "loops": "BEGIN { for ($i : 0..5) { if ($i == 3) { continue; } @s[$i] = $i; } unroll(3) { @u++; } exit(); }",
    "for over a map": "BEGIN { @m[1] = 10; @m[2] = 20; for ($kv : @m) { @sum += $kv.0 * $kv.1; } exit(); }",
    "scratch": 'BEGIN { let $x: uint8 = 250; $x += 10; printf("%d\\n", $x); exit(); }',
    "ternary and logic": 'BEGIN { $x = 5; printf("%d %d %d\\n", $x > 3 && $x < 9, $x == 1 || $x == 2, !$x); exit(); }',
    "positional": 'BEGIN { printf("%d %s\\n", $1, str($2)); exit(); }',
    "context": 'BEGIN { printf("%d %d %d\\n", pid == tid, uid, gid); printf("%d\\n", pid > 0); exit(); }',
    "several begins": (
        'BEGIN { printf("1\\n"); } BEGIN { printf("2\\n"); @x = strlen("abc"); } BEGIN { printf("3\\n"); exit(); }'
    ),
    "end": 'BEGIN { @a = 1; exit(); } END { @a++; printf("end %d\\n", @a); @b = 3; }',
    "end clears": "BEGIN { @a[1] = 1; @b = 2; exit(); } END { clear(@a); }",
    "exit in end": 'BEGIN { exit(2); } END { printf("a\\n"); exit(3); printf("b\\n"); } END { printf("c\\n"); }',
    "interval": 'interval:ms:10 { @n++; printf("%d\\n", @n); if (@n == 3) { exit(4); } } END { printf("end\\n"); }',
    "interval prints": "interval:ms:10 { @n[1] = count(); @i++; if (@i == 3) { print(@n); exit(); } }",
    "records": 'BEGIN { $r = { .a = 1, .b = "x" }; print($r); printf("%d\\n", $r.a); exit(); }',
    "len and has": (
        'BEGIN { @m[1] = 1; @m[2] = 2; printf("%d %d %d\\n", len(@m), has_key(@m, 1), has_key(@m, 9)); exit(); }'
    ),
}


def lost(err: str) -> dict[str, int]:
    """What was told of, and how often in all: the kernel side counts each place, user space each clause."""
    out: dict[str, int] = {}
    for count, what in re.findall(r"WARNING: (\d+) (.+)", err):
        out[what] = out.get(what, 0) + int(count)
    return out


@pytest.mark.parametrize("name", SCRIPTS)
def test_collect_same_by_either_way(name: str) -> None:
    """Output, maps and exit code are equal; what is told of losses too."""
    words = ("7", "word") if name == "positional" else ()
    here = run(SCRIPTS[name], "-k", *words)
    there = run(SCRIPTS[name], "-k", "--via", "bpf", *words)
    assert here.out == there.out
    assert here.code == there.code
    assert lost(here.err) == lost(there.err)
    assert here.out or here.code


def test_collect_both_ways_at_once() -> None:
    """Clauses in the kernel and in user space share their maps: begin sets, the probe counts, end reads."""
    program = (
        "BEGIN { @limit = 3; @seen[0] = 9; } "
        "tracepoint:syscalls:sys_enter_getpgid /pid == cpid && args.pid < @limit/ "
        "{ @n++; @seen[args.pid] = args.pid * 2; } "
        'END { printf("%d of %d\\n", @n, @limit); delete(@seen[0]); }'
    )
    for via in ("auto", "bpf"):
        done = run(program, "-q", "--via", via, "-c", f"{work()} getpgid 10")
        assert [line for line in done.lines if line] == ["3 of 3", "@limit: 3", "@n: 3", "@seen[1]: 2", "@seen[2]: 4"]
