"""However a session is asked to end, it ends in good order, says what it knows, and leaves nothing."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import ATTACHED, COMMAND, Running, Stream, Waiting, environment, until


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_collect_signal_ends_in_good_order(number: int) -> None:
    """SIGINT, SIGTERM and the end of the terminal: END runs, maps are printed, exit code 0."""
    with Waiting(work(), "getppid", "10", stay=True) as target:
        program = (
            f"tracepoint:syscalls:sys_enter_getppid /pid == {target.pid}/ {{ @ = count(); }} "
            'END { printf("end\\n"); }'
        )
        with Running(program) as session:
            target.go()
            done = session.stop(number)
    assert done.code == 0
    assert done.lines == ["end", "", "@: 10"]


def test_collect_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    """Who presses Ctrl-C twice does not wait for anything: here for an END that takes for ever."""
    note = tmp_path / "pid"
    program = f"""tracepoint:syscalls:sys_enter_getppid {{ @ = count(); }}
        END {{ system("echo $$ > {note}.new; mv {note}.new {note}; exec sleep 1000"); }}"""
    with Running(program, "--unsafe") as session:
        session.process.send_signal(signal.SIGINT)
        until(note.exists, "END did not begin")
        session.process.send_signal(signal.SIGINT)
        assert session.process.wait(300) == -signal.SIGINT
        os.kill(int(note.read_text()), signal.SIGKILL)


def test_collect_reader_goes_away() -> None:
    """``probescope run ... | head -1``: no complaint, no traceback, and the session ends by itself."""
    program = "'tracepoint:raw_syscalls:sys_enter { printf(\"%d\\n\", pid); }'"
    shell = " ".join([*COMMAND, "-q", "-e", program, "| head -1"])
    args = ["bash", "-c", f"{shell}; echo ${{PIPESTATUS[0]}}"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300, env=environment(), check=False)
    assert re.fullmatch(r"\d+\n141\n", done.stdout)
    assert done.stderr == ""


def test_collect_interrupt_at_a_terminal_with_a_child() -> None:
    """Ctrl-C at a terminal reaches the command of -c as well: the session still prints its maps and ends with 0."""
    main, other = pty.openpty()
    args = [*COMMAND, "-c", "sleep 100", "-e", "tracepoint:sched:sched_process_exec /pid == cpid/ { @ = count(); }"]
    process = subprocess.Popen(
        ["setsid", "--ctty", *args], stdin=other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    os.close(other)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = Stream(process.stdout), Stream(process.stderr)
        assert err.until(ATTACHED)
        until(lambda: _runs_sleep(process.pid), "the command was not started")
        os.write(main, b"\x03")
        assert process.wait(300) == 0
        assert out.whole().strip() == "@: 1"
        assert err.whole().strip() == "Attached 1 probe"
    finally:
        process.kill()
        process.wait()
        os.close(main)


def _runs_sleep(pid: int) -> bool:
    listed = subprocess.run(["pgrep", "-P", str(pid), "-x", "sleep"], capture_output=True, check=False)
    return listed.returncode == 0


def test_collect_interrupt_of_a_background_job() -> None:
    """Shells start background jobs of scripts with SIGINT ignored; their ``kill -INT $!`` ends the session, as it ends
    bpftrace and perf."""
    args = [*COMMAND, "-e", 'tracepoint:syscalls:sys_enter_getppid { @ = count(); } END { printf("end\\n"); }']
    process = subprocess.Popen(
        args,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
    )
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = Stream(process.stdout), Stream(process.stderr)
    assert err.until(ATTACHED)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 0
    assert out.whole().startswith("end\n")
    err.whole()


def test_collect_self_signal_probe() -> None:
    """``self:signal:SIGUSR1`` runs its clause in the middle of a session."""
    program = 'self:signal:SIGUSR1 { printf("hit %d\\n", ++@n); } tracepoint:sched:sched_switch { @m = count(); }'
    with Running(program) as session:
        for n in (1, 2):
            session.process.send_signal(signal.SIGUSR1)
            assert session.out.until(re.compile(f"hit {n}\n"))
        done = session.stop()
    assert done.lines[:2] == ["hit 1", "hit 2"]


def test_collect_interrupt_before_anything_is_attached() -> None:
    """A signal during start-up ends it quietly."""
    process = subprocess.Popen(
        [*COMMAND, "-e", "tracepoint:syscalls:* { @[probe] = count(); }"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        for delay in (0.02, 0.1, 0.1):
            time.sleep(delay)  # at some moment of its start, whichever
            process.send_signal(signal.SIGINT)
            if process.poll() is not None:
                break
        _, err = process.communicate(timeout=300)
    finally:
        process.kill()
    # before our first line it is Python that says what it was about to import
    assert b"Traceback" not in err or b"/probescope/" not in err


def test_collect_nohup_goes_on() -> None:
    """A session that was started to survive its terminal does."""
    args = [*COMMAND, "-e", 'interval:ms:5 { printf("on\\n"); }']
    process = subprocess.Popen(
        args,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509
    )
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = Stream(process.stdout), Stream(process.stderr)
    assert err.until(ATTACHED)
    process.send_signal(signal.SIGHUP)
    seen = len(out.text)
    assert out.until(re.compile(f".{{{seen + 20}}}", re.DOTALL)), "it ended"
    process.send_signal(signal.SIGTERM)
    assert process.wait(300) == 0
    out.whole()
    err.whole()


def test_collect_command_that_will_not_end(tmp_path: Path) -> None:
    """A command that ignores SIGTERM does not keep the session for ever: it is killed after a second."""
    note = tmp_path / "pid"
    command = f"sh -c 'trap \"\" TERM; echo $$ > {note}; while :; do sleep 0.05; done'"
    with Running("tracepoint:sched:sched_switch { @ = count(); } END { clear(@); }", "-c", command) as session:
        until(lambda: note.exists() and note.read_text().strip(), "the command did not start")
        done = session.stop(signal.SIGINT)
    assert done.code == 0
    assert not os.path.exists(f"/proc/{note.read_text().strip()}")
