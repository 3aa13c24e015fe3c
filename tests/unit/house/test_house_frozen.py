"""Our data classes against the standard library's: the same declarations, the same behaviour."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope import frozen

MAKERS = {"ours": (frozen.dataclass, frozen.field), "stdlib": (dataclasses.dataclass, dataclasses.field)}


def declare(dataclass, field) -> SimpleNamespace:
    """One set of declarations with everything that the product uses."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: tuple[str, ...] = ()
        note: str = field(default="", compare=False, repr=False)
        known: ClassVar[int] = 7

        @property
        def total(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Named(Point):
        name: str = field(default="n", kw_only=True)

        def described(self) -> str:
            return f"{super().__repr__()} {self.name}"

    @dataclass
    class Bag:
        items: list[int] = field(default_factory=list)
        size: int = 0

        def __post_init__(self) -> None:
            self.size = len(self.items)

    return SimpleNamespace(Point=Point, Named=Named, Bag=Bag)


OURS = declare(*MAKERS["ours"])
THEIRS = declare(*MAKERS["stdlib"])

EXPRESSIONS = [
    "repr(Point(1))",
    "repr(Named(1, 2, ('a',), name='z'))",
    "Point(1) == Point(1, 2)",
    "Point(1) == Point(1, 3)",
    "Point(1, note='a') == Point(1, note='b')",
    "hash(Point(1, note='a')) == hash(Point(1, note='b'))",
    "Point(1) == (1, 2, ())",
    "Point(1) == Named(1)",
    "Point(x=5, y=6).total",
    "len({Point(1), Point(1), Point(2)})",
    "Point.known",
    "Point.__match_args__",
    "Named.__match_args__",
    "Point()",
    "Point(1, 2, (), '', 5)",
    "Point(1, x=2)",
    "Point(1, nope=2)",
    "Named(1, 2, (), '', 'positional')",
    "setattr(Point(1), 'x', 2)",
    "delattr(Point(1), 'x')",
    "hash(Bag())",
    "Bag([1, 2]).size",
    "Bag().items is Bag().items",
    "Bag([1]) == Bag([1])",
    "[f.name for f in fields(Named)]",
    "repr(replace(Named(1, name='q'), y=9))",
    "hasattr(Point(1), '__dict__')",
    "copy.copy(Named(1, note='x')).note",
    "copy.deepcopy(Point(1, 2, ('t',))) == Point(1, 2, ('t',))",
]


def outcome(expression: str, classes: SimpleNamespace, module: object) -> object:
    names = {**vars(classes), "copy": copy, "fields": module.fields, "replace": module.replace}
    try:
        return eval(expression, names)
    except (TypeError, AttributeError) as error:
        return next(t.__name__ for t in (TypeError, AttributeError) if isinstance(error, t))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_it_means_what_the_standard_one_means(expression):
    """Protects everybody who reads ``@dataclass`` and thinks of the one that he knows."""
    assert outcome(expression, OURS, frozen) == outcome(expression, THEIRS, dataclasses)


def test_where_the_standard_one_stumbles_over_slots():
    """With slots the class is made twice; the standard one (3.11) loses ``super()`` and the right exception by that."""
    assert OURS.Named(1).described().endswith("Named(x=1, y=2, tags=()) n")
    with pytest.raises(AttributeError):
        OURS.Point(1).unheard = 2


@given(st.integers(), st.integers(), st.lists(st.text()).map(tuple))
def test_equal_values_have_equal_hashes(x, y, tags):
    a, b = OURS.Point(x, y, tags, note="one"), OURS.Point(x, y, tags, note="two")
    assert a == b
    assert hash(a) == hash(b)
    assert frozen.replace(a, x=x + 1) != a


def test_values_survive_pickling():
    from probescope.model.probe import ProbeSpec

    spec = ProbeSpec("kprobe", "vfs_read")
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_patterns_match_by_position():
    match OURS.Point(3, 4):
        case OURS.Point(x, y):
            assert (x, y) == (3, 4)
        case _:
            pytest.fail("a value does not match its own class")


def test_declaring_is_cheaper_by_far():
    """The reason that it exists: it compiles no source text for a class, where the standard one compiles several. If
    that one becomes as cheap, this file and that module can go."""
    script = """
import sys
from importlib import import_module
make = import_module(sys.argv[1]).dataclass
make(frozen=True, slots=True)(type("W", (), {"__annotations__": {"a": "int"}}))
compiled = []
sys.addaudithook(lambda event, _: compiled.append(event) if event in ("compile", "exec") else None)
for n in range(200):
    make(frozen=True, slots=True)(type("C", (), {"__annotations__": {"a": "int", "b": "int", "c": "str"}}))
print(len(compiled))
"""
    ours, theirs = (
        int(subprocess.check_output([sys.executable, "-c", script, module]))
        for module in ("probescope.frozen", "dataclasses")
    )
    assert ours == 0
    assert theirs >= 200
