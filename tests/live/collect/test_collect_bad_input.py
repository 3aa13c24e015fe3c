"""What a user gets wrong, and what lies on disks, gives one error that says what and where, soon, and no traceback."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import COMMAND, command, environment, run


def binaries(folder: Path) -> dict[str, Path]:
    """Files that are no healthy programs."""
    whole = Path(work()).read_bytes()
    header = bytearray(whole[:64])
    many_sections = bytes(header[:60]) + struct.pack("=H", 0xFFFF) + bytes(header[62:]) + whole[64:]
    far_sections = bytes(header[:40]) + struct.pack("=Q", 1 << 62) + bytes(header[48:]) + whole[64:]
    made = {
        "truncated": whole[: len(whole) // 3],
        "header only": whole[:64],
        "magic only": b"\x7fELF",
        "text": b"#!/bin/sh\necho no\n",
        "empty": b"",
        "noise": bytes((i * 7919 + 13) % 256 for i in range(50_000)),
        "noise with magic": b"\x7fELF" + bytes((i * 7919 + 13) % 256 for i in range(50_000)),
        "many sections": many_sections,
        "sections far away": far_sections,
    }
    for name, data in made.items():
        (folder / name.replace(" ", "-")).write_bytes(data)
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    return {p.name: p for p in folder.iterdir()}


def test_collect_hostile_binaries(tmp_path: Path) -> None:
    """uprobes and USDT on each of them: an error at the probe's place, exit code 1, at once."""
    for name, path in binaries(tmp_path).items():
        for probe in (f"uprobe:{path}:innermost", f"uprobe:{path}:inner*", f"usdt:{path}:*", f"usdt:{path}:work:plain"):
            done = run(f"{probe} {{ @ = count(); }}", timeout=300)
            assert done.code == 1, (name, probe, done.out, done.err)
            assert done.err.startswith("stdin:1:1-"), (name, probe, done.err)
            assert "bug" not in done.err, (name, probe, done.err)


@pytest.mark.parametrize("probe", ["tracepoint:raw_syscalls:sys_enter", "tracepoint:syscalls:sys_enter_read"])
def test_collect_all_arguments_of_a_tracepoint(probe: str) -> None:
    """``args`` as a whole has nothing in it that the kernel forbids programs to read."""
    done = run(f"{probe} {{ print(args); @x = args; exit(); }}", "-c", f"{work()} 1")
    assert (done.code, done.said) == (0, "")
    assert "common_" not in done.out


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("tracepoint:raw_syscalls:sys_entr { }", "did you mean tracepoint:raw_syscalls:sys_enter"),
        ("tracepoint:raw_sycalls:sys_enter { }", "there is no tracepoint raw_sycalls:sys_enter"),
        ("tracepoint:raw_syscalls:sys_enter { @ = args.idd; }", "id"),
        ("tracepoint:raw_syscalls:sys_enter { @ = args.common_pid; }", "BPF does not support accessing common"),
        ("tracepoint:syscalls:sys_exit_read { @ = args.common_type; }", "--via perf"),
        ("uprobe:WORK:innermos { }", "did you mean uprobe:WORK:innermost"),
        ("uprobe:/no/such/file:f { }", "there is no file /no/such/file"),
        ("usdt:WORK:work:plane { }", "plain"),
        ('BEGIN { printff("x"); }', "printf"),
        ('BEGIN { @x = 1; @x = "a"; }', "@x"),
        ('BEGIN { @x[1] = 1; @x["a"] = 1; }', "@x"),
        ("BEGIN { print(@nope); }", "nope"),
        ("watchpoint:0x1000:3:w { }", "watchpoint length 3"),
        ("profile:hz:0 { }", "profile"),
        ("kprobes:f { }", "kprobe"),
        ("BEGIN { $x = 1 +; }", "syntax error"),
        ("BEGIN { @ = 1; ", "expected '}'"),
        ("", "no probes"),
    ],
)  # fmt: skip
def test_collect_one_diagnostic_with_the_nearest_names(program: str, said: str) -> None:
    """Each mistake: the line, a caret, what is wrong, and what was probably meant."""
    done = run(program.replace("WORK", work()))
    assert done.code == 1
    assert done.out == ""
    assert said.replace("WORK", work()) in done.err
    assert done.err.count("ERROR") == 1


def test_collect_enormous_scripts(tmp_path: Path) -> None:
    """10,000 lines run; expressions nested or chained without end are an error; all within seconds."""
    long = tmp_path / "long.bt"
    long.write_text("BEGIN {\n" + "".join(f"  @x[{i}] = {i};\n" for i in range(4000)) + "}\n" + "// a line\n" * 6000)
    done = command([str(long), "-q"], timeout=300)
    assert done.code == 0
    assert "@x[3999]: 3999" in done.lines
    for text in ("(" * 1000 + "1" + ")" * 1000, "1" + " + 1" * 5000, "-" * 5000 + "1", "1" + " ? 1 : 0" * 2000):
        done = run(f"BEGIN {{ $x = {text}; exit(); }}", timeout=300)
        assert done.code in (0, 1)
        assert "bug" not in done.err
    nested = "if (1) { " * 500 + "}" * 500
    assert "bug" not in run(f"BEGIN {{ {nested} exit(); }}", timeout=300).err


def test_collect_without_privileges() -> None:
    """As root without capabilities: what to grant, ready to be pasted. Of what no other collector could answer either:
    ftrace would count, but has no stacks of users."""
    args = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *COMMAND, "-e"]
    program = "tracepoint:raw_syscalls:sys_enter { @[ustack(1)] = count(); }"
    done = subprocess.run([*args, program], capture_output=True, text=True, env=environment(), timeout=300, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "CAP_BPF" in done.stderr
    assert "sudo" in done.stderr


def test_collect_begin_needs_no_privileges() -> None:
    """What user space runs alone needs nothing from the kernel."""
    args = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *COMMAND, "-q", "-e"]
    program = 'BEGIN { printf("%d\\n", 6 * 7); exit(); }'
    done = subprocess.run([*args, program], capture_output=True, text=True, env=environment(), timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "42\n")


def test_collect_script_without_end() -> None:
    """What never ends is read as far as a script may be long, and /dev/zero is none."""
    with subprocess.Popen(["yes", "// nothing"], stdout=subprocess.PIPE) as endless:
        line = [*COMMAND, "/dev/stdin"]
        done = subprocess.run(line, stdin=endless.stdout, capture_output=True, text=True, timeout=300, check=False)
        endless.kill()
    assert (done.returncode, "the script is longer than" in done.stderr) == (1, True), done.stderr
    done = command(["/dev/zero"])
    assert (done.code, done.err) == (2, "ERROR: /dev/zero is no text\n")


def test_collect_absurd_process_ids() -> None:
    for pid, words in (("99999999999999999999", "out of range"), ("-1", "invalid"), ("4194303", "there is no process")):
        done = run("BEGIN { exit(); }", "-p", pid)
        assert (done.code, words in done.err, "bug" in done.err) == (2, True, False), done.err


def test_collect_commands_that_are_no_programs(tmp_path: Path) -> None:
    """What the kernel cannot run is told, not passed over."""
    noise = tmp_path / "noise"
    noise.write_bytes(b"garbage")
    plain = tmp_path / "plain"
    plain.write_bytes(b"#!/bin/sh\n")
    noise.chmod(0o755)
    for path, said in ((noise, "Exec format error"), (plain, "not executable"), (tmp_path, "a directory")):
        done = run("BEGIN { }", "-c", str(path))
        assert (done.code, said in done.err) == (2, True), done.err


def test_collect_many_misspelt_functions_are_told_soon() -> None:
    """Looking for names alike costs a tenth of a second for the first one, not for each."""
    done = run("".join(f"kprobe:vfs_reed{i} {{ }} " for i in range(200)), timeout=300)
    assert done.code == 1
    assert done.err.count("there is no kernel function") == 200


def test_collect_few_descriptors_and_no_working_directory(tmp_path: Path) -> None:
    """What the shell around us lacks is no bug of ours."""
    folder = tmp_path / "gone"
    folder.mkdir()
    for before, program, said in (
        ("ulimit -n 8", "tracepoint:raw_syscalls:sys_enter { @ = count(); }", "ulimit -n 4096"),
        (f"cd {folder}; rmdir {folder}", "uprobe:./x:main { }", "working directory, which is gone"),
    ):
        done = subprocess.run(
            ["sh", "-c", f'{before}; exec "$@"', "sh", *COMMAND, "-e", program],
            capture_output=True,
            text=True,
            timeout=300,
            env=environment(),
            check=False,
        )
        assert (done.returncode, said in done.stderr, "bug" in done.stderr) == (1, True, False), done.stderr
