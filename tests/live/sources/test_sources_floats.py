"""Floating point members of structs: by the script's own declaration, and by debug information."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from collect_run import run

SOURCE = """
struct weather { char where; float degrees; double pressure; float past[2]; double none; };
__attribute__((noinline, noipa)) int look(struct weather *w) { return w->where; }
int main(void) {
    struct weather w = {'x', 0.1f, 1013.25, {-1.5f, 3e30f}, 0.0 / 0.0};
    return look(&w) == 0;
}
"""
DECLARED = "struct mine { char where; float degrees; double pressure; float past[2]; double none; }; "


@pytest.mark.parametrize(("declared", "pointer"), [(DECLARED, "((struct mine *)arg0)"), ("", "args.w")])
def test_floats(tmp_path: Path, declared: str, pointer: str) -> None:
    """Aligned as C does; printed as the shortest number that is the same; JSON has no NaN."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    prog, text = tmp_path / "prog", tmp_path / "prog.c"
    text.write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-o", str(prog), str(text)], check=True)
    body = f'print(*{pointer}); $d = {pointer}->degrees; @[$d] = 1; printf("%.2f %g %s", $d, {pointer}->pressure, $d);'
    program = f"{declared}uprobe:{prog}:look {{ {body} }}"
    out = run(program, "-q", "-c", str(prog)).lines
    assert out[0].endswith(".degrees = 0.1, .pressure = 1013.25, .past = [-1.5,3e+30], .none = nan }")
    assert out[1:] == ["0.10 1013.25 0.1", "@[0.1]: 1"]
    value = json.loads(run(program, "-q", "-f", "json", "-c", str(prog)).lines[0])["data"]
    assert (value["degrees"], value["pressure"], value["past"], value["none"]) == (0.1, 1013.25, [-1.5, 3e30], None)


def test_nothing_calculates_with_floats(tmp_path: Path) -> None:
    """BPF has no floating point: that is said, and no number comes out that would be wrong."""
    done = run(f"{DECLARED}uprobe:/bin/true:main {{ $x = ((struct mine *)arg0)->degrees + 1; }}")
    assert done.code
    assert "float" in done.err
