"""A program for tests of probe definitions: structs behind pointers, bit fields, an inlined function, a label, statics;
compiled with and without optimisation."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
#include <stdio.h>
#include <string.h>
struct inner { int a; const char *text; unsigned lo:4, hi:12; };
struct outer { struct inner in; struct inner *next; char name[16]; long arr[4]; union { int u1; long u2; }; };
struct opaque;
static int counter = 7;
unsigned long global_total;
enum color { RED, GREEN = 5, BLUE };
static inline __attribute__((always_inline)) int helper(struct outer *o, int k)
{
	int sum = o->in.a + k;
	counter += sum;
	return sum;
}
__attribute__((noinline)) long work(struct outer *o, const char *label, unsigned char n, enum color c, double d,
	short sh, struct opaque *hidden)
{
	long total = 0;
	for (int i = 0; i < n; i++) {
		total += helper(o, i);
		if (total > 1000)
			goto out;
	}
	total += strlen(label) + c + (long)d + sh;
out:
	global_total += total + (hidden != 0);
	return total;
}
__attribute__((noinline)) char *name_of(struct outer *o)
{
	return o->name;
}
int main(int argc, char **argv)
{
	struct inner second = { 9, "second", 3, 77 };
	struct outer o = { { 3, "first", 5, 99 }, &second, "outername", { 1, 2, 3, 4 }, { 8 } };
	for (int i = 0; i < 3; i++)
		printf("%ld %s\n", work(&o, argc > 1 ? argv[1] : "none", 4 + i, BLUE, 2.5, -2, 0), name_of(&o));
	printf("%d\n", helper(&o, argc));
	return 0;
}
"""


def build(folder: Path) -> dict[str, str]:
    """Paths by name: ``plain`` (-O0), ``fast`` (-O2), ``stripped`` (-O2, nothing but its dynamic symbols)."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (folder / "work.c").write_text(SOURCE)
    out = {}
    for name, options in (("plain", ["-O0", "-g"]), ("fast", ["-O2", "-g"]), ("stripped", ["-O2", "-s"])):
        subprocess.run(["gcc", *options, "-o", name, "work.c"], check=True, cwd=folder, timeout=300)
        out[name] = str(folder / name)
    return out
