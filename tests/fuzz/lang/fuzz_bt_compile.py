"""Feeds mutated scripts to the whole way from a text to bytecode: `python tests/fuzz/lang/fuzz_bt_compile.py [SECONDS]
[SEED] [--host] [--load]`.

Valid scripts are changed word by word, so that many of them still parse; then they are lowered, checked against the
rules of the ir, planned and compiled. Only errors of ours that blame the script or the machine may come out, and
nothing may take longer than ``SLOW`` seconds of processor time. A failure prints the text, cut down as far as it still
fails.

Without options no kernel is asked: the host comes out of a dictionary. ``--host`` asks this machine; ``--load`` also
hands to its verifier what compiles, and what that refuses is a finding (nothing is attached). Scripts of other people
as further seeds: PROBESCOPE_BPFTRACE_SRC.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
for place in (HERE, HERE.parents[1] / "support", *([HERE.parents[2] / "src"] if __name__ == "__main__" else [])):
    sys.path.insert(0, str(place))

from bt_host import environment
from fuzz_bt_parser import SEEDS, outside_seeds, smaller
from plan_facts import Offers

from probescope.api import Built, Request, build
from probescope.bpf.compile import compile_program
from probescope.bpf.unit import Object, Options
from probescope.diagnostics import Source, render_all
from probescope.errors import KernelError, LimitError, ProbeError, ScriptError, UsageError, VerifierError
from probescope.ir.rules import check
from probescope.lang.bt.compiler import compile_script
from probescope.model.features import BASELINE_6_1
from probescope.plan.bpf import plan_bpf
from probescope.plan.request import PlanRequest

SLOW = 60.0
ALLOWED = (ScriptError, UsageError, ProbeError, LimitError, KernelError)
GOLDEN = HERE.parents[1] / "golden" / "lang" / "bt_lower.txt"

OWN = (
    """kprobe:f { $a = 1; $p = &$a; $s = comm; $q = (int8 *)&$s; for ($i : 0..5) { $a += *$p; $x = &$i; } @[*$q] = *$p;
@len = len(kstack); $k = ustack(3); print((len($k), $p, *&$a)); print("ab" + 1 == "b"); print(~0 - 5 * 3); }""",
    """BEGIN { @a[pid, comm] = count(); @b = hist(nsecs); @c = lhist(pid, 0, 100, 10); @d = avg(pid); exit(); }""",
    """kprobe:f { @start[tid] = nsecs; } kretprobe:f /@start[tid]/ { $d = nsecs - @start[tid];
@us = hist($d / 1000); delete(@start, tid); printf("%d %s %x\\n", $d, comm, retval); }""",
    """tracepoint:syscalls:sys_enter_openat { printf("%-6d %s\\n", pid, str(args.filename, 64));
@[str(args.filename)]++; } interval:s:1 { print(@, 5); clear(@); time("%H:%M:%S\\n"); }""",
    """struct S { int a; char b[8]; struct S *n; uint64_t f:3; }; uprobe:/bin/x:main { $s = (struct S *)arg0;
printf("%d %s %d", $s->a, $s->b, $s->n->a); $t = ($s->a, "x", (1, (uint8)2)); print($t.2.1); @[$t] = sum($s->a); }""",
    """profile:hz:99 { @[kstack, ustack(3), cpu] = count(); $i = 0; while ($i < 10) { if ($i == 5) { break; } $i++;
continue; } for ($j : 0..4) { @x[$j] = (int64)$j; } for ($kv : @x) { print($kv.0); } unroll(3) { @y += 1; } }""",
    """fn add($a: int64, $b: int64): int64 { return $a + $b; } macro twice($x) { add($x, $x) } BEGIN { $v = 3;
print(twice($v)); let $s: string[16] = "abc"; if ($s == "abc" && strncmp(comm, "ba", 2) != 0 || pid > 1) {
@m = max(1); } else { @n = min(-1); } }""",
    """BEGIN { print(ntop(2130706433)); $b = buf("abcd", 3); print($b); print(strftime("%s", nsecs));
print(kaddr("avenrun")); print(macaddr((uint8[8])pid)); $a = (int8[4])0x01020304; print($a[pid % 4]);
print(-1 >> 2); print((uint8)pid / 3 % 2); print(pid ? "yes" : "no"); join((uint8**)pid); cat("/proc/%d/x", pid);
print(sizeof(uint64)); $c = !pid ^ ~tid & 3; @t = tseries(pid, 1s, 5); }""",
)

NAMES = """pid tid comm nsecs cpu arg0 args retval kstack ustack func probe curtask cgroup uid rand elapsed $x $y $s $1
    $# @ @a @b @x print printf count sum avg min max stats hist lhist tseries str buf delete clear zero len exit join
    time strftime ntop ksym usym kaddr uaddr reg sizeof offsetof has_key path kptr uptr bswap strcontains signal system
    strglob strmatch container
    macaddr cat errorf is_str is_ptr typeof comptime let return break continue if else while for unroll uint8 int16
    uint32 int64 uint64 bool string void struct task_struct begin end BEGIN END interval:s:1 kprobe:f kretprobe:f
    tracepoint:a:b uprobe:/bin/x:f profile:hz:9 usdt:/bin/x:p rawtracepoint:r fentry:f fexit:f iter:task max_strlen
    config true false""".split()
OPERATORS = "+ - * / % & | ^ ~ ! && || == != < > <= >= << >> = += -= ++ -- ? : . -> , ; ( ) [ ] { } ..".split()
VALUES = (
    *"0 1 -1 3 64 200 65536 0x7fffffffffffffff 18446744073709551615 1e9 * 'x' @[1,2] @a[pid] (uint8)1 (int8*)0".split(),
    *('"abc"', '""', '"%s %d\\n"', "(1, 2)", '("a", 1, (2, 3))'),
)
HERE_NOW = (
    (re.compile(r"\b(?:kprobe|fentry):[\w*]+"), f"uprobe:{sys.executable}:main"),
    (re.compile(r"\b(?:kretprobe|fexit):[\w*]+"), f"uretprobe:{sys.executable}:main"),
    (re.compile(r"\b(?:uprobe|usdt):/bin/x:[\w:*]+"), f"uprobe:{sys.executable}:main"),
)
"""Probes of the seeds in terms of what every machine has."""
WORD = re.compile(r"\s+|\"(?:\\.|[^\"\\])*\"|[$@]?\w+|->|\+\+|--|&&|\|\||[<>=!]=|<<|>>|\.\.|.", re.DOTALL)


def seeds() -> list[str]:
    blocks = GOLDEN.read_text().split("\n====\n") if GOLDEN.exists() else []
    golden = [b.partition("-->\n")[0].partition("\n")[2] for b in blocks]  # the first line says what it is for
    return [*OWN, *SEEDS, *golden, *outside_seeds()]


def mutate(text: str, others: list[str], rng: random.Random) -> str:
    """A few words changed, dropped, doubled, swapped, or taken from elsewhere."""
    words = WORD.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        solid = [i for i, w in enumerate(words) if not w.isspace()] or [0]
        at = rng.choice(solid)
        match rng.randrange(8):
            case 0:
                words[at : at + 1] = []
            case 1:
                words.insert(at, rng.choice(rng.choice((NAMES, OPERATORS, VALUES))))
            case 2 | 3 | 4:
                words[at : at + 1] = [_alike(words[at] if words else "", rng)]
            case 5:
                to = rng.choice(solid)
                words[at], words[to] = words[to], words[at]
            case 6:
                end = at + rng.choice((3, 8, 20))
                words[at:at] = words[at:end] * rng.choice((1, 1, 2, 30))
            case _:
                other = WORD.findall(rng.choice(others))
                start = rng.randrange(len(other))
                words[at:at] = other[start : start + rng.choice((1, 4, 12, 40))]
        words = words or [" "]
    return "".join(words)[:100_000]


def _alike(word: str, rng: random.Random) -> str:
    """Another word that may well stand where this one stood."""
    if word[:1].isdigit() or word[:1] == '"':
        return rng.choice(VALUES)
    return rng.choice(NAMES if word[:1].isalpha() or word[:1] in "$@" else OPERATORS)


def on_paper(text: str) -> Object:
    """Compiled for a host out of a dictionary."""
    program = compile_script(Source("fuzz", text), environment(unsafe=True, params=("1", "two"))).program
    check(program)
    plan = plan_bpf(program, PlanRequest(Offers(), cpus=(0, 1, 2, 3)))
    return compile_program(program, plan.units, Options(BASELINE_6_1, types=program.types, cpus=4))


def on_host(text: str, *, load: bool = False) -> Object:
    """Compiled for this machine, and, if asked, verified by it."""
    from probescope.collect.host import compile_options

    for made_up, real in HERE_NOW:
        text = made_up.sub(real, text)
    built = build(Request(text, "fuzz", ("1", "two"), unsafe=True, via="bpf", environment={}))
    check(built.program)
    if load and built.plan.units:
        _load(built)
    return compile_program(built.program, built.plan.units, compile_options(built.program, built.plan, 0))


class _Nobody:
    """A sink that hears nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_args, **_kw: None


def _load(built: Built) -> None:
    from probescope.collect.kernel_side import KernelSide
    from probescope.collect.options import SessionOptions

    side = KernelSide(built.program, built.plan, SessionOptions(unsafe=True, via="bpf"), 0)
    try:
        side.prepare()
        side.load()
    finally:
        side.close()


def outcome(text: str, way: Callable[[str], object] = on_paper) -> str:
    """``ok``, or the name of the error. Raises what should not have come out."""
    try:
        way(text)
    except VerifierError:
        raise
    except ScriptError as e:
        if not e.diagnostics or not render_all(e.diagnostics):
            raise AssertionError("an error without a finding") from e
        return "ScriptError"
    except ALLOWED as e:
        if not str(e):
            raise AssertionError(f"a {type(e).__name__} that says nothing") from e
        return type(e).__name__
    return "ok"


def judged(text: str, way: Callable[[str], object] = on_paper) -> tuple[str, str]:
    """The outcome, and what is wrong about it or nothing."""
    started = time.process_time()
    try:
        name = outcome(text, way)
    except Exception as e:
        return "FINDING", f"{type(e).__name__}: {e}"[:600]
    took = time.process_time() - started
    return (name, "") if took <= SLOW else ("FINDING", f"took {took:.1f} s")


def kind(problem: str) -> str:
    """Problems of one kind differ in numbers and names only."""
    return re.sub(r"\d+|'[^']*'", "#", problem)[:60]


def run(
    seconds: float, seed: int = 0, way: Callable[[str], object] = on_paper, *, keep_going: bool = False
) -> Counter[str]:
    """Mutates for a while; how often which outcome. Raises ``AssertionError`` on a finding, or prints one of each kind
    and goes on."""
    rng = random.Random(seed)
    pool = seeds()
    counts: Counter[str] = Counter()
    known: set[str] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = mutate(rng.choice(pool), pool, rng)
        name, problem = judged(text, way)
        counts[name] += 1
        if problem and kind(problem) not in known:
            known.add(kind(problem))
            finding = f"seed {seed}, text {counts.total()}: {problem}\n{_least(text, kind(problem), way)!r}"
            if not keep_going:
                raise AssertionError(finding)
            print(finding, flush=True)
    return counts


def _least(text: str, wanted: str, way: Callable[[str], object]) -> str:
    """A shorter text with a problem of the same kind."""

    def fails(candidate: str) -> str:
        found = kind(judged(candidate, way)[1])
        return found if found == wanted else ""

    return smaller(text, fails, budget=10.0)


def main(argv: list[str]) -> int:
    numbers = [a for a in argv if not a.startswith("-")]
    length = float(numbers[0]) if numbers else 60.0
    seed = int(numbers[1]) if len(numbers) > 1 else int(time.time())
    way: Callable[[str], object] = on_host if "--host" in argv else on_paper
    if "--load" in argv:
        way = lambda text: on_host(text, load=True)  # noqa: E731
    print(f"seed {seed}")
    counts = run(length, seed, way, keep_going=True)
    print(", ".join(f"{n} {name}" for name, n in counts.most_common()))
    return 1 if counts["FINDING"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
