"""``a ?? b``: the first attach point that is there and can be used; the others are not looked at."""

import pytest
from bt_host import environment

from probescope.diagnostics import Source
from probescope.errors import ProbeError, ScriptError
from probescope.frozen import replace
from probescope.lang.bt.compiler import compile_script
from probescope.lang.bt.fallback import alternatives
from probescope.lang.bt.frontend import ScriptOptions, read_script
from probescope.lang.bt.printer import program_text


def _lower(text, *, missing=(), unusable=(), doubtful=()):
    env = environment()
    asked = []

    def resolve(spec, need_fields):
        asked.append(spec.text)
        if spec.name in missing:
            raise ProbeError(f"there is no {spec.name}")
        found = env.resolve(spec, need_fields)
        return [replace(s, doubt="it is not traceable") for s in found] if spec.name in doubtful else found

    def unserved(site):
        return "not on this kernel" if any(word in site.name for word in unusable) else ""

    program = compile_script(Source("stdin", text), replace(env, resolve=resolve, unserved=unserved)).program
    return [s.name for s in program.sites], asked, [note for c in program.clauses for note in c.chosen]


def test_the_first_that_exists_is_taken():
    """What comes behind it is not even looked up."""
    sites, asked, notes = _lower("kprobe:a ?? kprobe:b ?? kprobe:c { }", missing={"a"})
    assert (sites, asked) == (["kprobe:b"], ["kprobe:a", "kprobe:b"])
    assert notes == ["kprobe:a ?? kprobe:b ?? kprobe:c: it is kprobe:b (kprobe:a: there is no a)"]


def test_what_cannot_be_used_is_passed_over():
    """A function may exist where its mechanism does not."""
    sites, _, notes = _lower("kprobe:a ?? rawtracepoint:t { }", unusable={"kprobe"})
    assert sites == ["rawtracepoint:t"]
    assert "kprobe:a: not on this kernel" in notes[0]


def test_what_may_not_be_there_is_none_of_them():
    """With --unsafe a function that nobody knows is tried: not where another can be had."""
    sites, _, notes = _lower("kprobe:a ?? kprobe:b { }", doubtful={"a"})
    assert sites == ["kprobe:b"]
    assert "kprobe:a: it is not traceable" in notes[0]


def test_it_binds_tighter_than_the_comma():
    sites, _, _ = _lower("kprobe:a ?? kprobe:b, kprobe:c ?? kprobe:d, kprobe:e { }", missing={"a", "c"})
    assert sites == ["kprobe:b", "kprobe:d", "kprobe:e"]


def test_none_of_them():
    """All reasons are given, and the script's missing_probes is minded."""
    with pytest.raises(ScriptError) as caught:
        _lower("kprobe:a ?? kprobe:b { }", missing={"a", "b"})
    found = caught.value.diagnostics[0]
    assert "none of kprobe:a ?? kprobe:b can be used" in found.message
    assert found.hints[:2] == ("kprobe:a: there is no a", "kprobe:b: there is no b")
    text = "config = { missing_probes = ignore } kprobe:a ?? kprobe:b { } kprobe:c { }"
    assert _lower(text, missing={"a", "b"})[0] == ["kprobe:c"]


@pytest.mark.parametrize("text", ["kprobe:a ?? { }", "?? kprobe:a { }", "kprobe:a ?? , kprobe:b { }"])
def test_what_is_no_row_of_probes(text):
    with pytest.raises(ScriptError):
        _lower(text)


def test_question_marks_without_blanks_are_a_glob():
    """``kprobe:vfs_??`` goes on being one attach point."""
    tree = read_script(Source("stdin", "kprobe:vfs_??,kprobe:b /1/ { }"), ScriptOptions()).program
    assert [p.written for p in tree.probes[0].points] == ["kprobe:vfs_??", "kprobe:b"]
    assert len(list(alternatives(tree.probes[0].points))) == 2


def test_it_is_printed_as_it_is_read():
    text = "kprobe:a ?? kprobe:b,\nkprobe:c"
    tree = read_script(Source("stdin", text + " { }"), ScriptOptions()).program
    again = read_script(Source("stdin", program_text(tree)), ScriptOptions()).program
    assert program_text(tree).startswith(text)
    assert again == tree
    assert [p.rank for p in again.probes[0].points] == [0, 1, 0]
