"""Loss is data: what was received and what was lost add up to what happened, and the message says what to change."""

from __future__ import annotations

import json
import re

import pytest
from collect_programs import many, work
from collect_run import run

CALLS = 200_000
GETPPID = "tracepoint:syscalls:sys_enter_getppid /pid == cpid/"
GETPGID = "tracepoint:syscalls:sys_enter_getpgid /pid == cpid/"
LOST = re.compile(r"WARNING: (\d+) events were lost")


@pytest.mark.parametrize("pages", [1, 64])
def test_collect_received_and_lost_are_all(pages: int) -> None:
    """A flood of printf through a tiny ring: lines printed + events reported as lost = calls made, exactly; and the
    lines that came are in order."""
    program = f'config = {{ perf_rb_pages = {pages} }} {GETPPID} {{ printf("%lld\\n", nsecs); }}'
    done = run(program, "-c", f"{work()} getppid {CALLS}")
    lost = sum(map(int, LOST.findall(done.err)))
    assert len(done.lines) + lost == CALLS
    times = list(map(int, done.lines))
    assert times == sorted(times)
    if pages == 1:
        assert lost > 0
        assert "perf_rb_pages = 4" in done.err


def test_collect_lost_events_as_json() -> None:
    """-f json: losses are documents of their own type, with a count."""
    program = f'config = {{ perf_rb_pages = 1 }} {GETPPID} {{ printf("%lld\\n", nsecs); }}'
    done = run(program, "-f", "json", "-c", f"{work()} getppid {CALLS}")
    docs = [json.loads(line) for line in done.lines]
    printed = sum(d["type"] == "printf" for d in docs)
    lost = [d for d in docs if d["type"] == "lost_events"]
    assert printed + sum(d["data"]["events"] for d in lost) == CALLS
    assert lost


def test_collect_strings_lose_whole_records() -> None:
    """Records with long texts, made in scratch memory, are counted the same way."""
    program = (
        "config = { perf_rb_pages = 1 } "
        'tracepoint:syscalls:sys_enter_chdir /pid == cpid/ { printf("%s\\n", str(args.filename)); }'
    )
    done = run(program, "-c", f"{work()} chdir 100000")
    lost = sum(map(int, LOST.findall(done.err)))
    assert len(done.lines) + lost == 100_000
    numbers = [int(line.rsplit("/", 1)[1]) for line in done.lines]
    assert numbers == sorted(set(numbers))


def test_collect_map_full_is_told_once_with_its_place() -> None:
    """Updates that found no room: counted, with the place in the script, the name of the map and what to write."""
    program = f"config = {{ max_map_keys = 10 }} {GETPGID} {{ @x[args.pid] = count(); }}"
    done = run(program, "-c", f"{work()} getpgid 100")
    assert len(done.lines) == 11  # the empty line before the maps
    told = [line for line in done.err.splitlines() if "@x was full" in line]
    assert len(told) == 1
    assert re.match(r"stdin:1:\d+-\d+: WARNING: Map full; can't update element. 90 updates were dropped", told[0])
    assert "max_map_keys = 40" in done.err


def test_collect_map_full_for_plain_values() -> None:
    """The same for @x[k] = v and @x[k]++."""
    for statement in ("@x[args.pid] = 1;", "@x[args.pid]++;"):
        program = f"config = {{ max_map_keys = 10 }} {GETPGID} {{ {statement} }}"
        done = run(program, "-c", f"{work()} getpgid 100")
        assert "90 updates were dropped" in done.err, statement


def test_collect_stacks_that_were_not_kept_are_told() -> None:
    """2,000 stacks in the kernel's own table of 16,384 places: some 120 fall on places that are taken. The counts of
    those that were kept and of the lost ones add up, and the loss is told; nothing is merged in silence."""
    path = many(2_000)
    program = f"uprobe:{path}:f* {{ @ = count(); @k[ustack(2)] = count(); }}"
    done = run(f"config = {{ max_probes = 5000; unwind = off }} {program}", "-f", "json", "-c", path)
    docs = [json.loads(line) for line in done.lines]
    lost = sum(d["count"] for d in docs if d["type"] == "runtime_error" and d["data"]["kind"] == "stack")
    assert lost > 0
    maps = {k: v for d in docs if d["type"] == "map" for k, v in d["data"].items()}
    assert maps["@"] >= 2_000
    assert sum(maps["@k"].values()) == maps["@"]


def test_collect_failed_reads_only_when_asked() -> None:
    """Reading address 0 gives an empty text; -k says how often and where."""
    program = f"uprobe:{work()}:numbers {{ @[str(0)] = count(); $p = (int32 *)8; @v = *$p; }}"
    quiet = run(program, "-c", f"{work()} numbers 5")
    assert quiet.said == ""
    assert "@[]: 5" in quiet.lines
    told = run(program, "-k", "-c", f"{work()} numbers 5").said
    found = re.findall(
        r"stdin:1:\d+-\d+: WARNING: Bad address \(5 times\)\nAdditional Info - helper: (\w+), retcode: -14", told
    )
    assert len(found) == 2
    assert set(found) <= {"probe_read_user", "probe_read_user_str"}


@pytest.mark.parametrize("via", ["bpf", "auto"])
def test_collect_entries_that_are_not_there(via: str) -> None:
    """-k tells of each read of a map that found nothing, in bpftrace's words, wherever the clause ran; without it
    nothing is counted."""
    program = 'begin { @[1] = 2; print(@[1] + @[7]); @s["a"] = "b"; print(@s["x"]); exit(); }'
    assert not run(program, "--via", via).said
    told = run(program, "-k", "--via", via).said
    said = "WARNING: Can't lookup map element because it does not exist."
    more = "Additional Info - helper: map_lookup_elem, retcode: 0"
    for place, mark in (("stdin:1:32-36", 31), ("stdin:1:60-67", 59)):
        assert f"{place}: {said}\n{more}\n{program}\n{' ' * mark}~" in told, told


@pytest.mark.parametrize("via", ["bpf", "auto"])
def test_collect_arithmetic_that_makes_no_sense_is_told(via: str) -> None:
    """x / 0 is 1, an element beyond the end is 0; nobody finds that by looking at the numbers, so it is told without
    being asked for, as bpftrace does, wherever the clause ran."""
    program = "begin { $z = 0; @n = 10 / $z; @m = 7 % $z; exit(); }"
    done = run(program, "--via", via)
    assert re.findall(r"stdin:1:\d+-\d+: WARNING: .* (\d+) divisions by zero", done.said) in (["1", "1"], ["2"])
    assert {"@n: 1", "@m: 1"} <= set(done.lines)


def test_collect_loops_that_are_cut() -> None:
    """A loop without end is stopped, and that is told."""
    done = run("BEGIN { while (1) { @n++; } exit(); }")
    assert "loops were cut" in done.err


def test_collect_memory_that_is_not_there_yet() -> None:
    """A text on a page that the program has not touched cannot be read by a probe, which must not wait: it is empty,
    and -k tells that it could not be read."""
    program = f'uprobe:{work()}:cold {{ printf("[%s]\\n", str(arg0)); }}'
    done = run(program, "-k", "-c", f"{work()} cold 2")
    assert done.lines == ["[]", "[]"]
    assert re.search(r"WARNING: Bad address \(2 times\)\n(.*\n)+HINT: it gave zero; .* not in RAM", done.err)


def test_collect_elements_behind_an_array_of_memory() -> None:
    """C reads what lies there, and so do we; but it is told, as bpftrace does. What is inside costs a comparison."""
    program = (
        f"struct t {{ char x[4]; char y[4]; }} uprobe:{work()}:numbers {{ $i = (uint64)5; $j = (uint64)3; "
        '$t = (struct t *)arg0; printf("%d\\n", $t.x[$i] == $t.y[1]); $k = $t.x[$j]; exit(); }'
    )
    done = run(program, "-c", f"{work()} numbers 1")
    assert done.said.count("Array access out of bounds. This can lead to unexpected results. 1 accesses") == 1
    assert done.lines == ["1"]
