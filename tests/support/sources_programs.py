"""Small programs that tests of sources build and probe. Each builds once a run, with gcc."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

C_SOURCE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/sdt.h>

unsigned short demo_loop_semaphore __attribute__((section(".probes")));

int shared_data = 7;

__attribute__((noinline)) int add(int a, int b) { return a + b; }
int add_alias(int a, int b) __attribute__((alias("add")));
__attribute__((noinline)) static int hidden(int a) { return a * 3; }

static int fast(int x) { return x; }
static int (*choose(void))(int) { return fast; }
int indirect(int x) __attribute__((ifunc("choose")));

__attribute__((noinline)) void twice(int n, const char *text) {
    DTRACE_PROBE2(demo, place, n, text);
    if (n > 1)
        DTRACE_PROBE2(demo, place, n + 1, text);
    DTRACE_PROBE(demo, bare);
}

__attribute__((noinline)) void looped(long n) {
    DTRACE_PROBE1(other, loop, n);
    if (demo_loop_semaphore)
        DTRACE_PROBE1(demo, loop, n);
}

int main(int argc, char **argv) {
    char line[8];
    twice(argc, argv[0]);
    looped(argc);
    printf("%d\n", add(argc, hidden(argc)) + indirect(1) + shared_data);
    fflush(stdout);
    while (argc > 1 && fgets(line, sizeof line, stdin)) /* until its input ends */
        looped(strlen(line));
    return 0;
}
"""

SDT_WITH_SEMAPHORES = "#define _SDT_HAS_SEMAPHORES 1\n"

SEMAPHORES = r"""
unsigned short demo_place_semaphore __attribute__((section(".probes")));
unsigned short demo_bare_semaphore __attribute__((section(".probes")));
unsigned short other_loop_semaphore __attribute__((section(".probes")));
"""

CPP_SOURCE = r"""
namespace app {
struct Server {
    __attribute__((noinline)) int handle(int fd) { return fd + 1; }
    __attribute__((noinline)) int handle(const char *name) { return *name; }
};
__attribute__((noinline)) int operator+(const Server &s, int n) { return n; }
}
int main(int argc, char **argv) {
    app::Server s;
    return s.handle(argc) + s.handle(argv[0]) + (s + argc) > 1000;
}
"""


def build(folder: Path, name: str, source: str, *flags: str) -> str:
    """The path of the program; skips the test if there is no compiler."""
    compiler = "g++" if source is CPP_SOURCE else "gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    path = folder / name
    code = folder / f"{name}.{'cc' if source is CPP_SOURCE else 'c'}"
    code.write_text(source)
    subprocess.run([compiler, "-g", "-O1", *flags, "-o", path, code], check=True, capture_output=True, timeout=300)
    return str(path)


def demo(folder: Path, *flags: str) -> str:
    """The C program, with semaphores for all of its probes."""
    return build(
        folder,
        "demo",
        SDT_WITH_SEMAPHORES + C_SOURCE.replace("int shared_data", SEMAPHORES + "int shared_data"),
        *flags,
    )
