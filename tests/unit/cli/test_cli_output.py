"""The output options of run, without a kernel."""

import argparse
import json

import pytest

from probescope.cli import run
from probescope.cli.output import map_formats, view
from probescope.errors import KernelError, UsageError
from probescope.ir.program import MapDecl, Program, Settings
from probescope.model.output import Attached
from probescope.model.types import U32, Agg, Opaque, String

PROGRAM = Program((), (MapDecl("n", U32, Agg("count")),), settings=Settings(map_format="table"))


class Failing:
    """A session whose probes cannot be attached."""

    def __init__(self, sink):
        self._sink = sink

    def start(self):
        self._sink(Attached(1))
        raise KernelError("attach", 22)

    def close(self):
        pass


class Built:
    program = PROGRAM

    def session(self, sink):
        return Failing(sink)


def test_json_array_is_whole_after_an_error(tmp_path):
    """Who reads the document gets one, although the session failed."""
    out = tmp_path / "out"
    args = run.parser().parse_args(["-f", "json-array", "-o", str(out), "-e", ""])
    with pytest.raises(KernelError):
        run._session(args, Built())
    assert [d["type"] for d in json.loads(out.read_text())] == ["attached_probes"]


def test_the_command_line_wins_over_the_script():
    assert map_formats([], PROGRAM) == ("table", {})
    assert map_formats(["csv"], PROGRAM)[0] == "csv"
    style, formats = map_formats([r"@n=%x\t%d\\"], PROGRAM)
    assert (style, formats["n"].text) == ("table", "%x\t%d\\")


@pytest.mark.parametrize(
    ("word", "about"), [("xml", "neither a style"), ("@m=%d", "no map @m"), ("@n=%d %d %d", "3 conversions")]
)
def test_map_formats_that_do_not_suit(word, about):
    with pytest.raises(UsageError, match=about):
        map_formats([word], PROGRAM)


def test_folded_needs_stacks():
    """An empty file would say nothing of why it is empty."""
    args = argparse.Namespace(format="folded", quiet=False, no_warnings=False)
    with pytest.raises(UsageError, match="stacks"):
        view(args, PROGRAM)
    for key in (Opaque("kstack"), Opaque("ustack")):
        assert view(args, Program((), (MapDecl("s", key, Agg("count")), MapDecl("t", String(4), Agg("count")))))


def test_unknown_formats_are_named():
    with pytest.raises(UsageError, match="Invalid output format"):
        run.parser().parse_args(["-f", "xml", "-e", ""])
