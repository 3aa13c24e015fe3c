"""Imports: order, once each, and what is refused."""

from __future__ import annotations

import pytest

from probescope.diagnostics import Source
from probescope.errors import ScriptError
from probescope.lang.bt.frontend import Script, ScriptOptions, read_script
from probescope.lang.bt.parser import ParseOptions


class Tree:
    def __init__(self, files: dict[str, str], open_to_all: tuple[str, ...] = ()) -> None:
        self.files = files
        self.open_to_all = open_to_all

    def read(self, path: str) -> str | None:
        return self.files.get(path)

    def entries(self, path: str) -> list[str] | None:
        names = {p[len(path) + 1 :].split("/")[0] for p in self.files if p.startswith(path + "/")}
        return sorted(names) or None

    def is_open_to_all(self, path: str) -> bool:
        return path in self.open_to_all


def script(text: str, files: dict[str, str], open_to_all: tuple[str, ...] = ()) -> Script:
    tree = Tree(files, open_to_all)
    return read_script(Source("/home/x/main.bt", text), ScriptOptions(ParseOptions(files=tree), environment={}))


def probes(found: Script) -> list[str]:
    return [p.points[0].written for p in found.program.probes]


def test_what_is_imported_comes_first_and_once() -> None:
    """The order of begin probes follows the graph of imports; a file that is named twice counts once."""
    files = {
        "/home/x/a.bt": 'import "lib/b.bt"; import "lib/b.bt"; k:a { }',
        "/home/x/lib/b.bt": "k:b { }",
        "/home/x/c.bt": 'import "a.bt"; k:c { }',
    }
    assert probes(script('import "a.bt"; import "c.bt"; k:main { }', files)) == ["k:b", "k:a", "k:c", "k:main"]


def test_macros_and_types_of_other_files() -> None:
    files = {"/home/x/m.bt": "macro twice(x) { x * 2 }", "/home/x/t.h": "struct far { int y; };"}
    found = script('import "m.bt"; import "t.h"; begin { $x = twice(4); }', files)
    assert [getattr(d, "name", "") for d in found.program.declarations] == ["far"]
    assert not found.program.macros
    assert not found.program.imports


def test_a_directory_is_all_of_it() -> None:
    files = {"/home/x/lib/b.bt": "k:b { }", "/home/x/lib/a.bt": "k:a { }", "/home/x/lib/readme.txt": "no"}
    assert probes(script('import "lib"; k:main { }', files)) == ["k:a", "k:b", "k:main"]


def test_places_are_those_of_the_import() -> None:
    """Later findings about imported items show text that the user wrote."""
    found = script('\nimport "a.bt";\nk:main { }', {"/home/x/a.bt": "\n\n\n\nk:a { f(1); }"})
    first = found.program.probes[0]
    assert (first.span.line, first.body.statements[0].span.line, first.points[0].spec.span.line) == (2, 2, 2)


def test_the_standard_library_is_built_in() -> None:
    assert probes(script('import "stdlib"; k:main { }', {})) == ["k:main"]


@pytest.mark.parametrize(
    ("text", "files", "what"),
    [
        ('import "no.bt"; k:f { }', {}, "cannot read 'no.bt'"),
        ('import ""; k:f { }', {}, "cannot read ''"),
        ('import "a.txt"; k:f { }', {"/home/x/a.txt": ""}, "'a.txt' cannot be imported"),
        ('import "a.bpf.c"; k:f { }', {"/home/x/a.bpf.c": ""}, "'a.bpf.c' cannot be imported"),
        ('import "a.bt"; k:f { }', {"/home/x/a.bt": "config = { max_probes = 1 }"}, "cannot have a config block"),
        ('import "a.bt"; k:f { }', {"/home/x/a.bt": "k:g { 1 2 }"}, "unexpected number '2'"),
        ("config = { max_probes = 1 } config = { max_probes = 2 } k:f { }", {}, "duplicate config block"),
    ],
)
def test_wrong_imports(text: str, files: dict[str, str], what: str) -> None:
    with pytest.raises(ScriptError) as e:
        script(text, files)
    assert what in e.value.diagnostics[0].message


def test_findings_in_an_imported_file_show_that_file() -> None:
    with pytest.raises(ScriptError) as e:
        script('import "a.bt"; k:f { }', {"/home/x/a.bt": "k:g { 1 2 }"})
    source = e.value.diagnostics[0].source
    assert source is not None
    assert source.name == "/home/x/a.bt"


@pytest.mark.parametrize("path", ["/home/x", "/home/x/lib"])
def test_directories_that_all_may_write_are_refused(path: str) -> None:
    """A script often runs as root: nobody else may slip code into it."""
    name = "a.bt" if path == "/home/x" else "lib"
    with pytest.raises(ScriptError, match="global write permissions"):
        script(f'import "{name}"; k:f {{ }}', {"/home/x/a.bt": "", "/home/x/lib/b.bt": ""}, (path,))


def test_a_circle_ends() -> None:
    files = {"/home/x/a.bt": 'import "b.bt"; k:a { }', "/home/x/b.bt": 'import "a.bt"; k:b { }'}
    assert probes(script('import "a.bt"; k:main { }', files)) == ["k:b", "k:a", "k:main"]
