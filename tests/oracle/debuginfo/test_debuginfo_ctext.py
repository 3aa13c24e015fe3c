"""Parameters as they are written for people are C: a compiler takes them for the types that the source declares."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_text import declaration
from probescope.sources.probe_target import Wanted, open_target

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
KINDS = """struct pair { int x; };
enum colour { RED };
union both { int a; char b; };
typedef int (*judge)(struct pair*, char);
"""
DECLARED = (
    "int plain",
    "const char *text",
    "char *const fixed",
    "struct pair *pair",
    "const enum colour colour",
    "union both both",
    "judge named",
    "void (*nothing)(void)",
    "int (*judged)(const char*, int)",
    "char *(*found)(long, struct pair*)",
    "int (*const kept)(char)",
    "int (**several)(char)",
    "int (*rows)[3][4]",
    "int (*(*table)[3])(char)",
    "int (*(*chosen)(int))(char*)",
    "int (*const *readable)(char)",
    "const int (*fixed_rows)[4]",
    "void (*told)(const char*, ...)",
    "void (*given)(int (*)(char), void (*)(int (*)[2]))",
)


def test_a_compiler_takes_them_for_what_was_declared(tmp_path: Path) -> None:
    source, program = tmp_path / "many.c", tmp_path / "many"
    source.write_text(f"{KINDS}int many({', '.join(DECLARED)}) {{ return plain; }}\nint main(void) {{ return 0; }}\n")
    subprocess.run(["gcc", "-g", "-O0", "-o", str(program), str(source)], check=True, timeout=300)
    debug = open_target(Wanted(binary=str(program))).debug
    assert debug is not None
    [function] = debug.functions.named("many")
    ours = [declaration(p.type(), p.full_name()) for p in function.children(c.TAG_PARAM)]
    assert len(ours) == len(DECLARED)
    again = tmp_path / "again.c"
    again.write_text(KINDS + "".join(f"extern {t};\n" for t in (*DECLARED, *ours)))
    checked = subprocess.run(["gcc", "-fsyntax-only", str(again)], check=False, capture_output=True, text=True)
    assert checked.returncode == 0, "\n".join((*ours, checked.stderr))
    assert "int (*judged)(const char*, int)" in ours
    assert "void (*told)(const char*, ...)" in ours
