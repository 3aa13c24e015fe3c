"""References from code to data, held to what objdump says of the same instructions; and whois on a known program."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.cli.main import main
from probescope.debuginfo.crossrefs import crossrefs
from probescope.debuginfo.elf import ElfFile

SOURCE = """
#include <errno.h>
#include <stdio.h>
static const char *const words[] = { "the first of the words", "the second of the words" };
__attribute__((noinline)) static int refuse(const char *name) {
    fprintf(stderr, "cannot refuse %s: out of paper\\n", name);
    return -ENOSPC;
}
static inline int inner(int n) { printf("inner told of %d things\\n", n); return n + 1; }
__attribute__((noinline)) int outer(int n) { return inner(n) * 2; }
__attribute__((noinline)) const char *word(int i) { return words[i & 1]; }
int main(int argc, char **argv) { puts(word(argc)); return refuse(argv[0]) + outer(argc); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whois")
    (folder / "prog.c").write_text(SOURCE)
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    for name, flags in {"pie": ["-pie", "-fPIE"], "fixed": ["-no-pie", "-fno-pie"], "object": ["-c"]}.items():
        args = ["gcc", "-O2", "-g", *flags, "-o", str(folder / name), "prog.c"]
        subprocess.run(args, check=True, cwd=folder)
    subprocess.run(["strip", "-o", str(folder / "stripped"), str(folder / "pie")], check=True)
    return folder


def rodata(elf: ElfFile) -> tuple[int, int]:
    section = elf.section(".rodata")
    assert section is not None
    return section.address, section.address + section.size


@pytest.mark.parametrize("path", ["/bin/bash", "/usr/bin/perf", "/bin/ls"])
def test_references_are_those_that_objdump_prints(path: str) -> None:
    """Protects the search for displacements: every reference to .rodata that the disassembler sees is found, and what
    is found beside them stays rare."""
    if shutil.which("objdump") is None or not Path(path).exists():
        pytest.skip(f"needs objdump and {path}")
    with ElfFile.open(path) as elf:
        low, high = rodata(elf)
        found = {t for t in crossrefs(elf).targets.tolist() if low <= t < high}
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    seen = {int(m, 16) for m in re.findall(r"# ([0-9a-f]+) <", text.stdout)}
    expected = {t for t in seen if low <= t < high}
    assert expected
    assert expected <= found
    assert len(found - expected) <= len(expected) // 50


def whois(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, object]]:
    assert main(["whois", "-f", "json", *args]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", ["pie", "fixed"])
def test_a_message_leads_to_its_function(program: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects references of files that are moved and of those that are not; the source says who prints what."""
    rows = whois(capsys, "prog: cannot refuse /x: out of paper", "-x", str(program / name))
    assert [(r["function"], r["probe"]) for r in rows] == [("refuse", f"uprobe:{program / name}:refuse")]
    source = rows[0]["source"]
    assert isinstance(source, list)
    assert any(str(s["file"]).endswith("prog.c") and s["line"] == 6 for s in source)


def test_inlined_functions_are_told(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the calls around a place: what was inlined has no symbol, and is what the source names."""
    rows = whois(capsys, "inner told of %d things", "-x", str(program / "pie"))
    assert {r["function"] for r in rows} <= {"outer", "main"}
    assert all(any(s["function"] == "inner" for s in r["source"]) for r in rows)  # type: ignore[attr-defined]


def test_a_kernel_that_is_named_tells_its_own_lines(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects --vmlinux FILE of a kernel that does not run: what it has inlined is told by its own debug information.
    To what reads it, a program at fixed addresses is no other file than a kernel."""
    rows = whois(capsys, "inner told of %d things", "--vmlinux", str(program / "fixed"))
    assert rows
    for row in rows:
        assert [s["line"] for s in row["source"] if s["function"] == "inner"] == [9]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["pie", "fixed"])
def test_tables_of_messages_are_followed(program: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects messages that code reaches through an array of pointers only, relocated or not."""
    rows = whois(capsys, "the second of the words", "-x", str(program / name))
    assert {(r["function"], r["through"]) for r in rows} <= {("word", "words"), ("main", "words")}
    assert rows


def test_stripped_programs_have_addresses(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects functions without names: unwind tables tell where they begin, as the symbols do that were there."""
    [with_name] = whois(capsys, "cannot refuse %s", "-x", str(program / "pie"))
    [without] = whois(capsys, "cannot refuse %s", "-x", str(program / "stripped"))
    assert without["function"] is None
    assert without["function_address"] == with_name["function_address"]
    assert without["probe"] == f"uprobe:{program / 'stripped'}:{without['function_address']:#x}"


def test_relocatable_files_refer_by_relocations(program: Path) -> None:
    """Protects kernel modules, which are such files: functions and messages meet through relocations alone."""
    from probescope.debuginfo.messages import Pattern
    from probescope.views.whois.kernel import Module
    from probescope.views.whois.search import Finding, messages

    with ElfFile.open(str(program / "object")) as elf:
        found = messages(Module("prog", elf), Pattern("cannot refuse %s: out of paper"))
    assert [f.where.plain for f in found if isinstance(f, Finding)] == ["refuse"]


def test_who_returns_an_error(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects --returns: -ENOSPC is set in refuse alone, or where that was inlined."""
    rows = whois(capsys, "--returns", "-ENOSPC", "-x", str(program / "pie"))
    assert {r["function"] for r in rows} == {"refuse"}


def test_lines_and_addresses_lead_back(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects FILE:LINE and 0xADDRESS: they name the same function, by readelf's own symbols."""
    path = str(program / "pie")
    table = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    address = next(int(x.split()[1], 16) for x in table.splitlines() if x.endswith(" refuse"))
    by_line = whois(capsys, "prog.c:6", "-x", path)
    assert "refuse" in {r["function"] for r in by_line}
    [by_address] = whois(capsys, hex(address + 4), "-x", path)
    assert (by_address["function"], by_address["offset"]) == ("refuse", 4)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["zzz qqq nothing like this", "-x", "ls"], "no message like"),
        (["a", "-x", "ls"], "letters"),
        (["--returns", "ENOSPCC", "-x", "ls"], "not an error number"),
        (["0x3", "-x", "ls"], "no code at"),
        (["some message", "-x", "nonexistent"], "no program"),
        (["ls.c:1", "-x", "/etc/passwd"], "ELF"),
        ([], "looked for"),
    ],
)
def test_mistakes_are_told(args: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects against tracebacks and empty answers."""
    assert main(["whois", *args]) in {1, 2}
    captured = capsys.readouterr()
    assert why in captured.err
    assert "Traceback" not in captured.err
