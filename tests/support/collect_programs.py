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

#: Every function of it does what its name says, as often as the command line says: work MODE [TIMES [EXIT CODE]].
#: With WAIT set it says "ready" and waits for a line before its work, with STAY it says "done" and waits after it.
WORK_C = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/mman.h>
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
KEEP void cold(const char *s) { sink++; }
KEEP void innermost(long n) { sink += n; }
KEEP void middle(long n) { innermost(n + 1); sink++; }
KEEP void outermost(long n) { middle(n + 1); sink++; }

static const int array[4] = {10, 20, 30, 40};
static const char *words[3] = {
    "alpha", "beta", "a text that is a good deal longer than sixty-four bytes, to be cut somewhere"};

static void do_numbers(long i) { numbers(i, -i, i, -i); }
static void do_text(long i) { text(words[i % 3]); }
static void do_shape(long i) { struct point p = {i, "tag", -i}; shape(&p, array); }
static void do_six(long i) { six(i, i + 1, i + 2, i + 3, i + 4, i + 5); }
static void do_deep(long i) { outermost(i); }
static void do_usdt(long i) {
    plain(i, words[i % 2]);
    if (work_gated_semaphore) DTRACE_PROBE1(work, gated, -i);
}
static void do_getppid(long i) { syscall(SYS_getppid); }
static void do_getpgid(long i) { syscall(SYS_getpgid, (int)i); }
static void do_getsid(long i) { syscall(SYS_getsid, (int)-i); }
static void do_write(long i) { if (write(1, words[i % 3], strlen(words[i % 3])) < 0) exit(9); }
static void do_watch(long i) { watched = i; }
static void do_chdir(long i) {
    char name[32];
    snprintf(name, sizeof name, "/no/such/%ld", i);
    if (chdir(name) == 0) exit(9);
}
static void do_cold(long i) { /* a page of this very file that nobody has touched */
    int fd = open("/proc/self/exe", O_RDONLY);
    cold(mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0));
}
static void do_spin(long i) { for (int k = 0; k < 1000000; k++) sink++; }

#define MODE(name) {#name, do_##name}
static const struct { const char *name; void (*run)(long); } modes[] = {
    MODE(numbers), MODE(text), MODE(shape), MODE(six), MODE(deep), MODE(usdt), MODE(getppid), MODE(getpgid),
    MODE(getsid), MODE(write), MODE(watch), MODE(chdir), MODE(cold), MODE(spin)};

static void one(const char *mode, long i) {
    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
        if (!strcmp(mode, modes[m].name)) { modes[m].run(i); return; }
    exit(8);
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
#define KEEP __attribute__((noinline))
namespace app {
template <typename T> struct Box {
    T value;
    KEEP T get(int extra) const { asm volatile(""); return value + extra; }
};
struct Server {
    KEEP int handle(const std::string &s, std::vector<int> &v) {
        asm volatile("");
        return s.size() + v.size() + Box<int>{3}.get(1);
    }
};
}
int main() {
    app::Server s;
    std::vector<int> v{1};
    std::printf("%d\n", s.handle("x", v));
    return 0;
}
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
    subprocess.run([compiler, *wanted, "-o", path, *codes], check=True, capture_output=True, timeout=300)
    return os.path.realpath(path)


def work() -> str:
    return build("work", WORK_C)


def symbol(path: str, name: str) -> int:
    """The address of a symbol of a program that is not position-independent, as nm says."""
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True, timeout=300).stdout.splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)


def many(count: int) -> str:
    """A program with ``count`` functions f0, f1, ..., each called once in order."""
    functions = "\n".join(f"KEEP void f{i}(void) {{ sink += {i}; }}" for i in range(count))
    calls = "".join(f" f{i}();" for i in range(count))
    head = "#define KEEP __attribute__((noinline, noclone))\nvolatile long sink;"
    return build(f"many{count}", f"{head}\n{functions}\nint main(void) {{{calls} return 0; }}\n")
