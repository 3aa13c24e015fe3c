"""Feeds mutated scripts to the syntax half of bpftrace's language: `python tests/fuzz/lang/fuzz_bt_parser.py
[SECONDS] [SEED]`.

Only ``ScriptError`` and ``UsageError`` may come out, rendering what they say must work, a tree must print and parse
again as itself, and nothing may take longer than ``SLOW`` seconds. A failure prints the text, cut down as far as it
still fails. For coverage-guided fuzzers: ``one(text)``. Scripts of other people as further seeds:
PROBESCOPE_BPFTRACE_SRC.
"""

from __future__ import annotations

import glob
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "src"))

from probescope.diagnostics import Source, render_all
from probescope.errors import ScriptError, UsageError
from probescope.lang.bt.frontend import ScriptOptions, read_script
from probescope.lang.bt.params import Params
from probescope.lang.bt.parser import ParseOptions, parse
from probescope.lang.bt.printer import program_text

SLOW = 60.0
"""Seconds for one text; thousands of times what an ordinary one needs, so that a busy machine raises no alarm."""

SEEDS = (
    r"""BEGIN { printf("hello %s\n", str($1)); @[comm, pid] = count(); exit(); }""",
    r"""#!/usr/bin/env bpftrace
#include <linux/fs.h>
#define N (1 + 2)
#define F(x, y) x * y
#ifdef N
#else
#endif
struct S { int a:3, *b[4]; struct { char c[N]; } d; int (*f)(int, ...); } __attribute__((packed));
enum E { A = 1, B = A << 2, C };
typedef unsigned long u;
union U { int x; };
config = { max_strlen = 64; stack_mode = perf; print_maps_on_exit = false }
import "x.bt";
let @m = lruhash(N);
macro add($a, @b, c) { $a += c; @b[c]++; $a }
fn f($a: int64): int64 { return $a + F(1, 2); }
kprobe:vfs_*, uprobe:/bin/a:"x y"+4 /pid == 1 && (comm == "a" || @m[tid])/ { $x = add($y, @m, 3); }
""",
    r"""i:s:1 { if (pid > 1) { print(1) } else if comptime (is_ptr($x)) { } else { @x = hist($2, 3); }
for ($i : 0..10) { continue; } for ($kv : @m) { print($kv.0.1); } while !$a { break } unroll(3) { $i++; }
$t = (1, "a", (x=1, y=$z)); $u = $a ? $b : $c ?: $d; _ = f(typeof(struct a*[2])); return; }""",
    r"""t:a:b / 100 / 25 > *(uint8*)args.x / { let $x: string[64] = (string[64])arg0; --@[1]; $y = &@m;
print(-$x->f[0]);
$z = { let $q = sizeof(uint32*[4]) + offsetof(struct S, a.b); $q }; import "y"; @ <<= 1_000u | 0x1f ^ 1e3 %
5ms; }""",
    r"""macro a(x) { b(x) + b(x) } macro b(x) { sizeof(x) + x }
begin { a(1); getopt("o", 1); $1 + $#; str($1 + 1); }""",
)

PIECES = [
    *r"""
    { } ( ) [ ] ; : , . .. -> ++ -- && || == = += <<= << ? ?: / * - ! ~ & " ' $ $1 $# $x @ @m @m[ #define
    #include #if #endif \ /* */ // if else for while unroll let macro fn struct union enum typedef sizeof(
    offsetof( typeof( comptime config = import return break kprobe: uprobe: 0x 1e9 9999999999999999999 1_ \x
    \777 é
    """.split(),
    "\n",
    "\t",
    "\x00",
    "\ud800",
    "\udcff",
]


def outside_seeds() -> list[str]:
    root = os.environ.get("PROBESCOPE_BPFTRACE_SRC", "")
    names = sorted(glob.glob(f"{root}/tools/**/*.bt", recursive=True)) if root else []
    return [Path(n).read_text(errors="surrogateescape") for n in names]


def one(text: str) -> bool:
    """Runs everything on one text; whether it was a script. Raises what should not have come out."""
    source = Source("fuzz", text)
    try:
        read_script(source, ScriptOptions(params=Params(("1", "two")), environment={}))
    except ScriptError as e:
        if not e.diagnostics or not render_all(e.diagnostics):
            raise AssertionError("an error without a finding") from e
    except UsageError:
        pass
    try:
        tree = parse(source, ParseOptions(params=("1", "two")))
    except ScriptError:
        return False
    if "#" not in text:  # a macro's expansion, printed, would be expanded again
        again = parse(Source("fuzz", program_text(tree)), ParseOptions(params=("1", "two")))
        assert again == tree, "print and parse made another tree"
    return True


def mutate(text: str, seeds: list[str], rng: random.Random) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice((0, 1, 1, 2, 5, 20, 100)))
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + rng.choice(PIECES) + text[to:]
            case 2:
                text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x11000)))) + text[to:]
            case 3:
                other = rng.choice(seeds)
                start = rng.randrange(len(other))
                text = text[:at] + other[start : start + rng.choice((3, 10, 50))] + text[to:]
            case 4:
                text = text[:at] + text[at:to] * rng.choice((2, 3, 50)) + text[to:]
            case _:
                text = text[:at] + rng.choice(PIECES) * rng.choice((2, 10, 500)) + text[to:]
    return text[:200_000]


def failure(text: str) -> str:
    """What is wrong about ``text``, or nothing."""
    started = time.monotonic()
    try:
        one(text)
    except Exception as e:
        return f"{type(e).__name__}: {e}"[:300]
    took = time.monotonic() - started
    return f"took {took:.1f} s" if took > SLOW else ""


def smaller(text: str, fails: Callable[[str], str], budget: float = 20.0) -> str:
    """A shorter text that fails, too."""
    end = time.monotonic() + budget
    size = len(text) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(text) and time.monotonic() < end:
            candidate = text[:at] + text[at + size :]
            if fails(candidate):
                text = candidate
            else:
                at += size
        size //= 2
    return text


def run(seconds: float, seed: int = 0) -> tuple[int, int]:
    """Mutates for a while; the numbers of texts and of those that were scripts. Raises ``AssertionError`` on a
    finding."""
    rng = random.Random(seed)
    seeds = [*SEEDS, *outside_seeds()]
    texts = scripts = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = mutate(rng.choice(seeds), seeds, rng)
        problem = failure(text)
        if problem:
            text = smaller(text, failure)
            raise AssertionError(f"seed {seed}, text {texts}: {failure(text) or problem}\n{text!r}")
        texts += 1
        try:
            parse(Source("fuzz", text))
            scripts += 1
        except ScriptError:
            pass
    return texts, scripts


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print(f"seed {first}")
    texts, scripts = run(length, first)
    print(f"{texts} texts, {scripts} of them scripts")
