"""Output formats on this kernel: what is written is whole, whatever ends the session."""

import csv
import io
import json
import os
import re
import signal
import subprocess

import pytest
from collect_run import COMMAND, environment, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads BPF programs")

CALLS = "tracepoint:raw_syscalls:sys_enter { @[pid, comm] = count(); @[pid, comm] = count(); }"
FRAME = re.compile(r"[^;\n]+(;[^;\n]+)* \d+")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_json_array_is_whole_after_a_signal(number):
    with subprocess.Popen(
        [*COMMAND, "-f", "json-array", "-e", CALLS], stdout=subprocess.PIPE, env=environment(), text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline() + process.stdout.readline()
        process.send_signal(number)
        document = json.loads(first + process.stdout.read())
    assert [d["type"] for d in document] == ["attached_probes", "map"]


def test_json_array_to_a_reader_that_goes():
    """A broken pipe is no reason for a traceback."""
    with subprocess.Popen(
        [*COMMAND, "-f", "json-array", "-e", 'interval:ms:1 { printf("%s\\n", "x"); }'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"[\n"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 141


def test_folded_stacks_of_kernel_and_user():
    """Kernel frames are below the user frames that called them, and marked."""
    done = run(
        'BEGIN { printf("hello\\n"); } tracepoint:syscalls:sys_enter_getppid { @[comm, kstack, ustack] = count(); }',
        "-f",
        "folded",
        "-c",
        "python3 -c 'import os; [os.getppid() for i in range(50)]'",
    )
    assert done.code == 0
    assert "hello" in done.err
    assert done.lines
    assert all(FRAME.fullmatch(line) for line in done.lines)
    mine = [line for line in done.lines if line.startswith("python3;")]
    assert sum(int(line.rpartition(" ")[2]) for line in mine) >= 50
    assert any("do_syscall_64_[k]" in line or "el0_svc_[k]" in line for line in mine)


def test_map_formats():
    """CSV has the names of the key; a format of its own prints as it says; the script may choose as well."""
    program = 'BEGIN { $comm = "x"; @reads[255, $comm] = 3; @a = avg(3); @a = avg(4); '
    done = run(program + "exit(); }", "--map-format", "csv", "--map-format", "@a=mean %.2f")
    assert done.lines[0] == "mean 3.50"
    assert list(csv.DictReader(io.StringIO("\n".join(done.lines[1:])))) == [
        {"map": "@reads", "key0": "255", "comm": "x", "value": "3"}
    ]
    done = run(program + 'print(@reads, "%#x %s=%d"); clear(@reads); clear(@a); }')
    assert done.lines[0] == "0xff x=3"
    done = run("config = { map_format = table } " + program + "clear(@a); }")
    assert done.lines[:4] == ["", "@reads", "key0  comm  value", " 255  x         3"]


def test_wrong_map_formats_are_refused_with_what_would_do():
    done = run("BEGIN { @x[1] = 2; }", "--map-format", "@y=%d")
    assert (done.code, done.err) == (2, "ERROR: --map-format: the program has no map @y\nHINT: it has @x\n")
    done = run('BEGIN { @x["a"] = 2; print(@x, "%d %d"); }')
    assert done.code == 1
    assert "'%d' cannot print a value of type 'string[2]'" in done.err


def test_max_bpf_progs():
    """A limit of the configuration, from the environment here; it says how to raise it."""
    program = "tracepoint:sched:sched_switch { print(args.prev_pid); } tracepoint:sched:sched_wakeup { @ = count(); }"
    done = run(program, env={"BPFTRACE_MAX_BPF_PROGS": "1"})
    assert done.code == 1
    assert "max_bpf_progs = 2" in done.err
