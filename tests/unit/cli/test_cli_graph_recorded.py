"""``probescope graph -i``: a tree that the kernel printed comes out as it was, and its totals are its sums."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probescope.cli.main import main

TREE = """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |  ksys_read() {
 0)   2.928 us    |    __fget_light();
 0)               |    vfs_read() {
 0) + 12.891 us   |      rw_verify_area();
 0)               |      /* sched_waking: comm=x pid=3 */
 0)               |      /* hello: from a program */
 0) + 93.466 us   |    }
 0) ! 147.483 us  |  }
 1)               |  vfs_open() {
 1)   1.000 us    |    path_get();
 1)   3.500 us    |  }
"""


@pytest.fixture
def tree(tmp_path: Path) -> str:
    path = tmp_path / "trace.txt"
    path.write_text(TREE)
    return str(path)


def test_the_tree(tree: str, tmp_path: Path) -> None:
    """Line by line, comments too."""
    out = tmp_path / "out.txt"
    assert main(["graph", "-i", tree, "-o", str(out)]) == 0
    assert out.read_text() == TREE


def test_a_part(tree: str, tmp_path: Path) -> None:
    """Calls of one function and what is in it, from the left."""
    out = tmp_path / "out.txt"
    assert main(["graph", "vfs_*", "-i", tree, "-o", str(out)]) == 0
    assert [line.partition("|")[2] for line in out.read_text().splitlines()[4:]] == [
        "  vfs_read() {",
        "    rw_verify_area();",
        "  }",
        "  vfs_open() {",
        "    path_get();",
        "  }",
    ]


def test_totals(tree: str, tmp_path: Path) -> None:
    """Time of its own: without that of the calls in it."""
    out = tmp_path / "out.json"
    assert main(["graph", "-i", tree, "--summary", "-f", "json", "-o", str(out)]) == 0
    found = {r["function"]: r for r in map(json.loads, out.read_text().splitlines())}
    own = {name: r["own_ns"] for name, r in found.items()}
    assert own["ksys_read"] == 147_483 - 2_928 - 93_466
    assert own["vfs_read"] == 93_466 - 12_891
    assert own["vfs_open"] == 2_500


def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "-i", str(tmp_path / "nosuch")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
    (tmp_path / "folder").mkdir()
    assert main(["graph", "-i", str(tmp_path / "folder")]) == 2


@pytest.mark.parametrize(
    ("text", "word"), [("a;b 3\n", "no recording of ftrace"), (" a-1 [000] 1.000000: x: y=1\n", "no function graph")]
)
def test_what_has_none(text: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text)
    assert main(["graph", "-i", str(path)]) == 2
    assert word in capsys.readouterr().err
