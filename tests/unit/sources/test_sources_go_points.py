"""Return probes kill programs of Go: commands have probes at each place where a function returns instead."""

from __future__ import annotations

import re
import subprocess

import pytest

from probescope.debuginfo.binary import Binary
from probescope.errors import ProbeError
from probescope.sources import go_points
from probescope.views.span import program
from probescope.views.span.points import between
from probescope.views.whois.subjects import program as opened
from tests.support import values_programs


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    return values_programs.go(tmp_path_factory.mktemp("points"))


def function(shop: str) -> str:
    """The first method of a pointer, as nm shows it: its name has a star and parentheses."""
    names = subprocess.run(["go", "tool", "nm", shop], capture_output=True, text=True, check=True).stdout
    found = re.search(r" T (main\.\S*)$", names, re.MULTILINE)
    assert found is not None
    return found[1]


def test_no_return_probe_on_go(shop: str) -> None:
    binary = Binary(shop)
    name = function(shop)
    found = go_points.of(binary, name)
    assert found is not None
    with pytest.raises(ProbeError, match="is a function of Go: a return probe there kills the program"):
        go_points.check_return(binary, found.entry)
    assert go_points.of(binary, "main.nothing") is None
    binary.close()


def test_span_of_a_function_of_go_ends_at_its_returns(shop: str) -> None:
    """Kept apart by goroutine: one may go on in another thread."""
    of = opened(shop)
    points = between([function(shop)], of)
    of.binary.close()
    text = program.nested(points[0], points[1])
    assert "uretprobe" not in text
    assert '@start[reg("r14"), @depth[reg("r14")]]' in text
    assert "tid" not in text


def test_a_text_of_go_ends_where_the_next_begins(shop: str) -> None:
    """They have no NUL: one would go on through all the others."""
    from probescope.debuginfo.messages import Pattern
    from probescope.views.whois import search

    of = opened(shop)
    found = search.messages(of, Pattern("slice bounds out of range"))
    of.binary.close()
    assert found
    assert max(len(f.what) for f in found) < 120


def test_names_that_lie_in_each_other_do_not_fill_memory() -> None:
    """100,000 functions of a damaged table, all of one name of 4 KB: 400 MB of names in a file of 0.8 MB."""
    import struct

    from probescope.debuginfo.gopclntab import read

    n = 100_000
    head = struct.pack("<IHBB8Q", 0xFFFFFFF1, 0, 1, 8, n, 0, 0x400000, 72, 0, 0, 0, 72 + 4096)
    rows = b"".join(struct.pack("<II", i * 16, 8 * n + 16) for i in range(n)) + struct.pack("<I", n * 16)
    record = bytes(8) + struct.pack("<II", 0, 1) * 4 + bytes(64)
    data = head + b"a" * 4095 + b"\0" + rows + record
    table = read(data, 0x400000)
    assert table is not None
    names = sum(len(f.name) for f in table.functions)
    assert 0 < names <= 4 * len(data)
