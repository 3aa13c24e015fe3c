"""Verifier logs as sentences. The first log was recorded on Linux 6.18 (tests/live/bpf asks the running kernel for
more); the others are cut to what matters and worded as kernel/bpf/verifier.c words them, some as it did in 5.10."""

from __future__ import annotations

import re

import pytest

from probescope.bpf.verifier_log import diagnose, parse, span_at
from probescope.bpf.verifier_reasons import known_reasons
from probescope.diagnostics import NOWHERE, Source, Span, render

MAP_VALUE = """\
func#0 @0
0: R1=ctx() R10=fp0
0: (7a) *(u64 *)(r10 -8) = 0          ; R10=fp0 fp-8=0
1: (18) r1 = 0xffff8884a7e30400       ; R1=map_ptr(ks=4,vs=8)
3: (bf) r2 = r10                      ; R2=fp0 R10=fp0
4: (07) r2 += -8                      ; R2=fp-8
5: (85) call bpf_map_lookup_elem#1    ; R0=map_value_or_null(id=1,ks=4,vs=8)
6: (15) if r0 == 0x0 goto pc+1        ; R0=map_value(ks=4,vs=8)
7: (79) r0 = *(u64 *)(r0 +8)
invalid access to map value, value_size=8 off=8 size=8
R0 min value is outside of the allowed memory range
processed 7 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""

LOOP = """\
0: R1=ctx() R10=fp0
; while (1) { }
0: (b7) r0 = 0                        ; R0=0
1: (05) goto pc-1
infinite loop detected at insn 1
cur state: R0=0 R10=fp0
old state: R0=0 R10=fp0
verification time 40 usec
stack depth 0
processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""

OLD_KERNEL = """\
0: (79) r1 = *(u64 *)(r1 +0)
1: R1_w=inv(id=0) R10=fp0
1: (79) r0 = *(u64 *)(r1 +16)
R1 invalid mem access 'inv'
processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""

TOO_LARGE = """\
99: (85) call bpf_ktime_get_ns#5
BPF program is too large. Processed 1000001 insn
processed 1000001 insns (limit 1000000) max_states_per_insn 30 total_states 9999 peak_states 9999 mark_read 3
"""

STACKS = "combined stack size of 3 calls is 544. Too large\nverification time 9 usec\nstack depth 448+96+0\n"

BACK_EDGE = "back-edge from insn 4 to 1\nprocessed 0 insns (limit 131072)\n"


@pytest.mark.parametrize(
    ("log", "insn", "reason", "ours"),
    [
        (MAP_VALUE, 7, "it reaches outside of a map's value: 8 bytes at 8 of 8", False),
        (LOOP, 1, "a loop does not end as far as the kernel can see", False),
        (OLD_KERNEL, 1, "it reads memory through a plain number", False),
        (TOO_LARGE, 99, "verifying it takes more than 1000001 steps", False),
        (STACKS, -1, "its functions need 544 bytes of stack together, 512 are there", False),
        (BACK_EDGE, 4, "this kernel takes no loops (they came with 5.3)", False),
        (
            "unknown func bpf_get_func_ip#173\n",
            -1,
            "helper bpf_get_func_ip not allowed in probe",
            False,
        ),
        (
            (
                "7: (85) call bpf_probe_read#4\n8: (bf) r1 = r6\n9: (85) call bpf_d_path#147\n"
                "helper call is not allowed in probe\n"
            ),
            9,
            "helper bpf_d_path not allowed in probe",
            False,
        ),
        (
            "3: (85) call bpf_probe_read#4\nR2 type=inv expected=fp\n",
            3,
            "an argument is a inv where one of these is needed: fp",
            True,
        ),
        ("0: (95) exit\nR0 !read_ok\n", 0, "register 0 is read before it is written", True),
    ],
)
def test_logs_are_understood(log, insn, reason, ours):
    """The place and the sentence: what a person needs and the raw log hides among states and statistics."""
    found = parse(log)
    assert (found.insn, found.reason, found.ours) == (insn, reason, ours)
    assert found.raw in log


def test_unknown_words_are_passed_on():
    """A message of a future kernel is shown as it is, at its instruction."""
    found = parse("5: (bf) r1 = r2\nthe moon is in the wrong phase\nprocessed 3 insns\n")
    assert (found.raw, found.reason, found.insn) == ("the moon is in the wrong phase",) * 2 + (5,)


LINES = ((0, Span(1, 1, 1, 5)), (5, Span(2, 3, 2, 8)), (9, Span(4, 1, 4, 2)))


@pytest.mark.parametrize(("insn", "line"), [(-1, 0), (0, 1), (4, 1), (5, 2), (8, 2), (9, 4), (10**6, 4)])
def test_spans_hold_until_the_next_one(insn, line):
    assert span_at(LINES, insn).line == line


def test_an_instruction_before_the_first_span_is_nowhere():
    assert span_at(((3, Span(1, 1, 1, 2)),), 2) == NOWHERE
    assert span_at((), 2) == NOWHERE


def test_the_diagnostic_shows_the_script_and_what_to_do():
    """Rendered as every other complaint: place, line, caret, hints; the verifier's own words last."""
    source = Source("x.bt", "BEGIN {\n  @a[8] = 1;\n}\n")
    text = render(diagnose(MAP_VALUE, LINES, source, program="begin"))
    assert text == (
        "x.bt:2:3-8: ERROR: the kernel refused the program begin: "
        "it reaches outside of a map's value: 8 bytes at 8 of 8\n"
        "  @a[8] = 1;\n"
        "  ~~~~~\n"
        "HINT: check the index against the array's size\n"
        "HINT: the verifier's words: invalid access to map value, value_size=8 off=8 size=8"
    )


def test_what_only_we_can_have_caused_asks_for_a_report():
    d = diagnose("0: (95) exit\nR0 !read_ok\n")
    assert any("fault of probescope" in hint for hint in d.hints)


def test_an_empty_log_says_so():
    assert diagnose("").message == "the kernel refused the program: it did not say why"


def test_every_sentence_fills_its_places():
    """A sentence may only use groups that its pattern has: else a person would read {1}."""
    for entry in known_reasons():
        used = {int(n) for n in re.findall(r"\{(\d)\}", entry.reason)}
        assert all(n < entry.pattern.groups for n in used), entry.reason


def test_long_and_strange_lines_are_tamed():
    """A log comes from the kernel, and may quote source text that a stranger wrote."""
    found = parse("1: (95) exit\n" + "A" * 100_000 + "\x1b[31m\n")
    assert len(found.raw) < 500
    assert "\x1b" not in parse("1: (95) exit\nbad \x1b[31m thing\n").raw
