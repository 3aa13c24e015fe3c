"""Names of strangers on a terminal: shown, not obeyed. A file or pipe gets the very bytes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from collect_run import COMMAND, PATIENCE, command, environment

EVIL = b"\x1b[31mX\x07\xff"
RAW, SHOWN = "<\x1b[31mX\x07\udcff>", r"<\x1b[31mX\x07\xff>"
PROGRAM = """tracepoint:syscalls:sys_enter_getppid /pid == cpid/ {
    printf("<%s>\\n", comm); print((1, comm)); @[comm] = count(); errorf("<%s>", comm); cat("/proc/self/comm");
}"""


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A command whose process calls itself by what would turn a terminal red and ring its bell (prctl(2),
    PR_SET_NAME is 15)."""
    script = tmp_path_factory.mktemp("stranger") / "evil.py"
    script.write_text(f"import ctypes, os\nctypes.CDLL(None).prctl(15, {EVIL!r}, 0, 0, 0)\nos.getppid()\n")
    return f"{sys.executable} -S {script}"


def on_terminal(*args: str) -> str:
    """What arrives at a terminal that is both standard output and standard error."""
    main, tty = pty.openpty()
    process = subprocess.Popen([*COMMAND, *args], stdin=tty, stdout=tty, stderr=tty, env=environment())
    os.close(tty)
    data = b""
    try:
        while part := os.read(main, 1 << 16):
            data += part
    except OSError:  # the last one who had it open is gone
        pass
    finally:
        os.close(main)
    assert process.wait(PATIENCE) == 0, data
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def test_collect_a_terminal_gets_no_control_characters(stranger: str) -> None:
    """By every way that a text takes: printf, tuples, keys of maps, messages; what the script itself writes goes."""
    shown = on_terminal("-e", PROGRAM.replace("<", "\\033[1m<", 1), "-c", stranger)
    assert "\x1b[1m" + SHOWN in shown
    assert f"(1, {SHOWN[1:-1]})" in shown
    assert f"@[{SHOWN[1:-1]}]: 1" in shown
    assert f"ERROR: {SHOWN}" in shown
    assert EVIL.decode("utf-8", "surrogateescape") not in shown
    assert "\x07" not in shown


def test_collect_who_wants_them_gets_them(stranger: str) -> None:
    shown = on_terminal("--raw", "-e", PROGRAM, "-c", stranger)
    assert RAW in shown


def test_collect_a_pipe_gets_the_very_bytes(stranger: str) -> None:
    done = command(["-e", PROGRAM, "-c", stranger])
    assert RAW in done.out
    assert f"@[{RAW[1:-1]}]: 1" in done.out


def test_collect_a_script_of_a_strange_name(tmp_path: Path) -> None:
    """Messages repeat the name of the script: on a terminal it commands nothing, and a document stays UTF-8."""
    script = os.fsencode(tmp_path) + b"/\x1b]0;x\x07\xff.bt"
    with open(script, "w") as f:
        f.write("begin { $z = 0; print(1 / $z); exit(); }")
    name = os.fsdecode(script)
    assert r"\x1b]0;x\x07\xff.bt:1:" not in command([name]).err
    shown = on_terminal(name)
    assert r"\x1b]0;x\x07\xff.bt:1:" in shown
    assert "\x1b" not in shown
    documents = subprocess.run([*COMMAND, "-f", "json", name], capture_output=True, env=environment(), check=True)
    assert r"\u0007\\xff.bt:1:" in documents.stdout.decode("utf-8", "strict")
