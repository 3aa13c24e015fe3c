"""Flame graphs: folded text in, boxes and files out. Expected numbers are counted by hand."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import FormatError, LimitError
from probescope.views.flame import colors, page, svg
from probescope.views.flame.layout import boxes, inverted
from probescope.views.flame.stacks import MAX_DEPTH, StackSamples, folded, read_folded

TEXT = ["main;parse;read 3", "main;parse 1", "main;write;read 4", "other 2"]
NAME = st.text(
    st.characters(codec="utf-8", exclude_characters=";\n\r", exclude_categories=("Zs", "Cc", "Zl", "Zp")), min_size=1
)
FOLDED = st.lists(st.tuples(st.lists(NAME, min_size=1, max_size=6), st.integers(1, 1000)), min_size=1, max_size=20)


def placed(samples: StackSamples) -> dict[tuple[str, int, float], tuple[float, float, float]]:
    total = samples.total
    return {(b.name, b.depth, b.x * total): (round(b.width * total, 9), b.weight, b.own) for b in boxes(samples)}


def test_boxes_are_where_the_weights_put_them() -> None:
    """Siblings by name from the left, each as wide as it weighs with all that it calls."""
    assert placed(read_folded(TEXT)) == {
        ("all", 0, 0): (10, 10, 0),
        ("main", 1, 0): (8, 8, 0),
        ("parse", 2, 0): (4, 4, 1),
        ("read", 3, 0): (3, 3, 3),
        ("write", 2, 4): (4, 4, 0),
        ("read", 3, 4): (4, 4, 4),
        ("other", 1, 8): (2, 2, 2),
    }


def test_inverted_merges_by_the_innermost_frame() -> None:
    found = placed(inverted(read_folded(TEXT)))
    assert found["read", 1, 3] == (7, 7, 0)  # parse 1 and other 2 lie left of it
    assert found["parse", 2, 3] == (3, 3, 0)
    assert found["write", 2, 6] == (4, 4, 0)


def test_narrow_boxes_are_left_out_with_their_callees() -> None:
    names = {b.name for b in boxes(read_folded(TEXT), narrowest=0.35)}
    assert names == {"all", "main", "parse", "write", "read"}


def test_change_is_of_shares_not_of_counts() -> None:
    """Twice as many samples of everything is no change."""
    samples = read_folded(["a 20", "b 20"])
    read_folded(["a 10", "b 10"], into=samples)
    assert {b.name: b.change for b in boxes(samples)} == {"all": 0, "a": 0, "b": 0}
    samples = read_folded(["a 30", "b 10"])
    read_folded(["a 10", "b 10"], into=samples)
    assert {b.name: b.change for b in boxes(samples)} == {"all": 0, "a": 0.25, "b": -0.25}


def test_two_counts_are_before_and_after() -> None:
    samples = read_folded(["a;b 1 3", "a 2 2"])
    assert list(folded(samples)) == ["a 2 2", "a;b 1 3"]


def test_frames_may_hold_blanks() -> None:
    assert list(folded(read_folded(["operator new(unsigned long);f 2"]))) == ["operator new(unsigned long);f 2"]


@pytest.mark.parametrize("bad", ["main;read", "12", "main;read x", "main;read -3", "main 1e5", "main nan"])
def test_what_is_no_stack_is_named_by_its_line(bad: str) -> None:
    with pytest.raises(FormatError, match=r"x:line 2: this is not a folded stack"):
        read_folded(["a 1", bad], "x")


def test_no_stacks_at_all() -> None:
    with pytest.raises(FormatError, match="there are no stacks"):
        read_folded(["", "# a remark"])


def test_endless_stacks_are_refused() -> None:
    with pytest.raises(LimitError, match="4096 frames"):
        read_folded([";".join("ab" * MAX_DEPTH) + " 1"])


@given(FOLDED)
def test_folded_text_comes_back(stacks: list[tuple[list[str], int]]) -> None:
    lines = [";".join(names) + f" {count}" for names, count in stacks]
    once = list(folded(read_folded(lines)))
    assert list(folded(read_folded(once))) == once
    assert sum(int(line.rpartition(" ")[2]) for line in once) == sum(count for _, count in stacks)


@given(FOLDED)
def test_children_lie_within_their_parents(stacks: list[tuple[list[str], int]]) -> None:
    rows: dict[int, list[tuple[float, float]]] = {}
    for b in boxes(read_folded(";".join(names) + f" {count}" for names, count in stacks)):
        rows.setdefault(b.depth, []).append((b.x, b.x + b.width))
    for depth, row in rows.items():
        row.sort()
        assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(row))
        if depth:
            assert all(any(p[0] - 1e-9 <= x and end <= p[1] + 1e-9 for p in rows[depth - 1]) for x, end in row)


HOSTILE = "</script><b onload='x'>&\"\x1b[31m\x00\ud800 4"


def test_svg_is_xml_whatever_the_names() -> None:
    """Names come from strangers: they are text in the picture, nothing else."""
    text = svg.render(read_folded([f"a;{HOSTILE}"]), svg.Look(title="<i>", subtitle="&"))
    root = ET.fromstring(text.encode("utf-8"))
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "<i>"
    assert any("</script><b onload='x'>&\"\N{REPLACEMENT CHARACTER}[31m" in (t or "") for t in titles)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}script"))) == 1


def test_page_carries_its_data_and_runs_nothing_else() -> None:
    text = page.render(read_folded([f"a;{HOSTILE}", "a;{{title}} 1"]), title="<b>{{data}}")
    assert "&lt;b&gt;{{data}}" in text
    (packed,) = re.findall(r'<script type="application/gzip" id="data">([^<]*)</script>', text)
    found = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert found["frames"][0] == "a"
    assert found["rows"]["weight"] == [4, 1]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_marks_of_frames() -> None:
    assert [colors.mark(n) for n in ("f", "sys_[k]", "f_[i]", "f_[j]", "a[k]", "_[k]")] == ["", "k", "i", "j", "", ""]
