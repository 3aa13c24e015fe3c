"""``probescope probe`` on this machine's programs: values as the source has them, events that are kept and removed,
recordings by the names of definitions, and everything that cannot be had told with what can."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from probescope.cli.main import main
from tests.support.probe_program import build

UPROBE_EVENTS = Path("/sys/kernel/tracing/uprobe_events")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("probe"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def probescope(cache):
    def run(*argv, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "probescope", *argv],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "XDG_CACHE_HOME": cache},
        )
        assert "bug in probescope" not in done.stderr
        assert done.returncode == code, done.stderr
        return done

    return run


def arguments(text):
    """What follows the address of each event."""
    return [line.partition(") ")[2] for line in text.splitlines() if ": (" in line]


@pytest.mark.parametrize("which", ["plain", "fast"])
def test_values(programs, probescope, which):
    """Structs behind pointers, texts, a bit field, an array, an enumeration and signs; as the program has them."""
    wanted = "work text=o->in.text:string o->next->hi o->name:string label:string n c:u sh o->arr o->u2 counter:s"
    done = probescope("probe", "-q", "-x", programs[which], wanted, "--", programs[which], "hello")
    rows = arguments(done.stdout)
    fixed = 'text="first" hi=77 name="outername" label_string="hello"'
    assert [r.rpartition(" counter_s=")[0] for r in rows] == [
        f"{fixed} n={n:#x} c_u=6 sh=-2 arr={{1,2,3,4}} u2=8" for n in (4, 5, 6)
    ]
    assert rows[0].endswith("counter_s=7")


def test_lines_and_json(programs, probescope):
    """A local variable at a line, for each turn of a loop; only events that a filter lets pass."""
    path = programs["plain"]
    done = probescope(
        "probe", "-q", "-f", "json", "-x", path, "work:6 i total n", "--filter", "n == 4", "--", path, "hello"
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [e["args"] for e in events] == [{"i": i, "total": 3 * (i + 1) + i * (i + 1) // 2, "n": 4} for i in range(4)]
    assert {e["event"] for e in events} == {"probe_plain:work_L6"}


def test_returns_and_count(programs, probescope):
    path = programs["plain"]
    done = probescope("probe", "-q", "-x", path, "name_of%return +0($retval):string", "--count", "2", "--", path)
    assert arguments(done.stdout) == ['arg1="outername"'] * 2


def test_inlined_copies(programs, probescope):
    """helper is inlined twice: 4 + 5 + 6 calls in work, one in main."""
    path = programs["plain"]
    done = probescope("probe", "-q", "-x", path, "helper k", "--", path)
    assert len(arguments(done.stdout)) == 16
    assert "LOST" not in done.stderr


def test_names_in_filters(programs, probescope):
    path = programs["plain"]
    done = probescope("probe", "-q", "-x", path, "work n c", "--filter", "c == BLUE && n >= 5", "--", path)
    assert arguments(done.stdout) == ["n=0x5 c=0x6", "n=0x6 c=0x6"]


def test_filters_by_the_variable(programs, probescope):
    """An argument with a type may be called by its variable alone."""
    path = programs["plain"]
    done = probescope(
        "probe", "-q", "-x", path, "work label:string n:u", "--filter", 'label == "yes" && n < 5', "--", path, "yes"
    )
    assert arguments(done.stdout) == ['label_string="yes" n_u=4']


def test_kept_events(programs, probescope):
    """--add, -l and -d, and that nothing is left behind; perf sees the same event."""
    path = programs["plain"]
    probescope("probe", "-q", "-x", path, "--add", "psc_test:one=work n label:string")
    try:
        assert "p:psc_test/one" in UPROBE_EVENTS.read_text()
        again = probescope("probe", "-x", path, "--add", "psc_test:one=work", code=1)
        assert "there is an event psc_test:one already" in again.stderr
        shown = probescope("probe", "-l", "psc_test:*").stdout
        assert re.fullmatch(rf"  psc_test:one +\(on work:\d+@\S+/work.c in {path} with n label_string\)\n", shown)
        probescope("probe", "-q", "-x", path, "--keep", "psc_test:two", "name_of")
        assert "p:psc_test/two" in UPROBE_EVENTS.read_text()
    finally:
        probescope("probe", "-d", "psc_test:*")
    assert "psc_test" not in UPROBE_EVENTS.read_text()


def test_recording_by_name(programs, probescope, tmp_path):
    """A definition that was used once is found by record -e; also by the name that older versions of perf gave."""
    path, data = programs["fast"], str(tmp_path / "perf.data")
    probescope("probe", "-q", "-x", path, "name_of%return +0($retval):string", "--", path)
    for name in ("probe_fast:name_of__return", "probe_fast:name_of"):
        probescope("record", "-q", "-o", data, "-e", name, "--", path)
        shown = probescope("script", "-i", data).stdout
        assert f"{name}: (" in shown
        assert 'arg1="outername"' in shown
        assert "name_of" not in UPROBE_EVENTS.read_text()


def test_definitions_among_events(programs, probescope, tmp_path):
    path, data = programs["fast"], str(tmp_path / "perf.data")
    event = f"probe({path} work n label:string)"
    probescope("record", "-q", "-o", data, "-e", event, "--filter", "n > 4", "--", path, "hi")
    assert arguments(probescope("script", "-i", data).stdout) == ['n=0x5 label_string="hi"', 'n=0x6 label_string="hi"']
    counted = probescope("stat", "-x", ",", "-e", event, "--", path)
    assert re.search(r"^3,,probe_fast:work", counted.stderr, re.MULTILINE), counted.stderr
    assert "probe_fast" not in UPROBE_EVENTS.read_text()


BAD = {
    "fast": {
        "work d": "in a register that probes cannot read",
        "work nosuch": "work has no variable nosuch",
        "work n.x": "n has no members",
        "work o.in": "its members are behind '->'",
        "work o->nosuch": "struct outer has no member nosuch",
        "work hidden->x": "nothing is known of the members of struct opaque",
        "work n:string": "no text: neither a pointer nor an array",
        "work%return n": "n is gone when the function returns",
        "work $retval": "only where a function returns",
        "work o->arr[9]": "has 4 elements",
        "work %xyz": "there is no register %xyz",
        "wrok": "did you mean work",
        "printf": "does not define printf",
        "work+1": "no instruction begins at work+1",
        "work:700": "there is no code at line 700",
        "work:nolabel": "no label nolabel",
        "other.c:3": "comes from a file other.c",
        "0x10": "Could not resolve address",
        "%sdt_x:y": "no USDT probe",
    },
    "stripped": {
        "work": "there is no function work",
        "main": "is stripped",
        "work:3": "has no debug information",
        "work.c:3": "has no debug information",
    },
}


@pytest.mark.parametrize(("which", "text"), [(w, t) for w, texts in BAD.items() for t in texts])
def test_what_cannot_be_had(programs, capsys, which, text):
    assert main(["probe", "-x", programs[which], "-D", text]) == 1
    told = capsys.readouterr()
    assert BAD[which][text] in told.err
    assert told.out == ""
    assert "bug in probescope" not in told.err


def test_optimised_out(programs, capsys):
    """Where it is known instead is told."""
    assert main(["probe", "-x", programs["fast"], "-D", "work:9 total"]) == 1
    told = capsys.readouterr().err
    assert re.search(r"it is known at work\+\d+ \(line \d+\)", told), told


def test_another_kernels_file(capsys, tmp_path):
    """What is to be probed has to be of the kernel that runs; for looking, any kernel's file will do."""
    (tmp_path / "k.c").write_text("void _text(void) {}\nlong some_call(long count) { return count; }\n")
    flags = ["-g", "-O2", "-nostdlib", "-Wl,--build-id", "-Wl,-e,0"]
    subprocess.run(["gcc", *flags, "-o", "vmlinux", "k.c"], check=True, cwd=tmp_path, timeout=300)
    path = str(tmp_path / "vmlinux")
    assert main(["probe", "-k", path, "-D", "some_call count"]) == 0
    assert re.fullmatch(r"p:probe/some_call _text\+\d+ count=%di:s64\n", capsys.readouterr().out)
    assert main(["probe", "-k", path, "some_call count"]) == 1
    assert "belongs to another build of the kernel: its build-id is" in capsys.readouterr().err


def test_events_that_nobody_has_defined(capsys):
    assert main(["record", "-e", "probe:no_such_function", "--", "true"]) != 0
    assert "probescope probe 'no_such_function ...'" in capsys.readouterr().err


def test_damaged_file(programs, capsys, tmp_path):
    """A cut binary ends in a message."""
    data = Path(programs["fast"]).read_bytes()
    for size in (0, 10, 64, 3000, len(data) // 2, len(data) - 200):
        (tmp_path / f"cut{size}").write_bytes(data[:size])
        code = main(["probe", "-x", str(tmp_path / f"cut{size}"), "-D", "work o->in.a"])
        told = capsys.readouterr().err
        assert code in (0, 1), (size, told)
        assert "bug in probescope" not in told, (size, told)


CPP_SOURCE = r"""
#include <string>
namespace app {
struct Base { virtual ~Base() {} int id = 4; };
class Engine : public Base {
public:
	int size; const char *label; static int total;
	Engine(int s, const char *l) : size(s), label(l) {}
	__attribute__((noinline)) int run(int x, const std::string &s) { asm volatile(""); return total += x + s.size(); }
	__attribute__((noinline)) int run(double d) { asm volatile(""); return size + d; }
};
int Engine::total = 9;
template <typename T> __attribute__((noinline)) T twice(T v) { asm volatile(""); return v * 2; }
}
int main(int argc, char **)
{
	static volatile char name[] = "eng";
	app::Engine e(argc, name[0] == 'e' ? (char *)name : 0); /* whose page is in memory from then on */
	return e.run(3, "abc") + e.run(2.5) + app::twice(argc) + app::twice(1.5) == 0;
}
"""


def test_classes(probescope, tmp_path):
    """C++: overloads, of which one has what is asked for; members behind ``this``, inherited ones; templates; statics
    of a class."""
    (tmp_path / "c.cc").write_text(CPP_SOURCE)
    subprocess.run(["g++", "-g", "-O1", "-o", "c", "c.cc"], check=True, cwd=tmp_path, timeout=300)
    path = str(tmp_path / "c")
    wanted = "app::Engine::run x this->size this->id this->label:string app::Engine::total"
    done = probescope("probe", "-x", path, wanted, "app::twice<int> v", "--", path)
    assert "left out at one of 2 places: run has no variable x" in done.stderr
    assert arguments(done.stdout) == ['x=3 size=1 id=4 label="eng" total=9', "v=1"]
    assert "app::Engine::run(double)\n" in probescope("probe", "-x", path, "-F", "*run*").stdout


def test_what_a_killed_recording_leaves(programs, probescope, tmp_path, cache):
    """The event that it had borrowed is removed by the next run, or by doctor --clean."""
    import signal

    event = f"probe({programs['fast']} work n)"
    command = [
        sys.executable,
        "-m",
        "probescope",
        "record",
        "-q",
        "-o",
        str(tmp_path / "p"),
        "-e",
        event,
        "--",
        "sleep",
        "60",
    ]
    for finish in ("next run", "doctor"):
        child = subprocess.Popen(command, env={**os.environ, "XDG_CACHE_HOME": cache})
        while "probe_fast/work" not in UPROBE_EVENTS.read_text():
            assert child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait(300)
        assert "probe_fast/work" in UPROBE_EVENTS.read_text()
        if finish == "doctor":
            probescope("doctor", "--clean")
        else:  # its event has the name that it always has, and no number
            assert ",probe_fast:work," in probescope("stat", "-x", ",", "-e", event, "--", "true").stderr
        assert "probe_fast/work" not in UPROBE_EVENTS.read_text()
