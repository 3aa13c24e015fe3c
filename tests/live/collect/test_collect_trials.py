"""test: and bench: probes, run inside the kernel."""

from __future__ import annotations

import json

import pytest
from collect_run import run

PROGRAM = """
test:right { @x = 7; if (@x != 7) { return 1; } }
test:wrong { printf("seven\\n"); return 3; }
test:said { errorf("no"); }
test:left { exit(4); }
bench:count { @n++; }
bench:skipped { return 1; }
"""


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, object]]:
    done = run(PROGRAM, "--test", "-f", "json")
    assert done.code == 1
    docs = [json.loads(line) for line in done.lines]
    assert {d["type"] for d in docs} == {"test_result"}
    return {name: data for d in docs for name, data in d["data"].items()}


def test_what_fails_a_test(results):
    """A value that is returned, an error that is told, an exit code: each by itself."""
    assert {n: r["passed"] for n, r in results.items()} == {"right": True, "wrong": False, "said": False, "left": False}


def test_what_a_test_said_is_kept(results):
    assert results["wrong"]["output"] == "seven\n"
    assert "ERROR: no" in str(results["said"]["output"])


def test_text_of_a_passed_test_is_quiet():
    done = run('test:a { printf("chatter\\n"); }', "--test")
    assert (done.code, "chatter" in done.out) == (0, False)
    assert "1 test ran" in done.out


def test_benches_run_for_a_while_and_are_counted():
    docs = [json.loads(line) for line in run(PROGRAM, "--mode", "bench", "-f", "json").lines]
    assert [list(d["data"]) for d in docs] == [["count"]]
    found = docs[0]["data"]["count"]
    assert found["average"] * found["iters"] >= 1_000_000


def test_only_probes_that_match_are_used():
    """--probe-filter: begin and end always run."""
    program = 'BEGIN { printf("b"); } interval:ms:1 { printf("1"); exit(); } interval:ms:2 { printf("2"); exit(); }'
    assert run(program, "--probe-filter", ":2$").out.strip() == "b2"
    assert "Invalid --probe-filter regex" in run(program, "--probe-filter", "[").err
