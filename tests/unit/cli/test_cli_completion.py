"""Completion scripts do what the shell asks of them: sourced by real shells, with a ``probescope`` that answers."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from probescope.cli.completion import SHELLS, actions_of
from probescope.cli.main import COMMANDS, main

LISTED = ("tracepoint:sched:sched_swap_numa", "tracepoint:sched:sched_switch", "kprobe:vfs_read")
PRESENT = [s for s in SHELLS if shutil.which(s)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a ``probescope`` that lists three probes, and the scripts of the real one."""
    where = tmp_path_factory.mktemp("completion")
    fake = where / "probescope"
    names = " ".join(LISTED)
    # as the real one: the pattern is a glob, and may still carry the shell's own quotes
    fake.write_text(f'#!/bin/bash\nfor n in {names}; do [[ "$n" == $2 ]] && echo "$n"; done\n')
    fake.chmod(0o755)
    for shell in SHELLS:
        done = subprocess.run(
            [sys.executable, "-m", "probescope", "completion", shell], capture_output=True, check=True, timeout=300
        )
        (where / shell).write_bytes(done.stdout)
    return where


def in_bash(folder, line):
    """What bash would offer for a line with the cursor at its end."""
    script = f"""
        source {folder}/bash
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)} COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        _probescope
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, timeout=300, env=environment
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("probescope ", list(COMMANDS)),
        ("probescope do", ["doctor"]),
        ("probescope nothing", []),
        ("probescope doctor --c", ["--clean"]),
        ("probescope doctor -f ", ["text", "json"]),
        ("probescope doctor --format j", ["json"]),
        ("probescope completion z", ["zsh"]),
        ("probescope ftrace sta", ["start", "stat", "stack"]),
        ("probescope ftrace show -B /etc/hostn", ["/etc/hostname"]),
        ("probescope explain tracep", ["tracepoint:"]),
        # a colon breaks words: bash replaces only what stands behind the last one
        ("probescope list tracepoint:sched:sched_sw", ["sched_swap_numa", "sched_switch"]),
        ("probescope list -v tracepoint:sched:sched_swi", ["sched_switch"]),
        ("probescope explain kprobe:", ["vfs_read"]),
        # within quotes it does not
        ("probescope explain 'tracepoint:sched:sched_swi", ["tracepoint:sched:sched_switch"]),
        ("probescope explain uprobe:/etc/passw", None),
    ],
)
def test_bash(folder, line, expected):
    found = in_bash(folder, line)
    if expected is None:
        assert "/etc/passwd" in found
    else:
        assert found == expected


def test_bash_knows_every_option(folder):
    for command in COMMANDS:
        flags = [o for a in actions_of(command) for o in a.option_strings]
        assert in_bash(folder, f"probescope {command} -") == flags


def test_bash_offers_files_where_programs_are_read(folder):
    assert "/etc/passwd" in in_bash(folder, "probescope run /etc/pass")


@pytest.mark.parametrize("shell", PRESENT)
def test_the_shell_can_read_it(folder, shell):
    done = subprocess.run([shell, "-n", str(folder / shell)], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_hears_of_every_command_and_option(capsys, shell):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for command, (_, about) in COMMANDS.items():
        assert command in text
        assert shell == "bash" or about in text
        for action in actions_of(command):
            for option in action.option_strings:
                name = option if shell != "fish" else f" -l {option[2:]}" if option[:2] == "--" else f" -s {option[1:]}"
                assert name in text, f"{command} {option}"


@pytest.mark.skipif("fish" not in PRESENT, reason="needs fish")
def test_fish(folder):
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}

    def offered(line):
        script = f"source {folder}/fish; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            env=environment,
        )
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert offered("probescope do") == ["doctor"]
    assert offered("probescope doctor --c") == ["--clean"]
    assert offered("probescope ftrace sna") == ["snapshot"]
    assert offered("probescope list tracepoint:sched:sched_swi") == ["tracepoint:sched:sched_switch"]
