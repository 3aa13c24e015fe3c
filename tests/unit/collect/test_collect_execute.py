"""The interpreter of plans: what the verifier refuses is told at the script's line; leaving undoes everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from probescope.bpf.unit import MapSpec, Object, ProgSpec, Unit
from probescope.collect import execute
from probescope.collect.execute import Execution
from probescope.diagnostics import Source, Span
from probescope.errors import KernelError, ScriptError, VerifierError
from probescope.ir.program import Clause, Program
from probescope.model.plan import AttachRaw, Load, Plan, RunOnce

SOURCE = Source("s.bt", "BEGIN { }\ntracepoint:a:b { @x = *0; }\n")
SPAN = Span(2, 18, 2, 25)
UNIT = Unit("c0_0", 0, "raw_tracepoint", (0,))
LOG = """0: R1=ctx() R10=fp0
0: (79) r1 = *(u64 *)(r1 +0)
R1 invalid mem access 'scalar'
processed 1 insns
"""


class Held:
    """Something with a descriptor; closing is noted."""

    closed: list[str] = []

    def __init__(self, name: str) -> None:
        self.name = name

    def fileno(self) -> int:
        return 3

    def close(self) -> None:
        self.closed.append(self.name)


class NoBtf:
    def find(self, kind: str, name: str, module: str = "") -> int:
        return 0

    def object_fd(self, module: str) -> None:
        return None


@contextmanager
def execution(monkeypatch: pytest.MonkeyPatch, *steps: object) -> Iterator[Execution]:
    Held.closed = []
    monkeypatch.setattr(execute.bpf_map, "map_create", lambda *_, **__: Held("map"))
    monkeypatch.setattr(execute.bpf_prog, "prog_load", lambda _: Held("prog"))
    monkeypatch.setattr(execute.bpf_link, "raw_tracepoint_open", lambda *_: Held("link"))
    spec = ProgSpec("c0_0", "raw_tracepoint", UNIT, bytes(16), lines=((0, SPAN),))
    program = Program((Clause(0, (), ()),), source=SOURCE)
    made = Execution(Object((MapSpec("m", "state", 1, 4, 8, 1),), (spec,)), Plan("bpf", (), steps), NoBtf(), program)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.close()


def test_collect_refused_programs_are_told_at_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier's words become a diagnostic with the line of the script that the instruction came from."""

    def refuse(load: object) -> None:
        raise VerifierError(13, LOG, reason="R1 invalid mem access 'scalar'")

    with execution(monkeypatch, Load("c0_0", 17)) as made:
        monkeypatch.setattr(execute.bpf_prog, "prog_load", refuse)
        with pytest.raises(ScriptError) as caught:
            made.load()
    (found,) = caught.value.diagnostics
    assert found.span == SPAN
    assert found.source is SOURCE
    assert "the kernel refused the program" in found.message
    assert any("invalid mem access" in h for h in (found.message, *found.hints))


def test_collect_leaving_undoes_all_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links go first, which stops the programs; programs and maps are kept until the answer has been read."""
    with execution(monkeypatch, Load("c0_0", 17), AttachRaw("c0_0", "sys_enter")) as made:
        made.create_maps()
        made.load()
        made.attach()
        made.detach()
        assert Held.closed == ["link"]
        assert set(made.maps) == {"m"}
    assert Held.closed == ["link", "prog", "map"]
    made.close()
    assert Held.closed == ["link", "prog", "map"]


def test_collect_failure_in_the_middle_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two links is refused for want of descriptors: what there is goes."""
    count = []

    def open_(*args: object) -> Held:
        count.append(1)
        if len(count) == 2:
            raise KernelError("bpf(BPF_RAW_TRACEPOINT_OPEN)", 24)
        return Held("link")

    steps = (Load("c0_0", 17), AttachRaw("c0_0", "a"), AttachRaw("c0_0", "b"))
    with execution(monkeypatch, *steps) as made:
        monkeypatch.setattr(execute.bpf_link, "raw_tracepoint_open", open_)
        made.create_maps()
        made.load()
        with pytest.raises(KernelError):
            made.attach()
    assert sorted(Held.closed) == ["link", "map", "prog"]


def test_collect_attaching_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while thousands of probes are attached: the rest is not."""
    asked = iter([False, True])
    with execution(monkeypatch, Load("c0_0", 17), AttachRaw("c0_0", "a"), AttachRaw("c0_0", "b")) as made:
        made.load()
        made.attach(lambda: next(asked))
        made.detach()
        assert Held.closed == ["link"]


def test_collect_programs_that_are_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """begin and end in the kernel: a test run of the program that the step names."""
    ran: list[object] = []
    monkeypatch.setattr(execute.bpf_prog, "prog_test_run", lambda prog, ctx: ran.append((prog.name, len(ctx))))
    with execution(monkeypatch, Load("c0_0", 31)) as made:
        made.load()
        made.run_once(RunOnce("c0_0", "begin"))
    assert ran == [("prog", 8)]
