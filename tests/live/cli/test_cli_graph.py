"""``probescope graph`` of a program's functions, where there is no function_graph: calls as they are in its source."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from probescope.kernel import tracefs

SOURCE = r"""
#include <unistd.h>
__attribute__((noinline)) int parse_number(int x) { __asm__ volatile(""); return x * 2; }
__attribute__((noinline)) int parse_line(int x)
{
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += parse_number(i + x);
	__asm__ volatile("");
	return sum;
}
int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < 4; i++)
		sum += parse_line(i);
	while (argc > 2)
		parse_line(0);
	while (argc > 1)
		pause();
	return sum == 60 ? 7 : 1;
}
"""
LINE = re.compile(r" *\d+\) (.{11}) {2,}\|  ( *)(\S.*)")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    (folder / "parser.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-o", folder / "parser", folder / "parser.c"], check=True)
    return str(folder / "parser")


def graph(*argv, code=None):
    command = [sys.executable, "-m", "probescope", "graph", *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr
    assert code is None or done.returncode == code, done.stderr
    return done


def test_the_tree_of_a_program(program):
    """Four lines of three numbers each. It ends with 7, as its sum is 60: 4 * (0 + 2 + 4) + 6 * (1 + 2 + 3)."""
    done = graph("-x", program, "parse_*", "--", program, code=7)
    body = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    shapes = [re.sub(r"^.*\|  ", "", line) for line in body]
    assert shapes == ["parse_line() {", "  parse_number();", "  parse_number();", "  parse_number();", "}"] * 4


def test_totals_of_a_program(program):
    done = graph("-x", program, "parse_*", "--summary", "-f", "json", "--", program, code=7)
    totals = {d["function"]: d for d in map(json.loads, done.stdout.splitlines())}
    assert {name: d["calls"] for name, d in totals.items()} == {"parse_line": 4, "parse_number": 12}
    inner = totals["parse_number"]["total_ns"]
    assert totals["parse_line"]["own_ns"] == totals["parse_line"]["total_ns"] - inner > 0
    assert sum(n for _, n in totals["parse_number"]["hist"]) == 12


READER = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) int parse_number(int fd)
{
	char b[16];
	__asm__ volatile("nop");
	return read(fd, b, 16);
}
__attribute__((noinline)) int parse_line(const char *name)
{
	int fd = open(name, O_RDONLY), n = parse_number(fd);
	close(fd);
	return n;
}
int main(int argc, char **argv)
{
	getppid();
	int n = parse_line(argv[0]);
	getppid();
	return n + parse_line(argv[0]) != 32;
}
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    (folder / "reader.c").write_text(READER)
    subprocess.run(["gcc", "-O1", "-o", folder / "reader", folder / "reader.c"], check=True)
    return str(folder / "reader")


def test_what_the_kernel_does_below_a_program(reader):
    """Where there is nothing else, system calls: as the source has them, and none of those outside of its functions
    (getppid, the loader's), nor those that probed functions make without knowing (uretprobe)."""
    done = graph("-x", reader, "parse_*", "--kernel", "--via", "syscalls", "--retval", "--", reader, code=0)
    assert "WARNING" not in done.stderr
    body = [line.rpartition("|  ")[2] for line in done.stdout.splitlines() if not line.startswith("#")]
    once = [
        "parse_line() {",
        "  sys_openat(); /* = 0x3 */",
        "  parse_number() {",
        "    sys_read(); /* = 0x10 */",
        "  } /* parse_number = 0x10 */",
        "  sys_close(); /* = 0x0 */",
        "} /* parse_line = 0x10 */",
    ]
    assert body == once * 2
    assert len(re.findall(r" reader-\d+ +\| .*\|  parse_line\(\) \{", done.stdout)) == 2


def test_documents_tell_the_kernel_from_the_program(reader, tmp_path):
    argv = ("-x", reader, "parse_*", "--kernel", "--via", "syscalls")
    done = graph(*argv, "-f", "json", "--depth", "1", "--", reader, code=0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(r["function"], r["space"], r["depth"]) for r in rows} == {
        ("parse_line", "user", 0),
        ("parse_number", "user", 1),
        ("sys_read", "kernel", 2),
        ("sys_openat", "kernel", 1),
        ("sys_close", "kernel", 1),
    }
    folded = tmp_path / "t.folded"
    graph(*argv, "--flame", str(folded), "--", reader, code=0)
    assert {line.rpartition(" ")[0] for line in folded.read_text().splitlines()} == {
        "parse_line",
        "parse_line;parse_number",
        "parse_line;parse_number;sys_read_[k]",
        "parse_line;sys_close_[k]",
        "parse_line;sys_openat_[k]",
    }


@pytest.mark.parametrize(
    ("argv", "said", "hint"),
    [
        (("vfs_read", "--", "true"), "vfs_read cannot be traced", "-x PROGRAM"),
        (("*", "--yes-really", "--", "true"), "cannot be traced", "-x PROGRAM"),
        (("vfs_read", "--via", "ftrace", "--", "true"), "no function_graph", "without --via ftrace"),
        (("-x", "READER", "parse_*", "--kernel", "vfs_read", "--", "true"), "vfs_read cannot", "system calls"),
        (("-x", "READER", "parse_*", "--kernel", "--via", "ftrace", "--", "true"), "no function_graph", "probes"),
    ],
)
def test_what_this_kernel_lacks_is_told(reader, argv, said, hint):
    if "function_graph" in tracefs.tracers():
        pytest.skip("this kernel has function_graph: tests/kernels are for it")
    done = graph(*(reader if w == "READER" else w for w in argv))
    assert done.returncode in {1, 2}
    error, hints = done.stderr.split("HINT", 1)
    assert said in error
    assert hint in hints


def test_levels_of_calls(reader):
    rows = graph("-x", reader, "parse_*", "-f", "json", "--depth", "1", "--", reader, code=0).stdout.splitlines()
    assert [json.loads(line)["function"] for line in rows] == ["parse_line"] * 4


def test_who_called_whom(program, tmp_path):
    done = graph("-x", program, "parse_*", "--callers", "--flame", str(tmp_path / "t.folded"), "--", program, code=7)
    assert "parse_number <- parse_line" in done.stdout
    assert "parse_line <- (not traced)" in done.stdout
    stacks = [line.rpartition(" ")[0] for line in (tmp_path / "t.folded").read_text().splitlines()]
    assert stacks == ["parse_line", "parse_line;parse_number"]


def test_ctrl_c_ends_it_with_what_was_seen(program):
    command = [sys.executable, "-m", "probescope", "graph", "-x", program, "parse_*", "--", program, "wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(4 + 15)]  # the head, and three of the four lines
        process.send_signal(signal.SIGINT)
        rest, errors = process.stdout.read(), process.stderr.read()
    assert "Traceback" not in errors
    assert sum("parse_number();" in line for line in [*lines, *rest.splitlines()]) == 12


def test_a_program_that_never_sleeps_is_ended_at_once(program):
    """What is in the ring when the end is asked for is shown, and no more; what it had no room for is told once."""
    command = [sys.executable, "-m", "probescope", "graph", "-x", program, "parse_*", "--", program]
    with subprocess.Popen([*command, "over", "and", "over"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(30_000):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            shown, errors = process.communicate(timeout=300)  # the program would go on for ever
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0
    assert len(shown) < 8 << 20, "more than the ring holds"
    lost = [line for line in errors.decode().splitlines() if line.startswith("LOST")]
    assert len(lost) <= 1, lost


CPP = """
namespace shop {
struct Cart {
	int sum = 0;
	__attribute__((noinline)) void add(int n) { sum += n; asm volatile("" ::: "memory"); }
};
template <class T> __attribute__((noinline)) T twice(T n) { asm volatile("" : "+r"(n)); return 2 * n; }
}
int main() { shop::Cart c; for (int i = 0; i < 3; i++) c.add(shop::twice<int>(i)); return c.sum == 6 ? 0 : 1; }
"""


@pytest.mark.parametrize("pattern", ["shop::*", "*shop*"])
def test_functions_of_cpp(tmp_path, pattern):
    """They are asked for as people write them, or by their names in the file, and shown without parameters."""
    (tmp_path / "cart.cc").write_text(CPP)
    subprocess.run(["g++", "-O1", "-o", tmp_path / "cart", tmp_path / "cart.cc"], check=True)
    done = graph("-x", str(tmp_path / "cart"), pattern, "--summary", "--", str(tmp_path / "cart"), code=0)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert sorted((row[0], row[-1]) for row in rows) == [("3", "shop::Cart::add"), ("3", "shop::twice<int>")]


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        ((), "which function"),
        (("-x", "/no/such/file", "f"), "/no/such/file"),
        (("-x", "PROGRAM", "no_such_*", "--", "true"), "no_such_"),
        (("f", "--depth", "x"), "levels"),
        (("f", "--depht", "3"), "--depth"),
        (("f", "--kernel", "vfs_read"), "-x FILE"),
        (("-x", "PROGRAM", "parse_*", "-o", "x.dat", "--", "true"), "trace.dat"),
        (("*",), "--yes-really"),
        (("f", "-p", "12,x"), "pid"),
    ],
)
def test_mistakes_are_told(program, argv, word):
    done = graph(*(program if w == "PROGRAM" else w for w in argv))
    assert done.returncode in {1, 2}  # 1: nothing to trace
    assert word in done.stderr
    assert "printf" not in done.stderr  # the program behind it is nobody's business
