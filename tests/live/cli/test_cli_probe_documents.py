"""``probe -V``, ``-L``, ``-F``, ``-D`` and ``-l`` with ``-f json``: what the source says, and what the text says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.cli.main import main

SOURCE = """struct pair { int x; unsigned hi; };
int total = 1;
int sum(struct pair *p, int more)
{
\tint all = p->x;
\treturn all + more;
}
int main(void)
{
\tstruct pair p = {40, 3};
\treturn sum(&p, 2) != 42;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("documents")
    (folder / "pairs.c").write_text(SOURCE)
    out = folder / "pairs"
    subprocess.run(["gcc", "-g", "-O0", "-o", str(out), str(folder / "pairs.c")], check=True)
    return str(out)


def told(capsys, *argv):
    assert main(["probe", *argv]) == 0
    return capsys.readouterr().out


def documents(capsys, *argv):
    return [json.loads(line) for line in told(capsys, "-f", "json", *argv).splitlines()]


def test_variables(program, capsys):
    """Of a place, with where each is known and those outside of functions; ranges are those of the text."""
    [place] = documents(capsys, "-x", program, "-V", "sum:2", "--range", "--externs")
    assert (place["place"], place["function"]) == ("sum:2", "sum")
    found = {v["name"]: v for v in place["variables"]}
    assert {n: v["type"] for n, v in found.items()} == {
        "p": "struct pair*",
        "more": "int",
        "all": "int",
        "total": "int",
    }
    assert {n for n, v in found.items() if v["extern"]} == {"total"}
    assert all(v["known"] for v in found.values())
    [[low, high]] = found["all"]["ranges"]
    text = told(capsys, "-x", program, "-V", "sum:2", "--range")
    assert f"[VAL]\tint\tall\t@<sum+[{low}-{high}]>" in text
    assert f"@<sum+{place['offset']}>" in text


def test_lines(program, capsys):
    """Numbers are those of the file; those with code are those that the compiler made code for."""
    found = documents(capsys, "-x", program, "-L", "sum:0-4")
    assert [d["line"] for d in found] == [3, 4, 5, 6, 7]
    assert [d["relative"] for d in found] == [0, 1, 2, 3, 4]
    assert [d["text"] for d in found] == SOURCE.splitlines()[2:7]
    assert [d["line"] for d in found if d["code"]] == [3, 5, 6, 7]
    assert {(d["function"], d["file"]) for d in found} == {("sum", f"{program}.c")}
    assert [d["line"] for d in documents(capsys, "-x", program, "-L", "pairs.c:5-6")] == [5, 6]


def test_functions_and_definitions(program, capsys):
    assert documents(capsys, "-x", program, "-F", "s* | m*") == [{"function": "main"}, {"function": "sum"}]
    [d] = documents(capsys, "-x", program, "-D", "sum more p->x")
    assert d["definition"] == told(capsys, "-x", program, "-D", "sum more p->x").strip()
    assert (d["event"], d["path"], d["function"]) == ("probe_pairs:sum", program, "sum")
    symbols = subprocess.run(["nm", "--no-demangle", program], check=True, capture_output=True, text=True).stdout
    [entry] = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T sum")]
    assert d["definition"].split()[1] == f"{program}:{entry + d['offset']:#x}"
    assert (d["return"], d["inlined"], d["arguments"]) == (False, False, ["more", "x"])


def test_parameters_by_btf(capsys):
    """Without the kernel's debug symbols the parameters are told too; with them as well."""
    if not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("this kernel has no BTF")
    [place] = documents(capsys, "-V", "vfs_read")
    assert {"name": "file", "type": "struct file*", "known": True, "extern": False} in place["variables"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_kept_ones(program, capsys):
    """As they stand in tracefs."""
    name = f"probe_json:e{os.getpid()}"
    told(capsys, "-q", "-x", program, "--keep", name, "sum more")
    try:
        [d] = documents(capsys, "-l", name)
        kept = Path("/sys/kernel/tracing/uprobe_events").read_text(encoding="utf-8").splitlines()
        assert d["definition"] in kept
        assert (d["event"], d["return"], d["arguments"]) == (name, False, ["more"])
        assert d["about"].startswith("on sum")
    finally:
        told(capsys, "-q", "-d", name)
