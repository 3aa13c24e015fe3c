"""``probescope probe`` beside ``perf probe``: the same events, variables, lines and functions for the same program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.marked_program import compiled
from tests.support.probe_program import build

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("probe"))


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False).stdout


def both(path, *args):
    ours = output(sys.executable, "-m", "probescope", "probe", "-q", "-x", path, *args)
    return output("perf", "probe", "-q", "-x", path, *args), ours


@pytest.mark.parametrize(
    "definition",
    [
        "work o->in.text:string o->name:string label:string n c d sh",
        "work o->next->a o->arr[2] o->u1 o->u2 n:u sh:x c:s",
        "work:4 $vars",
        "work:6 total i",
        "work $params",
        "work%return $retval",
        "name_of%return +0($retval):string",
        "helper o->in.a k",
        "mine:named=work n",
        "work.c:42 argc",
        "work;total+=* total",
        "work.c;if(total>* i",
        "work+4 %ax:u8 +8(%sp):x64",
        "main $vars",
    ],
)
def test_definitions_without_optimisation(programs, definition):
    """The lines for uprobe_events, up to their order and up to how bit fields and statics are written."""
    theirs, ours = both(programs["plain"], "-D", definition)
    assert theirs
    places = [re.sub(r"^(\S+?)(_\d+)? ", r"\1 ", line) for line in ours.splitlines()]
    assert sorted(places) == sorted(re.sub(r"^(\S+?)(_\d+)? ", r"\1 ", line) for line in theirs.splitlines())


@pytest.mark.parametrize(
    "definition",
    [
        "work o->in.text:string label n c sh",
        "work%return $retval",
        "name_of o->name:string o->arr[3]",
        "main argc argv",
    ],
)
def test_definitions_with_optimisation(programs, definition):
    theirs, ours = both(programs["fast"], "-D", definition)
    assert ours == theirs != ""


NUMBERS = """
struct s { float a, b; float row[3]; double d[2]; };
enum neg { LOW = -3, HIGH = 2 };
enum pos { FIRST, LAST };
__attribute__((noinline)) int fun(struct s *p, float *fp, double *dp, enum neg n, enum pos q, struct s *all)
{ return p->a + fp[1] + dp[1] + n + q + all[1].b; }
int main(void)
{
	struct s s[2] = {{1.5, 2.5, {3.5, 4.5, 5.5}, {6.5, 7.5}}, {8.5, 9.5}};
	float f[3] = {1.25, 2.25, 3.25};
	double d[2] = {9.5, 10.5};
	return fun(s, f, d, LOW, LAST, s) == 3;
}
"""


def test_floats_and_signed_enumerations(tmp_path):
    """As wide as they are, also where they are steps of an address; the values are those of the source."""
    (tmp_path / "f.c").write_text(NUMBERS)
    path = str(tmp_path / "numbers")
    subprocess.run(["gcc", "-g", "-O0", "-o", path, str(tmp_path / "f.c")], check=True, timeout=300)
    definition = "fun p->a p->b row=p->row[1] fp[1] dp[1] n q last=all[1].b"
    theirs, ours = both(path, "-D", definition)
    assert ours == theirs != ""
    if os.geteuid() == 0:
        ran = output(sys.executable, "-m", "probescope", "probe", "-q", "-x", path, definition, "--", path)
        assert ran.split(") ")[1].strip() == "a=1.5 b=2.5 row=4.5 fp=2.25 dp=10.5 n=-3 q=0x1 last=9.5"


@pytest.mark.parametrize("definition", ["*@work.c", "*;total+=*", "wor?@work.c", "wor?@work.c%return", "main@work.c"])
def test_globs_with_files_and_patterns(programs, definition):
    """Places alone: perf names events after the glob."""
    theirs, ours = both(programs["plain"], "-D", definition)
    assert places_of(ours) == places_of(theirs) != set()


@pytest.mark.parametrize("which", ["plain", "fast"])
@pytest.mark.parametrize("definition", ["help*", "h?lper", "h*", "help*%return"])
@pytest.mark.parametrize("more", [(), ("--no-inlines",)])
def test_globs_of_inlined_functions(programs, which, definition, more):
    """A function that has no code of its own matches too, at each of its copies; where it returns it does not."""
    theirs, ours = both(programs[which], *more, "-D", definition)
    assert places_of(ours) == places_of(theirs)
    assert bool(ours) == (not more and not definition.endswith("%return"))


def places_of(text):
    return {(line[0], line.split()[1]) for line in text.splitlines()}


def test_lines_and_labels_of_globs(programs):
    """perf chokes on the name of such an event."""
    for line in (":4", "@work.c:4"):
        theirs, _ = both(programs["plain"], "-D", f"work{line}")
        _, ours = both(programs["plain"], "-D", f"wor?{line}")
        assert re.sub(r"_L4\S*", "_L4", ours) == theirs != ""


@pytest.mark.parametrize(
    "definition",
    ["work@other.c", "work@other.c:4", "*@other.c", "_start:4", "_start;x*", "_start@work.c", "*;nowhere*"],
)
def test_no_place_instead_of_another(programs, definition):
    """A file, line or pattern that a function has not is no probe at its entry."""
    theirs, ours = both(programs["plain"], "-D", definition)
    assert ours == theirs == ""


@pytest.mark.parametrize("which", ["plain", "fast"])
@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("work", ()),
        ("work", ("--range",)),
        ("work:9", ("--externs",)),
        ("work:9", ("--range", "--externs")),
        ("main", ("--range",)),
        ("name_of", ("--filter", "!x* & *o*")),
    ],
)
def test_variables(programs, which, place, more):
    """Those with a place that perf can tell; constants, which it cannot, come on top."""
    theirs, ours = both(programs[which], "-V", place, *more)
    found = [line for line in ours.splitlines() if line in theirs.splitlines()]
    assert found == theirs.splitlines() != []
    extra = [line for line in ours.splitlines() if line not in theirs.splitlines()]
    assert all(re.search(r"\t(total|i|second|o)\b", line) for line in extra), extra


@pytest.mark.parametrize("which", ["plain", "fast"])
@pytest.mark.parametrize("lines", ["work", "work:3-6", "work.c:20+4", "work.c", "helper", "main", "main:2"])
def test_lines(programs, which, lines):
    theirs, ours = both(programs[which], "-L", lines)
    assert ours == theirs != ""


def test_functions(programs):
    """perf lists data too, which cannot be probed."""
    theirs, ours = both(programs["fast"], "-F")
    names = set(ours.splitlines())
    assert {"main", "work", "name_of"} <= names <= set(theirs.splitlines())
    theirs, ours = both(programs["fast"], "-F", "w*|name_*")
    assert ours == theirs == "name_of\nwork\n"


def test_marks_in_programs(tmp_path, monkeypatch):
    """Places, semaphores and arguments of USDT probes. perf finds those of files that are in its cache."""
    path = compiled(tmp_path, "gcc -O2")
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(["perf", "buildid-cache", "--add", path], check=True, timeout=300)
    for mark in ("global", "whole__begin", "bare"):
        theirs, ours = both(path, "-D", f"%sdt_app:{mark}")
        assert theirs.startswith(f"p:sdt_app/{mark} ")
        assert ours == theirs
