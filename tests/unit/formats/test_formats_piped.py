"""Pipes with a path are read as files are, by whoever looks first; standard input may be closed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from probescope.formats.piped import open_again

LINE = "  bash-12  [000] d..2.  100.000001: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> "
TEXT = f"{LINE}next_comm=x next_pid=3 next_prio=120\n"
OURS = [sys.executable, "-m", "probescope"]


def fed(path, data):
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()


def shell(command, **more):
    words = ["sh", "-c", f'exec "$@" {command}', "sh", *OURS]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, **more)


def test_a_fifo_is_there_again(tmp_path):
    """Larger than what a pipe holds; a second look begins at the first byte, and waits for no writer."""
    data = os.urandom(300_000)
    fed(tmp_path / "fifo", data)
    for _ in range(2):
        with open_again(str(tmp_path / "fifo"), buffering=0) as file:
            assert file.seek(0, os.SEEK_END) == len(data)
            file.seek(0)
            assert file.readall() == data


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_again(str(tmp_path / "none"))


@pytest.mark.parametrize(
    "command", ["script -i", "run -e 't:sched:sched_switch { print(str(args.next_comm)); }' -i", "flame -i"]
)
def test_commands_read_fifos(tmp_path, command):
    """None waits for another writer, nor takes the rest of the pipe for all of it."""
    fed(tmp_path / "fifo", TEXT.encode() * 3)
    done = shell(f'{command} "{tmp_path}/fifo"', cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_tables_of_a_fifo(tmp_path):
    fed(tmp_path / "fifo", TEXT.encode() * 3)
    done = shell(f"""query -f csv "{tmp_path}/fifo" 'select next_comm from "sched:sched_switch"'""", cwd=tmp_path)
    assert done.stdout.split() == ["next_comm", "x", "x", "x"], done.stderr


@pytest.mark.parametrize(
    "command", ["script -i -", "report -i -", "graph -i -", "flame -i -", "ftrace report -", "query -"]
)
def test_closed_standard_input_is_an_empty_one(command):
    """It is no bug of ours, and said to be nothing."""
    done = shell(f"{command} <&-")
    assert done.returncode in {1, 2}
    assert "bug" not in done.stderr
    assert done.stderr.startswith("ERROR: ")
