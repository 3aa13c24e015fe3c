"""Several exact kprobes: one look at ftrace's list lets links of many functions take them."""

from __future__ import annotations

import pytest

from probescope.front import SEVERAL, known_to_ftrace
from probescope.ir.program import Clause, Program
from probescope.model.site import KprobeAttach, Site
from probescope.sources import kernel_functions


def program(*attaches: KprobeAttach) -> Program:
    sites = tuple(Site(f"kprobe:{a.symbol}", "kprobe", a) for a in attaches)
    return Program(tuple(Clause(i, (s,), ()) for i, s in enumerate(sites)))


def traceable(p: Program) -> list[bool]:
    return [s.attach.traceable for s in p.sites if isinstance(s.attach, KprobeAttach)]


def test_api_several_kprobes_are_looked_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole functions that ftrace knows are marked; others, and places inside of functions, stay as they are."""
    asked: list[set[str]] = []

    def names(wanted: set[str]) -> set[str]:
        asked.append(wanted)
        return wanted - {"f2"}

    monkeypatch.setattr(kernel_functions, "traceable_names", names)
    whole = [KprobeAttach(f"f{i}") for i in range(SEVERAL)]
    found = known_to_ftrace(program(*whole, KprobeAttach("g", offset=4)))
    assert asked == [{f"f{i}" for i in range(SEVERAL)}]
    assert traceable(found) == [i != 2 for i in range(SEVERAL)] + [False]


def test_api_few_kprobes_are_not_worth_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list has tens of thousands of lines: one kprobe is attached faster than that is read."""

    def names(wanted: set[str]) -> set[str]:
        raise AssertionError(wanted)

    monkeypatch.setattr(kernel_functions, "traceable_names", names)
    few = program(*(KprobeAttach(f"f{i}") for i in range(SEVERAL - 1)))
    assert known_to_ftrace(few) is few
