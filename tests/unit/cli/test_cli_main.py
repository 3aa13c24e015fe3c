"""The front of the command line: which command was meant, what is said when none was, and how errors end."""

from __future__ import annotations

import errno
import subprocess
import sys
from importlib import import_module

import pytest
from cli_examples import all_examples, examples, help_text, words

from probescope.cli import main as cli
from probescope.cli.main import COMMANDS, guarded, main
from probescope.errors import InternalError, ProbeError, UsageError


def said(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("argv", [(), ("--help",), ("-h",), ("help",)])
def test_usage(capsys, argv):
    """Somebody who only types the name is told what there is, and nothing has failed."""
    code, out, err = said(capsys, *argv)
    assert (code, err) == (0, "")
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("argv", [("--version",), ("-V",), ("version",)])
def test_version(capsys, argv):
    code, out, _ = said(capsys, *argv)
    assert code == 0
    assert out.startswith("probescope ")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("hlep", "did you mean 'help'?"),
        ("lsit", "did you mean 'list'?"),
        ("Doctor", "did you mean 'doctor'?"),
        ("-e", "the command comes first: probescope run -e ..."),
        ("opensnoop.bt", "scripts are run by: probescope run opensnoop.bt"),
        ("BEGIN { exit() }", "programs are run by: probescope run -e 'PROGRAM'"),
        ("kprobe:vfs_read", "probescope explain kprobe:vfs_read"),
        ("zzz", "probescope --help lists the commands"),
    ],
)
def test_unknown_commands_teach(capsys, word, hint):
    code, out, err = said(capsys, word)
    assert (code, out) == (2, "")
    assert f"there is no command '{word}'" in err
    assert f"HINT: {hint}" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_page_has_the_same_parts(capsys, command):
    """usage, what it does, options with words, examples; by every way to ask for it."""
    pages = []
    for argv in ((command, "--help"), ("help", command)):
        code, out, err = said(capsys, *argv)
        assert (code, err) == (0, "")
        pages.append(out)
    assert pages[0] == pages[1]
    assert pages[0].startswith(f"usage: probescope {command}")
    assert "examples:\n" in pages[0]
    for action in import_module(f"probescope.cli.{COMMANDS[command][0]}").parser()._actions:
        assert action.help, f"{command} {action.option_strings} has no words"


@pytest.mark.parametrize("command", COMMANDS)
def test_there_are_examples(command):
    assert examples(help_text(command))


@pytest.mark.parametrize(("command", "line"), all_examples(), ids=lambda v: v[:60])
def test_examples_are_valid_command_lines(command, line):
    """What the help page shows must not be refused."""
    name, *rest = words(line)
    module = import_module(f"probescope.cli.{COMMANDS[name][0]}")
    parse = getattr(module, "parse_arguments", None) or module.parser().parse_intermixed_args
    assert parse(rest) is not None
    assert not command or name == command


def test_options_are_never_guessed(capsys):
    """--verb for --verbose would break the day when --verbatim is added."""
    code, _, err = said(capsys, "doctor", "--verb")
    assert code == 2
    assert "unrecognized arguments: --verb" in err
    assert "did you mean --verbose?" in err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("list", "-p", "x"), "Failed to parse pid: invalid integer: x"),
        (("list", "-p", "-1"), "invalid integer: -1"),
        (("explain", "-p", "0", "x"), "Pid out of range: 0"),
        (("doctor", "-f", "yaml"), "invalid choice: 'yaml'"),
        (("completion",), "shell"),
        (("completion", "tcsh"), "tcsh"),
        (("explain",), "there is nothing to explain"),
        (("run", "-p", "5x", "-e", "begin {}"), "invalid trailing bytes: 5x"),
        (("run", "-p", "9" * 30, "-e", "begin {}"), "Pid out of range"),
        (("run", "--unsave", "-e", "begin {}"), "did you mean --unsafe?"),
        (("run", "-c", "", "-e", "begin {}"), "the command is empty"),
        (("run", "-c", " ", "-e", "begin {}"), "the command is empty"),
        (("run", "begin { exit(); }"), "probescope run -e 'PROGRAM'"),
        (("run", "kprobe:vfs_read { @ = count(); }" + "x" * 5000), "probescope run -e 'PROGRAM'"),
        (("run", "profile:hz:99"), "probescope run -e 'PROGRAM'"),
    ],
)
def test_bad_arguments_are_usage_errors(capsys, argv, text):
    code, out, err = said(capsys, *argv)
    assert (code, out) == (2, "")
    assert text in err
    assert err.startswith("ERROR: ")
    assert "HINT: " in err


# --- how things end
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UsageError("what", hints=["do this"]), 2, "ERROR: what\nHINT: do this\n"),
        (ProbeError("what", where="here"), 1, "ERROR: here: what\n"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            1,
            "ERROR: cannot write the output: No space left on device\n",
        ),
    ],
)
def test_errors_become_messages(capsys, monkeypatch, error, code, text):
    monkeypatch.setattr(cli, "_drop_output", lambda: None)
    assert guarded(lambda: _raise(error)) == code
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG])
def test_a_full_disk_is_no_mistake_in_the_command_line(capsys, number):
    """Whichever command it was that names the file in its message; a folder that is not there is a mistake."""

    def fails(of: OSError) -> int:
        try:
            raise of
        except OSError as e:
            raise UsageError(f"cannot write x: {e.strerror}") from None

    assert guarded(lambda: fails(OSError(number, "full"))) == 1
    assert guarded(lambda: fails(OSError(errno.ENOENT, "none"))) == 2
    assert capsys.readouterr().err.count("ERROR: cannot write x") == 2


@pytest.mark.parametrize("command", ["", "stat", "report", "ftrace", "completion"])
def test_help_that_cannot_be_written(command):
    """argparse drops what it cannot write, and all was well."""
    words = [sys.executable, "-m", "probescope", *command.split(), "--help"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "ERROR: cannot write the output: No space left on device\n")


def test_a_number_of_thousands_of_digits_is_no_bug(capsys):
    """Python makes none of it: whoever wrote it, in whichever option, is told so."""
    assert guarded(lambda: int("9" * 5000)) == 1
    assert "thousands of digits" in (err := capsys.readouterr().err)
    assert "bug" not in err


@pytest.mark.parametrize("error", [InternalError("rule 7"), KeyError("x"), RecursionError("deep"), TypeError("y")])
def test_bugs_are_called_bugs(capsys, error):
    """Never a traceback: what is none of our errors is a bug of ours, and says how to report it."""
    assert guarded(lambda: _raise(error)) == 1
    err = capsys.readouterr().err
    assert "this is a bug in probescope" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (MemoryError(), "ulimit -v"),
        (OSError(errno.ENOMEM, "x"), "ulimit -v"),
        (OSError(errno.EMFILE, "x"), "ulimit -n 4096"),
        (OSError(errno.ENFILE, "x"), "fs.file-max"),
        (BlockingIOError(errno.EAGAIN, "x"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
    ],
)
def test_what_the_machine_lacks_is_no_bug(capsys, error, hint):
    """It may happen anywhere, also in an import."""
    assert guarded(lambda: _raise(error)) == 1
    err = capsys.readouterr().err
    assert hint in err
    assert "bug" not in err


def test_a_file_that_is_not_there_is_taken_for_one(capsys):
    """Only what looks like a program gets the hint about -e."""
    code, _, err = said(capsys, "run", "no/such/script.bt")
    assert (code, err) == (2, "ERROR: failed to open file 'no/such/script.bt': No such file or directory\n")


def test_tracebacks_for_those_who_ask(monkeypatch):
    monkeypatch.setenv("PROBESCOPE_DEBUG", "1")
    with pytest.raises(ProbeError):
        guarded(lambda: _raise(ProbeError("x")))


def test_interrupted():
    assert guarded(lambda: _raise(KeyboardInterrupt())) == 130


def _raise(error):
    raise error


def test_a_reader_that_goes_away_is_no_error():
    """``probescope list | head -1``."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m probescope completion bash | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() in {"0", "141"}
    assert done.stderr == ""


def test_a_full_disk_is_an_error():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "probescope", "completion", "bash"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "ERROR: cannot write the output: No space left on device\n"


def test_the_front_is_light():
    """--version must not pay for the rest: nothing of ours beyond the front, nothing heavy of Python's."""
    code = (
        "import sys; before = set(sys.modules); from probescope.cli.main import main; main(['--version']);"
        "print(sorted(m for m in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert {m for m in loaded if m.startswith("probescope")} == {
        "probescope",
        "probescope._version",
        "probescope.cli",
        "probescope.cli.main",
    }
    assert not loaded & {"argparse", "re", "json", "typing", "dataclasses", "ctypes", "numpy"}
