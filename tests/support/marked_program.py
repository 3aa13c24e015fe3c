"""A program in C and C++ that marks its code with probescope.h, and how it is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import probescope

INCLUDE = str(Path(probescope.__file__).parent / "include")

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include "probescope.h"
PROBESCOPE_SPAN_NAMED(app, whole);
PROBESCOPE_SPAN_NAMED(app, part);
enum color { RED, GREEN };
static long kept = 77;
static int dear(int x) { puts("dear"); return x; }
static int work(int n, const char *text)
{
    PROBESCOPE_SPAN(app, whole, n, text);
    char buffer[] = "abcde";
    unsigned char small = 200;
    signed char less = -3;
    enum color c = GREEN;
    double d = 1.5;
    unsigned long long big = 1ull << 63;
    struct { unsigned bits : 5; } s = {9};
    PROBESCOPE_POINT(app, many, small, less, c, d, big, buffer, s.bits, (short)-42);
    kept += n;
    PROBESCOPE_POINT(app, global, kept, &kept);
    PROBESCOPE_POINT(app, bare);
    for (int i = 0; i < 3; i++) {
        PROBESCOPE_SPAN(app, part, i);
        if (i == 1)
            continue;
        if (n == 3)
            return 1;
    }
    PROBESCOPE_BEGIN(other, piece);
    PROBESCOPE_LAZY(app, lazy, dear(n));
    PROBESCOPE_END(other, piece);
    PROBESCOPE_LAZY(app, lazy, 5);
    if (PROBESCOPE_ON(app, lazy))
        puts("somebody listens");
    return 0;
}
int entry(int argc, char **argv) { return work(argc, argv[0]); }
#ifndef LIBRARY
static char three[] = "three";
int main(int argc, char **argv) {
    *(volatile char *)three = 't'; /* a page that was never touched cannot be read by those who only look */
    return work(argc - 1, argv[0]) + work(3, three) - 1;
}
#endif
"""
NAMES = {
    ("app", "whole__begin"),
    ("app", "whole__end"),
    ("app", "part__begin"),
    ("app", "part__end"),
    ("app", "many"),
    ("app", "global"),
    ("app", "bare"),
    ("app", "lazy"),
    ("other", "piece__begin"),
    ("other", "piece__end"),
}
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def compiled(folder: Path, command: str, source: str = SOURCE) -> str:
    """The path of what a compiler's command line, without files, makes of it."""
    words = command.split()
    plus = words[0].endswith("++")
    (folder / "marked.c").write_text(source)
    (folder / "marked.cpp").write_text(source)
    out = folder / f"marked-{abs(hash(command)):x}"
    file = "marked.cpp" if plus else "marked.c"
    subprocess.run([*words, *STRICT, f"-I{INCLUDE}", "-o", str(out), file, "-lpthread"], cwd=folder, check=True)
    return str(out)


def missing(command: str) -> str:
    """Why a compiler cannot be had, or nothing."""
    name = command.split()[0]
    return "" if shutil.which(name) else f"needs {os.path.basename(name)}"
