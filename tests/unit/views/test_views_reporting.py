"""Tables and call graphs of a report. Trees are drawn by hand after perf report's own."""

from __future__ import annotations

import pytest

from probescope.errors import UsageError
from probescope.views.reporting.graph import Graph, Style, parse_style
from probescope.views.reporting.keys import KEYS, SUMS, parse_keys
from probescope.views.reporting.trees import Callees, Trie

NAMES = ["main", "middle", "leaf", "other", "rare", "again"]
MAIN, MIDDLE, LEAF, OTHER, RARE, AGAIN = range(6)


def trie(*stacks: tuple[tuple[int, ...], int]) -> Trie:
    out = Trie()
    for path, weight in stacks:
        out.add(path, weight, 1)
    out.summed()
    return out


CALLEE = trie(((LEAF, MIDDLE, MAIN), 60), ((LEAF, OTHER, MAIN), 30), ((LEAF, RARE, MAIN), 10))


def drawn(tree: Trie | Callees, style: Style, whole: int, row: int, *, skip: bool = False) -> list[str]:
    text = "".join(Graph(style, whole, NAMES.__getitem__).text(tree, row, skip=skip))
    return [line.rstrip() for line in text.splitlines()]


def test_chain_and_branches() -> None:
    """A chain has no shares; branches below the limit are left out."""
    assert drawn(CALLEE, Style(least=2.0), 1000, 100) == [
        "            |",
        "            ---leaf",
        "               |",
        "               |--6.00%--middle",
        "               |          main",
        "               |",
        "                --3.00%--other",
        "                          main",
        "",
    ]


def test_fractal_shares_are_of_the_branch_and_tell_the_rest() -> None:
    """Shares of the branch that they hang at; what the limit leaves out is told as [...]."""
    assert drawn(CALLEE, Style("fractal", least=20.0), 1000, 100) == [
        "            |",
        "            ---leaf",
        "               |",
        "               |--60.00%--middle",
        "               |          main",
        "               |",
        "               |--30.00%--other",
        "               |          main",
        "                --10.00%--[...]",
        "",
    ]


def test_flat_and_folded() -> None:
    assert drawn(CALLEE, Style("flat", least=2.0), 1000, 100) == [
        "           6.00%",
        "                leaf",
        "                middle",
        "                main",
        "",
        "           3.00%",
        "                leaf",
        "                other",
        "                main",
        "",
    ]
    assert drawn(CALLEE, Style("folded", least=2.0, value="period"), 1000, 100) == [
        "60 leaf;middle;main",
        "30 leaf;other;main",
    ]


def test_stacks_of_equal_weight_lie_as_in_perf() -> None:
    """As perf 6.1's tree is walked: what goes on below a place, then what ends there; places by their labels."""
    equal = trie(((MAIN, OTHER), 20), ((MAIN, MIDDLE, LEAF), 20), ((MAIN,), 20), ((MAIN, MIDDLE), 20), ((LEAF,), 30))
    assert drawn(equal, Style("folded", value="period"), 110, 110) == [
        "30 leaf",
        "20 main;middle;leaf",
        "20 main;middle",
        "20 main;other",
        "20 main",
    ]


def test_a_first_function_that_is_the_row_is_not_told_again() -> None:
    assert drawn(CALLEE, Style(least=6.0), 1000, 100, skip=True)[:2] == [
        "            |",
        "             --6.00%--middle",
    ]


def test_deep_stacks_are_no_recursion() -> None:
    deep = Trie()
    deep.add([i % 5 for i in range(5000)], 1, 1)
    deep.add([i % 5 for i in range(4999)], 1, 1)
    deep.summed()
    assert sum(1 for _ in Graph(Style(), 2, NAMES.__getitem__).text(deep, 2)) > 4999


def callees(part: int, ends: list[tuple[int, int, int]], all_stacks: Trie) -> Callees:
    places = [node for p, node in all_stacks.outermost() if p == part]
    return Callees(all_stacks, part, places, ends)


def test_what_a_function_calls() -> None:
    """Of the second ``again`` nothing is counted twice; stacks that end in it are shown whole."""
    stacks = Trie()
    stacks.add([MAIN, AGAIN, AGAIN, LEAF], 6, 1)
    end = stacks.add([MAIN, AGAIN], 3, 1)
    stacks.summed()
    assert drawn(callees(AGAIN, [(end, 3, 1)], stacks), Style(least=0), 9, 9) == [
        "            |",
        "            |--66.67%--again",
        "            |          again",
        "            |          leaf",
        "            |",
        "             --33.33%--main",
        "                       again",
        "",
    ]


def test_styles() -> None:
    assert parse_style("caller,0.25,fractal,3,count") == Style("fractal", 0.25, 3, "caller", "count")
    with pytest.raises(UsageError, match="'up' says nothing"):
        parse_style("up")
    with pytest.raises(UsageError):
        parse_style("graph,nan")


def test_keys() -> None:
    assert parse_keys("sym,overhead") == [KEYS["symbol"], SUMS["overhead"]]
    assert [k.name for k in parse_keys("+cpu")] == ["comm", "dso", "symbol", "cpu"]
    field = parse_keys("sched:sched_switch.prev_pid", {"prev_pid": 10})[0]
    assert (field.head, field.width) == ("prev_pid", 10)
    with pytest.raises(UsageError, match="memory accesses"):
        parse_keys("snoop")
    with pytest.raises(UsageError, match="no key 'colour'"):
        parse_keys("colour")
