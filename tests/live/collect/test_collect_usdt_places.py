"""One USDT probe at several places, each with a semaphore and operands of its own: all of them fire, in a program that
is started and in one that runs already."""

import os
import re

import pytest
from collect_programs import build
from collect_run import Running, Waiting, run

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64" or os.geteuid() != 0, reason="needs root, and the operands are of x86-64"
)

# the notes are written by hand: sys/sdt.h gives all places of a probe in a file one semaphore
PLACES_C = r"""
#include <stdio.h>
#include <stdlib.h>
#define SEMAPHORE(name) volatile unsigned short name __attribute__((section(".probes")))
SEMAPHORE(first); SEMAPHORE(second); SEMAPHORE(third);
#define HIT(sem, how, value) \
    __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
        ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
        "993: .8byte 990b\n.8byte 0\n.8byte " #sem "\n.asciz \"demo\"\n.asciz \"hit\"\n.asciz \"" how "\"\n" \
        "994: .balign 4\n.popsection\n" :: "a"(value), "d"((long)(value)))
int main(int argc, char **argv) {
    char line[8];
    if (getenv("WAIT")) {
        fprintf(stderr, "ready 1\n");
        if (!fgets(line, sizeof line, stdin)) return 1;
    }
    for (int i = 1; i <= 100; i++) {
        if (first) HIT(first, "-4@%%eax", i);
        if (second) HIT(second, "-8@%%rdx", -i);
        if (third) HIT(third, "4@$7", i);
    }
    return 0;
}
"""
PROGRAM = '{{ @calls[(int64)arg0 < 0 ? "second" : arg0 == 7 ? "seven" : "first"] = count(); @sum = sum(arg0); }}'
EXPECTED = {"@calls[first]: 99", "@calls[second]: 100", "@calls[seven]: 101", "@sum: 700"}


def _program(path):
    return f"usdt:{path}:demo:hit {PROGRAM.format()}"


def test_each_semaphore_is_raised():
    """Three places of one name; each passes only while its own semaphore is up."""
    path = build("places", PLACES_C, "-O1")
    done = run(_program(path), "-c", path)
    assert {line for line in done.lines if line} == EXPECTED
    assert re.search("Attached 3 probes", done.err)


def test_in_a_program_that_runs():
    path = build("places", PLACES_C, "-O1")
    with Waiting(path) as target, Running(_program(path), "-p", str(target.pid)) as session:
        target.go()
        assert {line for line in session.wait().lines if line} == EXPECTED
