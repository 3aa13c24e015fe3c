"""``probescope peel`` of a program whose calls are known: as steps, as words, and on a screen that a test drives."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from loops import run_here

from probescope.cli.main import main
from probescope.cli.peel import parse_steps
from probescope.cli.peel_measure import Measuring
from probescope.errors import ProbescopeError, UsageError

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler is not installed")

SOURCE = r"""
#include <errno.h>
#include <string.h>
#define KEPT __attribute__((noinline, noipa))
volatile int sum;
KEPT int price(const char *name) { sum++; return strcmp(name, "gold") ? 3 : -ENOENT; }
KEPT int buy(const char *name, int amount) { int p = price(name); return p < 0 ? p : (sum += p * amount, 1); }
KEPT void customer(int n) { sum += buy("apple", n % 2); }
KEPT void thief(int n) { sum += buy("gold", 7); }
KEPT void idle(void) { sum++; }
int main(int argc, char **argv) {
    for (int i = 0; i < 100; i++) {
        customer(i);
        if (i % 10 == 0) thief(i);
        if (argc > 7) idle();
    }
    return 0;
}
"""


def built(folder: Path, name: str, *options: str) -> str:
    (folder / "shop.c").write_text(SOURCE)
    subprocess.run(["cc", "-O2", *options, "-o", name, "shop.c"], check=True, cwd=folder, timeout=300)
    return str(folder / name)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("peel"), "shop", "-g")


def peel(capsys: pytest.CaptureFixture[str], shop: str, function: str, steps: str) -> list[dict[str, Any]]:
    assert main(["peel", function, "-x", shop, "--steps", steps, "-f", "json", "--", shop]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_layer_of_a_function(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects counts: 100 calls by customers, 10 by thieves, each seen by every step; the callee that its code calls
    is probed and counted."""
    callers, args, time, returns, calls = peel(capsys, shop, "buy", "all")
    assert [(c["function"], c["calls"]) for c in callers["callers"]] == [("customer", 100), ("thief", 10)]
    assert callers["ways"][0]["frames"][:3] == ["buy", "customer", "main"]
    name, amount = args["arguments"]
    assert name["declaration"] == "const char* name"
    assert sum(n for _, n in name["values"]) == 110
    assert dict(map(tuple, amount["values"])) == {"0": 50, "1": 50, "7": 10}
    assert time["count"] == sum(n for _, _, n in time["histogram"]) == 110
    assert 0 < time["min_ns"] <= time["max_ns"]
    assert dict(map(tuple, returns["values"])) == {"1": 100, "-2  ENOENT": 10}
    assert (returns["returns"], returns["errors"]) == (110, 10)
    assert [(c["function"], c["calls"]) for c in calls["calls"]] == [("price", 110)]
    assert all(d["function"] == "buy" and d["file"] == shop for d in (callers, args, time, returns, calls))


def test_up_down_and_back(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the walk: to who calls most, to a caller by its name, down to what takes most time, and back."""
    told = peel(capsys, shop, "price", "callers up callers thief callers back callers down returns")
    assert [d["function"] for d in told] == ["price", "buy", "thief", "buy", "price"]
    assert told[2]["callers"][0]["function"] == "main"
    assert told[2]["calls"] == 10


def test_a_program_without_debug_information(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments are guessed, and marked so; an unknown result is told with errors by name."""
    pytest.importorskip("iced_x86", reason="guesses need iced-x86")
    plain = built(tmp_path, "plain")
    args, returns = peel(capsys, plain, "buy", "args returns")
    assert args["guessed"] is True
    assert len(args["arguments"]) == 2
    assert ["-2  ENOENT", 10] in returns["values"]


def test_the_commands_do_the_same(shop: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Protects what is offered to be copied: each command, and the script of all, finds the same numbers."""
    way = tmp_path / "way.sh"
    words = ["peel", "buy", "-x", shop, "--steps", "callers returns time", "--save", str(way), "--", shop]
    assert main(words) == 0
    commands = [line for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith("$ ")]
    script = way.read_text()
    assert [c.lstrip()[2:] for c in commands] == [x for x in script.splitlines() if x.startswith("probescope")]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(way)], env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=300, check=True
    )
    assert re.search(r"customer\+.*\n(?:.*\n){3,6}\]: 100\n", done.stdout)
    assert "@returns[-2]: 10\n" in done.stdout
    assert "110 spans" in done.stdout


def test_words_from_standard_input(
    shop: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Protects line mode: a first look, a row by its number, a step, a script."""
    way = tmp_path / "way.sh"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"\nhelp\n2\ncallers\nsave {way}\nquit\nnever\n"))
    assert main(["peel", "buy", "-x", shop, "--", shop]) == 0
    out = capsys.readouterr().out
    assert "[2]         10    9.1%  thief" in out
    assert "thief of" in out
    assert "NUMBER, NAME, up, down, back" in out
    assert way.read_text().startswith("#!/bin/sh\n# buy -> thief\n")


def test_a_function_that_is_never_called(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    callers, args, time, returns, calls = peel(capsys, shop, "idle", "all")
    assert (callers["calls"], time["count"], returns["values"]) == (0, 0, [])
    assert args["arguments"] == []
    assert args["guessed"] is False
    assert "calls no function of this file" in calls["why"]
    with pytest.raises(UsageError, match="no function is known that calls"):
        main_raising(["idle", "-x", shop, "--steps", "up", "--", shop])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nothing_like_it", "-x", "SHOP", "--steps", "callers"], "no function"),
        (["buy", "-x", "/no/such/file", "--steps", "callers"], "No such file|does not exist|cannot be read"),
        (["buy", "-x", "SHOP", "--steps", "sideways"], "no step, and no caller"),
        (["buy", "-x", "SHOP", "--steps", " , "], "no step"),
        (["buy", "-x", "SHOP", "--steps", "back"], "the first function"),
        (["buy", "-k", "-x", "SHOP"], "of the kernel, or of a file"),
        (["buy", "-x", "SHOP", "-p", "1", "--", "true"], "a process is looked at, or a command"),
        (["buy", "-x", "SHOP", "--seconds", "-1"], "no number of seconds"),
    ],
)
def test_what_cannot_be(shop: str, words: list[str], why: str) -> None:
    with pytest.raises(ProbescopeError, match=why):
        main_raising([w.replace("SHOP", shop) for w in words])


def main_raising(words: list[str]) -> None:
    from probescope.cli.peel import main as peel_main

    peel_main(words)


def test_of_a_process(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects -p: the file that has the function is found among those of the process."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(UsageError, match="has no function buy"):
            main_raising(["buy", "-p", str(process.pid), "--steps", "callers"])
        assert main(["peel", "nanosleep", "-p", str(process.pid), "--steps", "callers", "--seconds", "0.2"]) == 0
        assert "nanosleep of /" in capsys.readouterr().out
    finally:
        process.kill()
        process.wait()


def test_steps_are_words() -> None:
    assert parse_steps("callers,up args") == ["callers", "up", "args"]
    assert parse_steps("all")[-1] == "calls"


# --- the screen


def test_keys(shop: str, tmp_path: Path) -> None:
    """To a caller by Enter, every step by its key, back, and the script by w."""
    pytest.importorskip("textual", reason="the screen needs textual")
    run_here(_typed(shop, tmp_path / "way.sh"))
    assert (tmp_path / "way.sh").read_text().startswith("#!/bin/sh\n# price -> buy -> price\n")


async def _typed(shop: str, way: Path) -> None:
    from textual.widgets import Input

    from probescope.cli.peel_measure import found, start
    from probescope.cli.peel_screen import Help, Screen
    from probescope.views.peel.program import Who

    app = Screen(found(start("price", shop, 0, False)), Who(0, (shop,), 0.0))
    async with app.run_test(size=(120, 40)) as pilot:

        async def until(true: object, about: str) -> None:
            for _ in range(1200):
                if true():  # type: ignore[operator]
                    return
                await pilot.pause(0.05)
            pytest.fail(about)

        def path() -> list[str]:
            return [s.function for s in app.peeling.walk.path]

        await until(lambda: app.looks == 1, "no first look")
        assert "buy" in app.rows[0].text
        await pilot.press("enter")
        await until(lambda: app.looks == 2, "Enter goes nowhere")
        assert path() == ["price", "buy"]
        for key, text in (("a", "const char* name"), ("t", "110 spans"), ("r", "  1"), ("g", "price")):
            await pilot.press(key)
            await until(lambda: not app.busy and app.rows, f"nothing for {key}")
            await until(lambda text=text: any(text in row.text for row in app.rows), f"{key}: no {text}")
        await pilot.press("m")
        await until(lambda: not app.busy and app.looks == 4, "not measured again")
        await pilot.press("b")
        await until(lambda: app.looks == 5, "no way back")
        assert path() == ["price"]
        await pilot.press("h")
        await until(lambda: isinstance(app.screen, Help), "no help")
        await pilot.press("escape")
        await pilot.press("w")
        typed = app.query_one("#typed", Input)
        assert typed.value == "peel-price.sh"
        typed.value = str(way)
        await pilot.press("enter")
        await until(way.exists, "no script")
        await pilot.press("q")
    app.join()
    assert not app.busy or not app._busy.is_alive()  # type: ignore[union-attr]


ONCE = "import sys; sys.stdin.readline()"


def test_a_process_that_ends_is_told(
    shop: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is looked at, which ends the look, and before: zeros of what is not there would be no answer."""
    before = Measuring._wait
    with subprocess.Popen([sys.executable, "-c", ONCE], stdin=subprocess.PIPE, text=True) as process:

        def wait(self: Measuring, session: Any) -> None:
            process.communicate("\n")
            before(self, session)

        monkeypatch.setattr(Measuring, "_wait", wait)
        words = ["peel", "price", "-x", shop, "-p", str(process.pid), "--steps", "callers", "--seconds", "50"]
        started = time.monotonic()
        assert main(words) == 0
    assert time.monotonic() - started < 50
    found = capsys.readouterr()
    assert f"process {process.pid} ended meanwhile" in found.err
    assert "it was not called meanwhile" in found.out
    assert main(words) == 2
    assert f"process {process.pid} has ended" in capsys.readouterr().err
