"""Probes on a program of ours whose every call is known: what comes out must be what it did."""

from __future__ import annotations

import pytest
from collect_programs import many, symbol, work
from collect_run import Running, Waiting, run


def traced(program: str, *work_args: str, args: tuple[str, ...] = (), env: dict[str, str] = {}) -> list[str]:  # noqa: B006
    """The lines that a program prints while ``work`` runs under ``-c``."""
    done = run(program, "-q", "-c", " ".join([work(), *work_args]), *args, env=env)
    assert done.code == 0, done.err
    assert not done.said, done.err
    return done.lines


def test_collect_uprobe_arguments() -> None:
    """Integer arguments by position, cut to their C widths by casts, in the order of the calls."""
    lines = traced(
        f'uprobe:{work()}:numbers {{ printf("%d %d %u %d\\n", arg0, (int32)arg1, (uint8)arg2, (int16)arg3); }}',
        "numbers",
        "300",
    )
    assert lines == [f"{i} {-i} {i % 256} {-i}" for i in range(300)]


def test_collect_uretprobe_values() -> None:
    """``retval`` of a function, 2 * a + b with b = -a: a."""
    lines = traced(f'uretprobe:{work()}:numbers {{ printf("%d\\n", retval); }}', "numbers", "50")
    assert lines == [str(i) for i in range(50)]


def test_collect_uprobe_entry_and_return_belong_together() -> None:
    """A value kept by thread from entry to return: each return finds its own entry."""
    lines = traced(
        f"uprobe:{work()}:text {{ @s[tid] = str(arg0); }} "
        f'uretprobe:{work()}:text {{ printf("%s %d\\n", @s[tid], retval); delete(@s[tid]); }}',
        "text",
        "6",
    )
    long = "a text that is a good deal longer than sixty-four bytes, to be cut somewhere"
    words = [("alpha", 5), ("beta", 4), (long, len(long))] * 2
    assert [(line.rsplit(" ", 1)[0][:20], int(line.rsplit(" ", 1)[1])) for line in lines] == [
        (w[:20], n) for w, n in words
    ]


@pytest.mark.parametrize(("size", "shown"), [("64", 64), ("1024", 76)])
def test_collect_string_cut_is_marked(size: str, shown: int) -> None:
    """A text longer than ``max_strlen`` is cut, and the mark says so; one that fits has no mark."""
    text = "a text that is a good deal longer than sixty-four bytes, to be cut somewhere"
    lines = traced(
        f'uprobe:{work()}:text {{ printf("%s\\n", str(arg0)); }}', "text", "3", env={"BPFTRACE_MAX_STRLEN": size}
    )
    cut = text[:shown] + (".." if shown < len(text) else "")
    assert lines == ["alpha", "beta", cut]


def test_collect_string_mark_can_be_chosen() -> None:
    """``str_trunc_trailer`` replaces the two dots. A length that the script asks for itself is no accident: no mark."""
    lines = traced(
        f'config = {{ max_strlen = 10; str_trunc_trailer = "~cut" }} uprobe:{work()}:text '
        f'{{ printf("%s|%s\\n", str(arg0), str(arg0, 5)); }}',
        "text",
        "3",
    )
    assert lines == ["alpha|alph", "beta|beta", "a text tha~cut|a te"]


def test_collect_uprobe_structs_and_arrays() -> None:
    """The program's own struct, read through a pointer: integers, a text inside, an array behind another pointer."""
    lines = traced(
        "struct point { int x; char tag[8]; long y; } "
        f"uprobe:{work()}:shape {{ $p = (struct point *)arg0; $a = (int32 *)arg1; "
        'printf("%d %s %d %d %d\\n", $p->x, $p->tag, $p->y, *$a, *($a + 3)); }',
        "shape",
        "4",
    )
    assert lines == [f"{i} tag {-i} 10 40" for i in range(4)]


def test_collect_uprobe_six_arguments() -> None:
    """All arguments that the calling convention passes in registers, and the return value."""
    lines = traced(
        f'uprobe:{work()}:six {{ printf("%d %d %d %d %d %d\\n", arg0, arg1, arg2, arg3, arg4, arg5); }}'
        f'uretprobe:{work()}:six {{ printf("=%d\\n", retval); }}',
        "six",
        "2",
    )
    assert lines == ["0 1 2 3 4 5", "=5", "1 2 3 4 5 6", "=6"]


def test_collect_many_uprobes_by_glob() -> None:
    """A glob over 500 functions: each is called once, and ``func`` says which; all are in one map at the end."""
    path = many(500)
    done = run(f"uprobe:{path}:f* {{ @[func] = count(); @n = count(); }}", "-c", path)
    assert "Attached" in done.err
    counts = {line for line in done.lines if line.startswith("@[f")}
    assert {f"@[f{i}]: 1" for i in range(500)} <= counts
    assert "@n: 500" in done.out or "@n: 501" in done.out  # frame_dummy of the C runtime also begins with an f


def test_collect_uprobe_of_one_process() -> None:
    """``-p``: of two running copies of one program only the one asked for is seen, and its end ends the session."""
    program = f"uprobe:{work()}:numbers {{ @[pid] = count(); }}"
    with (
        Waiting(work(), "numbers", "10") as asked,
        Waiting(work(), "numbers", "20") as other,
        Running(program, "-p", str(asked.pid)) as session,
    ):
        other.go()
        asked.go()
        done = session.wait()
    assert done.code == 0
    assert f"@[{asked.pid}]: 10" in done.lines
    assert str(other.pid) not in done.out


@pytest.mark.parametrize("how", ["-c", "-p"])
def test_collect_usdt(how: str) -> None:
    """USDT probes with and without a semaphore, arguments an integer and a text; the gated one fires only because we
    raised its semaphore, also in a process that runs already."""
    program = (
        f'usdt:{work()}:work:plain {{ printf("plain %d %s\\n", arg0, str(arg1)); }} '
        f'usdt:{work()}:work:gated {{ printf("gated %d\\n", (int64)arg0); }}'
    )
    wanted = [w for i in range(4) for w in (f"plain {i} {('alpha', 'beta')[i % 2]}", f"gated {-i}")]
    if how == "-c":
        assert traced(program, "usdt", "4") == wanted
        return
    with Waiting(work(), "usdt", "4") as target, Running(program, "-p", str(target.pid)) as session:
        target.go()
        assert session.wait().lines == wanted


def test_collect_usdt_by_wildcard() -> None:
    """``usdt:PATH:*`` finds every provider and probe; ``probe`` names the one that fired."""
    lines = traced(f'usdt:{work()}:* {{ printf("%s\\n", probe); }}', "usdt", "1")
    assert lines == [f"usdt:{work()}:work:plain", f"usdt:{work()}:work:gated"]


@pytest.mark.parametrize(
    ("probe", "mode"),
    [
        ("uprobe:{}:innermost", "deep"),
        ("uretprobe:{}:innermost", "deep"),
        ("usdt:{}:work:plain", "usdt"),
        ("tracepoint:syscalls:sys_enter_getppid", "getppid"),
        ("tracepoint:syscalls:sys_exit_getppid", "getppid"),
        ("watchpoint:{watched}:8:w", "watch"),
    ],
)
def test_collect_clauses_on_one_place_run_in_order(probe: str, mode: str) -> None:
    """Clauses on the same place run in the order of the script, though the kernel runs some of them in the order of
    their attachment and others in reverse."""
    where = probe.format(work(), watched=f"0x{symbol(work(), 'watched'):x}")
    program = " ".join(f'{where} /pid == cpid/ {{ printf("{c} "); }}' for c in "abc")
    assert "".join(traced(program, mode, "3")).split() == list("abc" * 3)
