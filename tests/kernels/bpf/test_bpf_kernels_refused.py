"""Programs that the verifier refuses come back as diagnostics at the line of the script, on every kernel."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from kernels_run import traced

from probescope.bpf.unit import ProgSpec
from probescope.collect.execute import Execution
from probescope.diagnostics import Diagnostic
from probescope.errors import ScriptError

CALL = 0x85
SCRIPT = """kprobe:vfs_read
{
    @before = count();
    @here[pid] = sum(arg2);
    @after = nsecs;
}"""


def refused(script: str) -> Diagnostic:
    with pytest.raises(ScriptError) as e:
        traced(script)
    (found,) = e.value.diagnostics
    return found


def spoil(monkeypatch: pytest.MonkeyPatch, line: int, code: bytes) -> None:
    """The first call that comes from a line of the script is replaced before it is loaded."""
    relocate = Execution._relocate

    def spoiled(self: Execution, spec: ProgSpec) -> bytes:
        out = bytearray(relocate(self, spec))
        spans = dict(spec.lines)
        at_line = 0
        for n in range(len(out) // 8):
            at_line = spans[n].line if n in spans else at_line
            if at_line == line and out[8 * n] == CALL:
                out[8 * n : 8 * n + 8] = code
                return bytes(out)
        raise AssertionError(f"line {line} calls nothing")

    monkeypatch.setattr(Execution, "_relocate", spoiled)


def call(helper: int) -> bytes:
    return struct.pack("<BBhi", CALL, 0, 0, helper)


@pytest.mark.parametrize("line", [4, 5])
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (call(9999), "no helper function number 9999"),
        (struct.pack("<BBhi", 0x79, 0x90, 0, 0), "R9"),  # r0 = *(u64 *)(r9 + 0), which was never set or is no pointer
        (struct.pack("<BBhi", 0x05, 0, 30000, 0), "jump"),  # a jump out of the program
    ],
    ids=["helper", "register", "jump"],
)
def test_refused_at_its_line(monkeypatch: pytest.MonkeyPatch, line: int, code: bytes, said: str) -> None:
    spoil(monkeypatch, line, code)
    found = refused(SCRIPT)
    assert found.severity == "error"
    assert found.message.startswith("the kernel refused the program")
    assert said in " ".join((found.message, *found.hints))
    assert found.span.line == line


@pytest.mark.parametrize("turns", [1, 40, 80])
def test_large_but_not_too_large(turns: int) -> None:
    """Keys and values of many statements, more than the stack holds: they go elsewhere, and the program is taken."""
    body: Any = "if (arg2 % 3 == 1) { @[comm, arg2 + 1] = count(); } else { @y[arg2]++; }"
    traced(f"kprobe:vfs_read /pid == 1/ {{ unroll({turns}) {{ {body} }} }}")
