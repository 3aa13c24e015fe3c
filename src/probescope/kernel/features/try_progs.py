"""``prog:``: kinds of programs, by loading ``return 0``; ``run:``: those that BPF_PROG_TEST_RUN runs."""

from __future__ import annotations

from probescope.kernel.bpf_prog import prog_test_run
from probescope.kernel.features.answer import No
from probescope.kernel.features.tiny import LOADS, load


def attempt(name: str) -> None:
    kind, _, what = name.partition(":")
    if what == "tracing":
        what = "tp_btf"
    if what not in LOADS:
        raise No("no such kind of program")
    with load(what) as prog:
        if kind == "run":
            # a packet for the filters; programs of the other kinds take an empty context
            prog_test_run(prog, data=bytes(64) if what == "socket_filter" else b"")
