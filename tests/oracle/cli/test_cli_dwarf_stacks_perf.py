"""Stacks from registers and stack bytes (``perf record --call-graph dwarf``), beside those that perf itself unwinds.

Where ours differ, for a reason:

- perf shows the trampoline of a signal one byte before its start, where it has no name, and the instruction that was
  interrupted one byte early; here both are as they are.
- The clone of a function (``f.constprop.0``), or one of which the debug information knows another alias, is for perf a
  function that was inlined into nothing.
- Where a stack is cut at the end of its dump, some builds of perf add a frame at ffffffffffffffff.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from collect_programs import build

OURS = (sys.executable, "-m", "probescope")
PROGRAM = r"""
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define KEEP __attribute__((noinline, noclone, used))

volatile long sink;

KEEP void burn(int n) { for (volatile int i = 0; i < n; i++) sink += i; }
static inline __attribute__((always_inline)) void inner(int n) { for (volatile int i = 0; i < n; i++) sink += i; }
static inline __attribute__((always_inline)) void outer(int n) { inner(n * 2); sink++; }
KEEP void three(int n) { burn(20000); outer(5000); sink += n; }
KEEP void two(int n) { three(n + 1); sink += n; }
KEEP void one(int n) { two(n + 1); sink += n; }
KEEP void grown(int n) { char *p = alloca(n * 16 + 8); memset(p, n, n * 16); burn(20000); sink += p[0]; }
KEEP void aligned(int n) { __attribute__((aligned(64))) volatile char b[128]; b[n] = 1; burn(20000); sink += b[3]; }
KEEP int compare(const void *a, const void *b) { burn(10); return *(int *)a - *(int *)b; }
KEEP void sorted(void) { int v[300]; for (int i = 0; i < 300; i++) v[i] = rand(); qsort(v, 300, 4, compare); }
KEEP void clocks(void) {
    struct timespec t;
    for (int i = 0; i < 2000; i++) { clock_gettime(CLOCK_MONOTONIC, &t); sink += t.tv_nsec; }
}
KEEP void deep(int n) { if (n) { deep(n - 1); sink++; } else burn(20000); }
KEEP void cut(int n) { volatile char b[20000]; b[n] = 1; burn(20000); sink += b[0]; }
KEEP void handler(int s) { burn(60000); sink += s; }
KEEP void raised(void) { raise(SIGUSR1); sink++; }

int main(int argc, char **argv) {
    signal(SIGUSR1, handler);
    for (int i = 0; i < atoi(argv[1]); i++) {
        one(1); grown(5); aligned(3); sorted(); clocks(); deep(20); cut(4);
        if (argc > 2) raised();
    }
    return 0;
}
"""
_FRAME = re.compile(r"\s+([0-9a-f]+) (.+) \((.*)\)$")


class Frame(NamedTuple):
    """``place``: the address within its page; older versions of perf tell the rest as the file has it."""

    place: int
    module: str
    text: str


def perf() -> str:
    return shutil.which("perf") or pytest.skip("perf is not installed")


def recorded(to: Path, *command: str, size: int = 8192) -> str:
    options = ("-q", "-e", "cpu-clock", "-F", "2999", "--call-graph", f"dwarf,{size}", "-o", str(to))
    done = subprocess.run(
        [perf(), "record", *options, "--", *command],
        capture_output=True,
        timeout=300,
        check=False,
        cwd=to.parent,  # node leaves a log where it runs
    )
    if not to.exists():
        pytest.skip(f"perf cannot record stacks here: {done.stderr.decode()[-200:]}")
    return str(to)


def stacks(*command: str) -> list[list[Frame]]:
    text = subprocess.run(command, capture_output=True, timeout=300, check=True).stdout.decode("utf-8", "replace")
    out: list[list[Frame]] = []
    for line in text.splitlines():
        found = _FRAME.match(line) if line.startswith("\t") else None
        if found:
            out[-1].append(Frame(int(found[1], 16) & 0xFFF, found[3], found[2]))
        elif line.strip():
            out.append([])
    return out


def both(path: str, *options: str) -> list[tuple[list[Frame], list[Frame]]]:
    theirs = stacks(perf(), "script", *(options or ("--no-inline",)), "-i", path)
    ours = stacks(*OURS, "script", *(options or ("--no-inline",)), "-i", path, "--max-stack", "300")
    return list(zip(ours, theirs, strict=True))


def places(stack: list[Frame], *, perfs: bool = False) -> list[tuple[int, str]]:
    if perfs and stack and stack[-1] == Frame(0xFFF, "[unknown]", "[unknown]"):
        stack = stack[:-1]
    return [(f.place, "" if f.module == "[unknown]" else f.module) for f in stack]


def test_programs_without_frame_pointers(tmp_path: Path) -> None:
    """Every frame of every sample: alloca, realigned stacks, callbacks from the C library, the vDSO, recursion, stacks
    that are cut, also of a stripped file; the kernel's frames before them."""
    program = build("dwarf_stacks", PROGRAM, "-O2", "-fomit-frame-pointer")
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", str(stripped), program], check=True)
    for n, command in enumerate([(program, "500"), (str(stripped), "300")]):
        compared = both(recorded(tmp_path / f"{n}.data", *command))
        assert len(compared) > 20
        assert [places(ours) for ours, _ in compared] == [places(theirs, perfs=True) for _, theirs in compared]
        assert sum(len(ours) >= 25 for ours, _ in compared) > 1  # deep
        if command[0] == program:
            names = {f.text.split("+")[0] for ours, _ in compared for f in ours}
            wanted = {"grown", "aligned", "sorted", "compare", "clocks", "deep", "cut", "main", "_start"}
            assert wanted <= names


def test_python(tmp_path: Path) -> None:
    """A large program with libraries, in which most stacks are longer than their dump."""
    python = shutil.which("python3.11", path="/usr/bin") or sys.executable
    work = "import json\nfor i in range(300): json.dumps([list(range(50))] * 20)"
    compared = both(recorded(tmp_path / "perf.data", python, "-S", "-c", work, size=32768))
    equal = sum(places(ours) == places(theirs, perfs=True) for ours, theirs in compared)
    assert len(compared) > 30
    assert equal >= 0.98 * len(compared)  # after an exec perf at times goes by what it remembers of the old program


def test_signals(tmp_path: Path) -> None:
    """A handler's stack goes on in what was interrupted, and further than perf shows it where that has to guess."""
    program = build("dwarf_stacks", PROGRAM, "-O2", "-fomit-frame-pointer")
    path = recorded(tmp_path / "perf.data", program, "150", "signals")
    handled = 0
    for ours, theirs in both(path):
        names = [f.text.split("+")[0] for f in ours]
        if "handler" not in names:
            # while the kernel puts the interrupted registers back, those that it tells are of both
            returning = "__restore_rt" in names
            assert returning or places(ours) == places(theirs, perfs=True)
            continue
        handled += 1
        at = names.index("handler")
        assert ours[at + 1].text == "__restore_rt+0x0"
        assert names[-5:-1] == ["raised", "main", *names[-3:-1]]
        assert places(ours)[: at + 1] == places(theirs)[: at + 1]
    assert handled > 10


def test_inlined_calls(tmp_path: Path) -> None:
    """The same functions inlined in the same places."""
    program = build("dwarf_stacks_g", PROGRAM, "-O2", "-fomit-frame-pointer", "-g")
    path = recorded(tmp_path / "perf.data", program, "400")
    whole = 0
    for ours, theirs in both(path, "--inline"):
        assert [f.place for f in ours] == [p for p, _ in places(theirs, perfs=True)]
        for mine, other in zip(ours, theirs, strict=False):
            if mine.module == "inlined":
                assert other == mine
        names = [f.text.split("+")[0] for f in ours]
        whole += names[:3] == ["inner", "outer", "three"] and [f.module for f in ours[:2]] == ["inlined"] * 2
    assert whole > 3


def test_source_lines(tmp_path: Path) -> None:
    """Of the program's own frames. Of a file that another one includes perf may name the other."""
    program = build("dwarf_stacks_g", PROGRAM, "-O2", "-fomit-frame-pointer", "-g")
    path = recorded(tmp_path / "perf.data", program, "200")
    found = []
    for tool in ((*OURS, "script"), (perf(), "script")):
        done = subprocess.run([*tool, "-F", "ip,sym,srcline", "-i", path], capture_output=True, text=True, check=True)
        found.append(re.findall(r"^  (dwarf_stacks_g\.c:\d+)", done.stdout, re.MULTILINE))
    assert len(found[0]) > 100
    assert found[0] == found[1]


def test_report(tmp_path: Path) -> None:
    """Shares by function, with and without what they call."""
    program = build("dwarf_stacks", PROGRAM, "-O2", "-fomit-frame-pointer")
    path = recorded(tmp_path / "perf.data", program, "400")
    for how in ("--children", "--no-children"):
        options = (
            "report",
            "--stdio",
            "-g",
            "none",
            how,
            "--no-inline",
            "-s",
            "sym",
            "--percent-limit",
            "1",
            "-i",
            path,
        )
        texts = [
            subprocess.run([*t, *options], capture_output=True, text=True, check=True).stdout for t in (OURS, (perf(),))
        ]
        rows = [
            sorted(
                x.split()  # perf's tips of the day may speak of per cent too
                for x in t.splitlines()
                if "%" in x and x[:1] != "#" and not x.endswith(("0xffffffffffffffff", " _start"))
            )
            for t in texts
        ]
        assert len(rows[0]) > 2
        assert rows[0] == rows[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="another mount namespace takes root")
def test_another_mount_namespace(tmp_path: Path) -> None:
    """A container's program: its path leads nowhere here. While it lives, its file is read through its process."""
    program = build("dwarf_stacks", PROGRAM, "-O2", "-fomit-frame-pointer")
    inside = f"mount -t tmpfs t {tmp_path} && cp {program} {tmp_path}/inside && exec {tmp_path}/inside 10000000"
    try:
        running = subprocess.Popen(["unshare", "-m", "sh", "-c", inside], stdout=subprocess.DEVNULL)
    except OSError:
        pytest.skip("unshare is not installed")
    try:
        path = str(tmp_path / "perf.data")
        options = ("-q", "-N", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf", "-o", path)
        deadline = time.monotonic() + 120
        while not os.readlink(f"/proc/{running.pid}/exe").endswith("/inside"):
            assert running.poll() is None
            assert time.monotonic() < deadline
        subprocess.run(
            [perf(), "record", *options, "-p", str(running.pid), "--", "sleep", "0.3"], check=True, capture_output=True
        )
        found = stacks(*OURS, "script", "--no-inline", "-i", path)
        names = {f.text.split("+")[0] for stack in found for f in stack if f.module.endswith("/inside")}
        assert {"burn", "main", "_start"} <= names
    finally:
        running.kill()
        running.wait()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, a program that makes code")
def test_code_made_at_run_time(tmp_path: Path) -> None:
    """Functions of perf-PID.map have the names that perf gives them; behind them we go on where perf ends."""
    node = shutil.which("node") or ""
    work = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } for (let i = 0; i < 6; i++) fib(30)"
    path = recorded(tmp_path / "perf.data", node, "--perf-basic-prof", "-e", work)
    made = further = 0
    for ours, theirs in both(path):
        for mine, other in zip(ours, theirs, strict=False):
            if other.module.startswith("/tmp/perf-") and other.text != "[unknown]":
                assert mine == other
                made += 1
        further += len(ours) > len(theirs)
    assert made > 10
    assert further > 3
