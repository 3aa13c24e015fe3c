"""Paths as parts of attach points: whatever a file is called, what was written is what is read."""

from __future__ import annotations

import pytest

from probescope.collect.graph.probed import user_pairs
from probescope.diagnostics import Source
from probescope.errors import ProbeError
from probescope.front import parse_probe
from probescope.lang.bt.parser import parse
from probescope.lang.bt.pointtext import part, split
from probescope.views.peel.subject import Subject
from probescope.views.span.points import marked

PATHS = [
    *("./a", "/opt/a b", "a:b", "a{b", "a,b", 'a"b', "a;b", "a$b", "a$1b", "a@b", "a(b)"),
    *("a\\b", 'a\\"b', "a\tb", "a\nb", "a\\nb", "é", "\udcff"),
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_read_back(path: str) -> None:
    assert split(f"uprobe:{part(path)}:main") == ["uprobe", path, "main"]


def test_usual_paths_stay_as_they_are() -> None:
    assert part("/usr/lib/x86_64-linux-gnu/libstdc++.so.6") == "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"


@pytest.mark.parametrize("path", PATHS)
def test_probes_of_programs_whatever_they_are_called(path: str) -> None:
    """graph, peel and span write programs: a blank ended the attach point in the middle of the path."""
    probes = [*user_pairs(path, ["work"])[0], *Subject("work", path).probes(), marked("work", path)[0].probe]
    for probe in probes:
        assert parse_probe(probe).target == path
        assert len(parse(Source("stdin", f"{probe} {{ }}")).probes) == 1


@pytest.mark.parametrize("text", ['fentry:a"b', "kprobe:a$b", "fentry:", "uprobe:a:b:c", ""])
def test_what_is_no_probe_is_an_error_of_ours(text: str) -> None:
    """``probescope args 'a"b'`` was called a bug: every command takes this one for "not declared"."""
    with pytest.raises(ProbeError):
        parse_probe(text)
