"""Probe definitions without a program in the kernel: the same events, and nothing is left in tracefs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from probescope.cli.main import main
from tests.support.probe_program import build

WANTED = "work text=o->in.text:string o->next->hi label:string n c:u sh o->arr"
FIXED = 'text="first" hi=77 label_string="hello"'


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build(tmp_path_factory.mktemp("probe_via"))


def events_of_tracefs() -> str:
    return Path("/sys/kernel/tracing/uprobe_events").read_text()


def arguments(text: str) -> list[str]:
    return [line.partition(") ")[2] for line in text.splitlines() if ": (" in line]


@pytest.mark.parametrize("via", ["ftrace", "perf"])
def test_the_same_values(programs: dict[str, str], capsys: pytest.CaptureFixture[str], via: str) -> None:
    """Texts behind pointers, bit fields, arrays, signs; returns; and a filter that the kernel cannot know."""
    before = events_of_tracefs()
    path = programs["plain"]
    words = ["probe", "-q", "-A", "--via", via, "-x", path, WANTED, "work%return $retval:s32", "--", path, "hello"]
    assert main(words) == 0
    rows = arguments(capsys.readouterr().out)
    assert [r for r in rows if "text=" in r] == [f"{FIXED} n={n:#x} c_u=6 sh=-2 arr={{1,2,3,4}}" for n in (4, 5, 6)]
    assert len([r for r in rows if r.startswith("arg1=")]) == 3
    assert events_of_tracefs() == before


def test_filters_and_json(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path = programs["plain"]
    words = ["probe", "--via", "ftrace", "-x", path, "work n label:string", "--filter", 'n > 4 && label_string ~ "he*"']
    assert main([*words, "-f", "json", "--", path, "hello"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [d["args"] for d in found] == [{"n": n, "label_string": "hello"} for n in (5, 6)]
    assert all(d["event"].endswith(":work") and d["address"] for d in found)


def test_where_bpf_is_not_permitted(programs: dict[str, str]) -> None:
    """Without any capability, tracefs is still root's: the probe works and says how; --via bpf is refused."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    path = programs["plain"]
    sets = [f"--{kind}=-all" for kind in ("bounding-set", "inh-caps", "ambient-caps")]
    command = ["setpriv", *sets, "--", sys.executable, "-m", "probescope", "probe"]
    more = ["-x", path, "work n", "--", path, "hello"]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert arguments(done.stdout) == ["n=0x4", "n=0x5", "n=0x6"]
    assert "BPF is not permitted here" in done.stderr
    words = [*command, "--via", "bpf", *more]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert refused.returncode == 1
    assert "EPERM" in refused.stderr
    assert "probescope_" not in events_of_tracefs()


def test_perf_follows_no_command(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--via", "perf", "-x", programs["plain"], "work n", "--", programs["plain"]]) == 2
    assert "--via perf follows no command" in capsys.readouterr().err
    assert "probescope_" not in events_of_tracefs()


CONTAINERS = r"""
#include <stdio.h>
#include <stdlib.h>
struct list { struct list *next; };
struct box { int id; struct { struct list node; int x, y; } in; char name[8]; short data[]; };
typedef struct box box_t;
__attribute__((noinline, noipa)) int visit(struct list *l, box_t *b, int *many) { return l && b && many; }
int main(void)
{
	struct box *b = malloc(sizeof *b + 20);
	b->id = 7;
	snprintf(b->name, 8, "boxer");
	for (int i = 0; i < 10; i++) b->data[i] = 10 * i - 20;
	int many[4] = {1, -2, 3, -4};
	return !visit(&b->in.node, b, many);
}
"""


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("boxes")
    (folder / "boxes.c").write_text(CONTAINERS)
    subprocess.run(["gcc", "-g", "-O2", "-o", "boxes", "boxes.c"], check=True, cwd=folder, timeout=300)
    return str(folder / "boxes")


@pytest.mark.parametrize("via", ["bpf", "ftrace"])
def test_containers_and_elements(boxes: str, capsys: pytest.CaptureFixture[str], via: str) -> None:
    """What a pointer to a member leads into, by a struct's name or a typedef; elements of a flexible array."""
    of = "container_of(l, struct box, in.node)"
    wanted = (
        f"visit {of}->id name={of.replace('struct box', 'box_t')}->name:string b->data[2-5] many[0-3] one=b->data[1]"
    )
    assert main(["probe", "-q", "--via", via, "-x", boxes, wanted, "--", boxes]) == 0
    [row] = arguments(capsys.readouterr().out)
    assert row == 'id=7 name="boxer" data={0,10,20,30} many={1,-2,3,-4} one=-10'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b->data", "b->data does not tell how many elements it has"),
        ("b->data[5-2]", "elements [FIRST-LAST] are up to 64"),
        ("b->data[0-64]", "elements [FIRST-LAST] are up to 64"),
        ("b->name[2-8]", "b->name has 8 elements"),
        ("container_of(l, struct nosuch, a)", "nothing is known of a type struct nosuch"),
        ("container_of(l, struct box, zz)", "struct box has no member zz"),
        ("container_of(l, box", "a ',' is missing"),
        ("container_of(l, box, )", "the name of a member is missing"),
        ("container_of(b->id, box, id)->id", "b->id is a number, not a pointer"),
    ],
)
def test_no_containers(boxes: str, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    assert main(["probe", "-x", boxes, "-D", f"visit {text}"]) == 1
    assert why in capsys.readouterr().err
