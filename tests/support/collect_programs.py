"""Programs to trace: what they do is known exactly, so that what a tracer says of them can be compared."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

#: Every function of it does what its name says, as often as it is told on the command line:
#:   work MODE N ...   prints "ready PID" when it has started, waits for a line on stdin if WAIT is set, does MODE N times
WORK_C = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define KEEP __attribute__((noinline, noclone, used))

struct point { int x; char tag[8]; long y; };

unsigned short work_gated_semaphore __attribute__((section(".probes")));
volatile long watched = 7; /* not zero: the kernel clears .bss under our eyes, byte by byte */
void plain(long i, const char *word);
volatile long sink;

KEEP long numbers(long a, int b, unsigned char c, short d) { sink += a + b + c + d; return a * 2 + b; }
KEEP int text(const char *s) { sink += s[0]; return strlen(s); }
KEEP void shape(struct point *p, const int *array) { sink += p->x + array[0]; }
KEEP long six(long a, long b, long c, long d, long e, long f) { sink += a; return f; }
KEEP void innermost(long n) { sink += n; }
KEEP void middle(long n) { innermost(n + 1); sink++; }
KEEP void outermost(long n) { middle(n + 1); sink++; }

static void one(const char *mode, long i) {
    static const int array[4] = {10, 20, 30, 40};
    static const char *words[3] = {"alpha", "beta", "a text that is a good deal longer than sixty-four bytes, to be cut somewhere"};
    if (!strcmp(mode, "numbers")) numbers(i, -i, i, -i);
    else if (!strcmp(mode, "text")) text(words[i % 3]);
    else if (!strcmp(mode, "shape")) { struct point p = {i, "tag", -i}; shape(&p, array); }
    else if (!strcmp(mode, "six")) six(i, i + 1, i + 2, i + 3, i + 4, i + 5);
    else if (!strcmp(mode, "deep")) outermost(i);
    else if (!strcmp(mode, "usdt")) { plain(i, words[i % 2]); if (work_gated_semaphore) DTRACE_PROBE1(work, gated, -i); }
    else if (!strcmp(mode, "getppid")) syscall(SYS_getppid);
    else if (!strcmp(mode, "getpgid")) syscall(SYS_getpgid, (int)(i - 2));
    else if (!strcmp(mode, "write")) { if (write(1, words[i % 3], strlen(words[i % 3])) < 0) exit(9); }
    else if (!strcmp(mode, "watch")) watched = i;
    else if (!strcmp(mode, "chdir")) { char name[32]; snprintf(name, sizeof name, "/no/such/%ld", i); if (chdir(name) == 0) exit(9); }
    else if (!strcmp(mode, "spin")) for (int k = 0; k < 1000000; k++) sink++;
    else exit(8);
}

int main(int argc, char **argv) {
    char line[16];
    if (getenv("WAIT")) {
        fprintf(stderr, "ready %d\n", getpid());
        if (!fgets(line, sizeof line, stdin)) return 7;
    }
    long n = argc > 2 ? atol(argv[2]) : 1;
    for (long i = 0; i < n; i++) one(argv[1], i);
    if (getenv("STAY")) {
        fprintf(stderr, "done\n");
        while (fgets(line, sizeof line, stdin)) {}
    }
    return argc > 3 ? atoi(argv[3]) : 0;
}
"""

#: A probe without a semaphore: whether a file's probes have them is decided once a file.
PLAIN_C = r"""
#include <sys/sdt.h>
void plain(long i, const char *word) { DTRACE_PROBE2(work, plain, i, word); }
"""

CPP = r"""
#include <cstdio>
#include <string>
#include <vector>
namespace app {
template <typename T> struct Box { T value; __attribute__((noinline)) T get(int extra) const { asm volatile(""); return value + extra; } };
struct Server { __attribute__((noinline)) int handle(const std::string &s, std::vector<int> &v) { asm volatile(""); return s.size() + v.size() + Box<int>{3}.get(1); } };
}
int main() { app::Server s; std::vector<int> v{1}; std::printf("%d\n", s.handle("x", v)); return 0; }
"""


@functools.cache
def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="probescope-test-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def build(name: str, source: str, *flags: str) -> str:
    """The path of the program, built once a run. Skips the test where there is no compiler."""
    compiler, suffix = ("g++", "cc") if source is CPP else ("gcc", "c")
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    path, code = _folder() / name, _folder() / f"{name}.{suffix}"
    code.write_text(source)
    codes = [code]
    if source is WORK_C:
        codes.append(_folder() / "plain.c")
        codes[1].write_text(PLAIN_C)
    wanted = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-no-pie", *flags]
    subprocess.run([compiler, *wanted, "-o", path, *codes], check=True, capture_output=True, timeout=120)
    return os.path.realpath(path)


def work() -> str:
    return build("work", WORK_C)


def symbol(path: str, name: str) -> int:
    """The address of a symbol of a program that is not position-independent, as nm says."""
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)


def many(count: int) -> str:
    """A program with ``count`` functions f0, f1, ..., each called once in order."""
    functions = "\n".join(f"__attribute__((noinline, noclone)) void f{i}(void) {{ sink += {i}; }}" for i in range(count))
    calls = "".join(f" f{i}();" for i in range(count))
    return build(f"many{count}", f"volatile long sink;\n{functions}\nint main(void) {{{calls} return 0; }}\n")
