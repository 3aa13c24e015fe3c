"""``probescope top`` on this machine: as text, on a screen that a test drives, and on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from loops import run_here

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler is not installed")
SOURCE = """
volatile unsigned long sum;
__attribute__((noinline)) void spin(int n) { for (int i = 0; i < n; i++) sum += i * sum; }
__attribute__((noinline)) void around(void) { spin(100000); sum++; }
int main(void) { for (;;) around(); }
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder: Path = tmp_path_factory.mktemp("top")
    (folder / "spinner.c").write_text(SOURCE)
    build = ["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "spinner", "spinner.c"]
    subprocess.run(build, check=True, cwd=folder, timeout=300)
    process = subprocess.Popen([str(folder / "spinner")])
    yield process.pid
    process.kill()
    process.wait()


def words(pid: int, *more: str) -> list[str]:
    return ["-p", str(pid), "-e", "cpu-clock", "-F", "500", "-d", "0.3", *more]


# --- text


def test_text(busy: int) -> None:
    """The function that is busy comes first; two looks and the end."""
    command = [sys.executable, "-m", "probescope", "top", "--stdio", "--times", "2", "-n", *words(busy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    looks = re.findall(r"([\d,]+) samples of cpu-clock, 500 Hz, \d+ CPUs, lost: 0\n\n(.*\n.*)\n", done.stdout)
    assert len(looks) == 2
    for count, table in looks:
        assert int(count.replace(",", "")) > 0
        assert re.search(r"Overhead +Samples +Shared Object +Symbol\n +\d+\.\d+% +\d+ +spinner +\[\.\] spin", table)


def test_text_with_call_graphs_and_without_the_kernel(busy: int) -> None:
    command = [sys.executable, "-m", "probescope", "top", "--stdio", "--times", "1", "-g", "-K", *words(busy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "without kernel" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if "%" in line]
    assert {r[-1] for r in rows} >= {"main", "spin"}
    assert not any("[k]" in line for line in done.stdout.splitlines())


def test_ends_when_it_is_asked_to(busy: int) -> None:
    command = [sys.executable, "-m", "probescope", "top", "--stdio", *words(busy)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "samples of" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 0


def test_wrong_words() -> None:
    command = [sys.executable, "-m", "probescope", "top", "--stdio", "-s", "srcline"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "'srcline' is no key" in done.stderr


# --- the screen


def test_keys(busy: int) -> None:
    """Zoom, filter, call graph, pause, help and quitting, as typed."""
    run_here(_typed(busy))


async def _typed(busy: int) -> None:
    from probescope.cli import top
    from probescope.cli.top_live import Live
    from probescope.cli.top_screen import Code, Help, Screen

    asked = words(busy, "-g", "-s", "dso,symbol")
    args = top.parser().parse_args(asked)
    live = Live(args, top._wanted(args, asked), 0.2)
    app = Screen(live, top._view(args), args)
    async with app.run_test(size=(120, 40)) as pilot:

        async def until(true: object, about: str) -> None:
            for _ in range(1200):
                if true():  # type: ignore[operator]
                    return
                await pilot.pause(0.05)
            pytest.fail(about)

        def names() -> list[str]:
            return [r.key[-1] for r in app.shown if r is not None]

        await until(lambda: any("spin" in n for n in names()), "no rows")
        await pilot.press("enter")
        await until(lambda: any(r is not None and r.graph for r in app.shown), "no call graph")
        await pilot.press("C", "c")
        await until(lambda: not app.view.children and "spin" in names()[0], "own weights")
        await pilot.press("t")
        await until(lambda: any(n.endswith("spinner") for n in names()), "threads")
        await pilot.press("t")
        await until(lambda: app.view.tid == busy and any("spin" in n for n in names()), "one thread")
        await pilot.press("slash", *"spi", "enter")
        await until(lambda: app.view.typed == "spi" and names() and all("spi" in n for n in names()), "filter")
        await pilot.press("escape", "escape")
        await until(lambda: not app.view.typed and app.view.tid == -1, "back")
        await pilot.press("slash", *"[.] spin", "enter")
        await until(lambda: app.view.typed == "[.] spin" and names() and names()[0].endswith("spin"), "one row")
        await pilot.press("a")
        await until(lambda: isinstance(app.screen, Code) and "imul" in app.screen.text, "code")
        looks = app.looks
        await until(lambda: app.looks > looks + 1, "looks go on below")
        await pilot.press("a")
        await until(lambda: isinstance(app.screen, Code) and "spin" in app.screen.text, "code again")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, Code), "no more code")
        await pilot.press("escape", "p")
        await until(lambda: app.paused, "pause")
        await pilot.press("h")
        await until(lambda: isinstance(app.screen, Help), "help")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, Help), "no more help")
        await pilot.press("q")
    app.join()
    live.close()
    assert app.failed is None


# --- a terminal


@pytest.mark.parametrize("how", ["q", "TERM", "HUP", "stopped"])
def test_the_terminal_is_left_as_it_was(busy: int, how: str) -> None:
    """However it ends; also after it was resized, and stopped for a while."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "probescope", "top", *words(busy)]
    env = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    try:
        seen = _until(ours, b"spin", b"")
        assert termios.tcgetattr(theirs) != before  # keys come at once, and are not echoed
        termios.tcsetwinsize(theirs, (12, 60))
        process.send_signal(signal.SIGWINCH)
        if how == "stopped":
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            process.send_signal(signal.SIGCONT)
            seen = _until(ours, b"spin", b"")
        if how in {"q", "stopped"}:
            os.write(ours, b"q")
        else:
            process.send_signal(signal.Signals[f"SIG{how}"])
        seen = _until(ours, b"\x1b[?1049l", seen)
        while process.poll() is None:  # what it says on its way out must not fill the terminal
            if select.select([ours], [], [], 0.1)[0]:
                seen += os.read(ours, 1 << 16)
        assert process.returncode == 0
        assert termios.tcgetattr(theirs) == before
        assert seen.rfind(b"\x1b[?25h") > seen.rfind(b"\x1b[?25l")  # the cursor is shown again
    finally:
        process.kill()
        process.wait()
    os.close(ours)
    os.close(theirs)


def test_input_that_ends(busy: int) -> None:
    """Nobody can type anything any more: it goes on as text, until it is told to end."""
    command = [sys.executable, "-m", "probescope", "top", "--times", "1", *words(busy)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=True)
    assert "spin" in done.stdout


def test_a_terminal_that_goes_away(busy: int) -> None:
    """As when a window is closed: it ends by itself, and nothing stays behind."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    command = [sys.executable, "-m", "probescope", "top", *words(busy)]
    env = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    _until(ours, b"spin", b"")
    os.close(ours)
    try:
        process.wait(timeout=300)
    finally:
        process.kill()


def _until(fd: int, wanted: bytes, seen: bytes) -> bytes:
    while wanted not in seen:
        assert select.select([fd], [], [], 100)[0], f"{wanted!r} never came"
        seen += os.read(fd, 1 << 16)
    return seen
