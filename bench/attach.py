"""Attaching to very many points and leaving again: 360 system call tracepoints, 1,000 uprobes."""

from __future__ import annotations

import re

from bench.harness import BenchError, Row, Settings, build, measure
from bench.tools import MANY_PROBES, Tool

FUNCTIONS = 1000
#: The first instruction decides what a probe costs (a nop is emulated, lea is single-stepped), so it is fixed.
FUNCTION = '__attribute__((naked, noinline)) void bench_f{n:04}(void) {{ __asm__("nop; ret"); }}\n'


def counted(output: str) -> int:
    """The value of the map ``@`` as both tools print it at the end."""
    match = re.search(r"^@: (\d+)$", output, re.MULTILINE)
    return int(match[1]) if match else 0


def syscalls(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    """A run that counts nothing was not attached, and is refused."""
    script = "tracepoint:syscalls:sys_enter_* { @ = count(); } interval:ms:50 { exit(); }"

    def once(tool: Tool) -> float:
        usage = measure(tool.command(script), extra=MANY_PROBES)
        if not counted(usage.output):
            raise BenchError(f"{tool.name} counted no system call:\n{usage.output[-500:]}")
        return usage.wall

    once(ours)  # warm
    mine = [once(ours) for _ in range(settings.rounds)]
    peer = [] if settings.quick else [once(theirs)]
    note = "" if peer else "(the peer takes half a minute: not in --quick)"
    return [Row("all syscalls:sys_enter_*: attach and leave", "s", mine, peer, 0.02, note=note)]


def uprobes(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    """The figure includes the start of the tool; the same program on one function is shown beside it."""
    functions = "".join(FUNCTION.format(n=n) for n in range(FUNCTIONS))
    program = build(f"{functions}int main(void) {{ bench_f0000(); return 0; }}\n", "functions")

    def once(tool: Tool, glob: str) -> float:
        script = f"uprobe:{program}:{glob} {{ @ = count(); }} interval:ms:50 {{ exit(); }}"
        return measure(tool.command(script), extra=MANY_PROBES).wall

    once(ours, "bench_f*")
    many, one = [], []
    for _ in range(settings.rounds):
        many.append(once(ours, "bench_f*"))
        one.append(once(ours, "bench_f0000"))
    net = [a - b for a, b in zip(many, one, strict=True)]
    peer_many = [] if settings.quick else [once(theirs, "bench_f*")]
    peer_one = [once(theirs, "bench_f0000")]
    note = "" if peer_many else "(the peer takes two minutes: not in --quick)"
    return [
        Row("1 uprobe: attach and leave", "s", one, peer_one),
        Row(f"{FUNCTIONS:,} uprobes: attach and leave", "s", many, peer_many, note=note),
        Row(
            f"{FUNCTIONS - 1:,} more uprobes cost",
            "s",
            net,
            [many_s - one_s for many_s, one_s in zip(peer_many, peer_one, strict=False)],
            note="(at most 0.2 s)",
        ),
    ]


def run(settings: Settings, ours: Tool, theirs: Tool) -> list[Row]:
    return syscalls(settings, ours, theirs) + uprobes(settings, ours, theirs)
