"""Functions without code of their own, and names that are not written as they should be: why, and what to write."""

from __future__ import annotations

import subprocess
import sys

from collect_programs import build

PROGRAM = r"""
#include <stdio.h>
static inline __attribute__((always_inline)) int tiny(int x) { return x * 3; }
__attribute__((noinline)) int other(int x) { return tiny(x) + 1; }
int main(int c, char **v) { (void)v; printf("%d\n", tiny(c) + other(c)); return 0; }
"""


def said(probe: str) -> str:
    command = [sys.executable, "-m", "probescope", "run", "--dry-run", "-e", probe + " { exit() }"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    return done.stderr


def test_a_function_that_is_inlined_everywhere() -> None:
    path = build("inlined", PROGRAM, "-O2")
    told = said(f"uprobe:{path}:tiny")
    assert "it was inlined wherever it is called (2 places)" in told
    assert f"probescope probe -x {path} 'tiny'" in told
    assert "inlined" not in said(f"uprobe:{path}:tinny").replace(path, "")


def test_names_of_cpp_without_quotes() -> None:
    assert 'uprobe:/bin/x:cpp:"A::run"' in said("uprobe:/bin/x:A::run")
    assert 'uretprobe:/bin/x:cpp:"A::B::run"' in said("uretprobe:/bin/x:cpp:A::B::run")
