"""Lines with ``#``: conditions, macros, headers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lang_shape import program, shape

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt import ast
from probescope.lang.bt.cdecl import CStruct
from probescope.lang.bt.files import Disk
from probescope.lang.bt.parser import ParseOptions, parse


class Tree:
    """Files in a dictionary."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> str | None:
        return self.files.get(path)

    def entries(self, path: str) -> list[str] | None:
        return None

    def is_open_to_all(self, path: str) -> bool:
        return False


def value(defines: str, text: str) -> str:
    (found,) = program(f"{defines}\nbegin {{ $x = {text}; }}").probes
    statement = found.body.statements[0]
    assert isinstance(statement, ast.Assign)
    return shape(statement.value)


@pytest.mark.parametrize(
    ("defines", "text", "tree"),
    [
        ("#define N 5", "N", "5"),
        ("#define N 1 + 2", "N * 3", "(* (+ 1 2) 3)"),
        ("#define N (1)", "N", "1"),
        ("#define N -1", "N", "-1"),
        ("#define A B\n#define B 7", "A", "7"),
        ("#define F(x, y) x * y", "F(1 + 2, 3)", "(+ 1 (* 2 3))"),
        ("#define F(x) ((x) + N)\n#define N 2", "F(1) * 3", "(* (+ 1 2) 3)"),
        ("#define F() 4", "F()", "4"),
        ("#define F(x) x", "F", "F"),
        ("#define F(x) x", "F((1, 2))", "(tuple 1 2)"),
        ("#define P struct a *", "(P)$y", "(cast struct a* $y)"),
        ("#define T unsigned int", "(T)$y", "(cast unsigned int $y)"),
        ('#define S "a\\n"', "S", "'a\\n'"),
        ("#define LONG 1 \\\n  + 2", "LONG", "(+ 1 2)"),
        ("#define N 1 // one\n#define M 2 /* two */", "N + M", "(+ 1 2)"),
        ("#define N 1\n#undef N", "N", "N"),
        ("  #  define  N  3", "N", "3"),
        ("#define stdin stdin", "stdin", "stdin"),  # the C library's headers have it, and C leaves the word alone
    ],
)
def test_defines(defines: str, text: str, tree: str) -> None:
    """A macro without brackets is one value, one with brackets is C's; both may use others."""
    assert value(defines, text) == tree


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#ifdef A\n#define X 1\n#else\n#define Y 1\n#endif", "Y"),
        ("#ifdef BPFTRACE_HAVE_BTF\n#define X 1\n#else\n#define Y 1\n#endif", "X"),
        ("#ifndef BPFTRACE_HAVE_BTF\n#include <linux/socket.h>\n#else\n#define X 1\n#endif", "X"),
        ("#define A 2\n#if A > 1 && defined(A) && !defined B\n#define X 1\n#endif", "A X"),
        ("#if 0\n#define X 1\n#elif 1\n#define Y 1\n#elif 1\n#define Z 1\n#endif", "Y"),
        ("#if 0\n#if 1\n#define X 1\n#else\n#define Y 1\n#endif\n#endif\n#define Z 1", "Z"),
        ("#if UNKNOWN\n#define X 1\n#endif", ""),
        ("/*\n#define X 1\n*/\n#define Y 1", "Y"),
        ("#pragma once\n#\n#define X 1", "X"),
    ],
)
def test_conditions(text: str, names: str) -> None:
    """Only the branches that hold count, in nested conditions too; what a comment hides is no directive."""
    made = program(text + "\n")
    found = [d.rest.split()[0] for d in made.items if isinstance(d, ast.Directive) and d.name == "define"]
    assert " ".join(found) == names


def test_left_out_text_keeps_the_places_of_the_rest() -> None:
    text = "#ifdef NO\nbegin { this is not read }\n#endif\nbegin { $x = ; }\n"
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", text))
    (finding,) = e.value.diagnostics
    assert (finding.span.line, finding.span.column) == (4, 14)


def test_a_macro_points_at_its_use() -> None:
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", "#define BAD 1 2\nbegin { $x = BAD; }"))
    (finding,) = e.value.diagnostics
    assert (finding.span.line, finding.span.column, finding.span.end_column) == (2, 14, 17)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("#define M M+1\nbegin { M; }", "macro recursion: M > M"),
        ("#define A B\n#define B A\nbegin { A; }", "macro recursion: A > B > A"),
        ("#define F(x) x\nbegin { F(1, 2); }", "macro F takes 1 arguments, found 2"),
        ("#define M {\nbegin { M; }", "expected '}'"),
        ("#ifdef A\nbegin { }", "never closed by #endif"),
        ("#endif\nbegin { }", "#endif without #if"),
        ("#if 1\n#else\n#else\n#endif", "#else after #else"),
        ("#if (\n#endif", "cannot be evaluated"),
        ("#error not here", "#error not here"),
        ("#inculde <a.h>", "unknown directive '#inculde'"),
        ("#define 1 2", "#define needs a name"),
        ("#define F(1) 2", "not plain names"),
        ("#include foo", "#include needs a name"),
        ("#include <lol/no.h>", "'lol/no.h' file not found"),
        ('#include "mine.h"', "'mine.h' file not found"),
        ("begin { }\n#define X 1", "C definitions must come before"),
    ],
)
def test_wrong_directives(text: str, what: str) -> None:
    with pytest.raises(ScriptError) as e:
        parse(Source("stdin", text))
    assert any(what in d.message for d in e.value.diagnostics), [d.message for d in e.value.diagnostics]


def test_headers_of_the_kernel_and_of_c_need_not_exist() -> None:
    """Types come from BTF: a script with the usual includes runs on a machine without headers."""
    made = program(
        "#include <linux/fs.h>\n#include <net/sock.h>\n#include <stdint.h>\n#include <sys/socket.h>\nbegin { }"
    )
    assert [d.rest for d in made.items if isinstance(d, ast.Directive)] == [
        "<linux/fs.h>",
        "<net/sock.h>",
        "<stdint.h>",
        "<sys/socket.h>",
    ]


def test_a_pipe_is_no_header(tmp_path: Path) -> None:
    """Opening one that nobody writes to would wait for ever."""
    pipe = tmp_path / "pipe.h"
    os.mkfifo(pipe)
    with pytest.raises(ScriptError, match="file not found"):
        parse(Source("stdin", f'#include "{pipe}"\nbegin {{ }}'), ParseOptions(files=Disk()))


def test_headers_of_the_user_are_read() -> None:
    """Types, enumerators and macros of a header and of what it includes; guards work, functions are passed over."""
    files = Tree(
        {
            "/inc/a.h": (
                '#ifndef A_H\n#define A_H\n#include "sub/b.h"\n#define LEN (B + 1)\n'
                "extern int counter;\nstatic inline int twice(int x) { return 2 * x; }\n"
                "struct a *find(const char *name);\nstruct a { char name[LEN]; enum e e; } __attribute__((packed));\n"
                "typedef struct { int y; } pair_t, *pair_p;\n#endif\n"
            ),
            "/inc/sub/b.h": '#pragma once\n#include <linux/types.h>\n#include "../a.h"\nenum e { B = 3, C };\n',
        }
    )
    text = '#include "a.h"\n#include "a.h"\nstruct mine { int x[C]; };\nbegin { $n = LEN; }'
    made = parse(Source("stdin", text), ParseOptions(files=files, include_dirs=["/inc"]))
    by_name = {getattr(d, "name", ""): d for d in made.declarations}
    assert {"a", "e", "pair_t", "pair_p", "mine"} <= set(by_name)
    struct = by_name["a"]
    assert isinstance(struct, CStruct)
    assert struct.members is not None
    assert (struct.packed, struct.members[0].type.count) == (True, 4)  # type: ignore[union-attr]
    mine = by_name["mine"]
    assert isinstance(mine, CStruct)
    assert mine.members is not None
    assert mine.members[0].type.count == 4  # type: ignore[union-attr]
    statement = made.probes[0].body.statements[0]
    assert isinstance(statement, ast.Assign)
    assert shape(statement.value) == "(+ B 1)"


def test_a_header_beside_the_script_and_one_of_the_command_line() -> None:
    files = Tree({"/home/x/near.h": "struct near { int a; };", "/inc/far.h": "struct far { int b; };"})
    options = ParseOptions(files=files, include_dirs=["/inc"], includes=["far.h"])
    made = parse(Source("/home/x/script.bt", '#include "near.h"\nbegin { }'), options)
    assert [getattr(d, "name", "") for d in made.declarations] == ["far", "near"]


def test_a_circle_of_headers_ends() -> None:
    files = Tree({"/inc/a.h": '#include "b.h"\n', "/inc/b.h": '#include "a.h"\n'})
    parse(Source("stdin", '#include "a.h"\nbegin { }'), ParseOptions(files=files, include_dirs=["/inc"]))
