"""What is said of the cost of user stacks: of which way, and why that one."""

from __future__ import annotations

from probescope.frozen import replace
from probescope.ir.needs import NO_NEEDS
from probescope.plan.explain_stacks import Compiled, stack_notes

USER = replace(NO_NEEDS, stacks=frozenset({"ustack"}))
BARE, FRAMED = Compiled("/lib/libc.so.6", 0.02), Compiled("/usr/bin/app", 0.97)


def test_a_program_without_user_stacks_is_told_nothing():
    assert stack_notes(NO_NEEDS, "auto", [BARE]) == ()
    assert stack_notes(replace(NO_NEEDS, stacks=frozenset({"kstack"})), "always", ()) == ()


def test_a_process_without_frame_pointers_is_unwound_by_tables():
    """The file that makes it necessary is named: one is enough."""
    how, making = stack_notes(USER, "auto", [FRAMED, BARE])
    assert "by tables" in how
    assert "libc.so.6 has no frame pointers" in how
    assert "8 bytes a row" in making


def test_many_files_are_not_all_named():
    how, _ = stack_notes(USER, "auto", [Compiled(f"/lib/l{i}.so", 0.0) for i in range(6)])
    assert "l0.so, l1.so, l2.so and 3 more have no frame pointers" in how


def test_a_process_with_frame_pointers_is_walked_by_them():
    (how,) = stack_notes(USER, "auto", [FRAMED])
    assert "every file of the process has frame pointers" in how
    assert "by tables" in stack_notes(USER, "always", [FRAMED])[0]


def test_off_says_what_would_be_there():
    (how,) = stack_notes(USER, "off", [BARE])
    assert "walked by frame pointers" in how
    assert "unwind = auto" in how


def test_without_a_process_it_depends():
    assert "where a process has files without frame pointers" in stack_notes(USER, "auto", ())[0]
    assert "where a process" not in stack_notes(USER, "always", ())[0]
