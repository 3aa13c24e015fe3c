"""More text in one clause than a value of a per-CPU map can hold."""

from __future__ import annotations

from collect_run import run

TEXT = "x" * 9000


def test_five_long_texts() -> None:
    """Five copies of 9,999 bytes: each of them whole, in its own place."""
    program = (
        "tracepoint:syscalls:sys_enter_execve /pid == cpid || ppid == cpid/ { $f = str(args.filename); "
        '@m[$f] = $f; $t = (1, $f); for ($kv : @m) { if (strncmp($kv.0, "/xxx", 4) == 0) '
        "{ print(($kv.0 == $f, $kv.1 == $t.1, strlen($kv.0), strlen($t.1))); } } }"
    )
    done = run(program, "-q", "-c", f"/bin/sh -c '/{TEXT} 2>/dev/null'", env={"BPFTRACE_MAX_STRLEN": "9999"})
    assert "(true, true, 9001, 9001)" in done.out
