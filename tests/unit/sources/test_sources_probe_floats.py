"""Numbers in floating-point registers: what a probe cannot read is said, not shown as what another register has."""

from __future__ import annotations

import subprocess

import pytest

from probescope.errors import ScriptError
from probescope.lang.probe.parser import parse
from probescope.sources.probe_target import Wanted, open_target

SOURCE = """
typedef double money;
__attribute__((noinline)) money scale(double f, float g, int n) { return f * g + n; }
__attribute__((noinline)) int whole(double f) { return (int)f; }
int main(int argc, char **argv) { return (int)scale(argc, 2.0f, 3) + whole(argc); }
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    folder = tmp_path_factory.mktemp("floats")
    (folder / "f.c").write_text(SOURCE)
    subprocess.run(["cc", "-g", "-O2", "-o", folder / "f", folder / "f.c"], check=True)
    return open_target(Wanted(binary=str(folder / "f"), live=True))


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ("scale f", "f is in a register that probes cannot read"),
        ("scale %xmm0", "%xmm0 is a register that probes cannot read"),
        ("scale +8(%st0)", "%st0 is a register that probes cannot read"),
        ("scale%return $retval", "it returns money, in a register that probes cannot read"),
    ],
)
def test_what_is_in_no_register_of_a_probe(target, definition, told):
    with pytest.raises(ScriptError) as e:
        target.resolve(parse(definition))
    assert told in e.value.diagnostics[0].message


def test_whole_numbers_beside_them_are_had(target):
    """The third parameter is in the first register for whole numbers; another function returns one."""
    (found,) = target.resolve(parse("scale n"))
    assert str(found.args[0].fetch.x) == "%di"
    assert len(target.resolve(parse("whole%return $retval"))) == 1
