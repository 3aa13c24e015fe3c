"""What signals leave behind: nothing; and what they say: only their exit code."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from probescope.cli.main import guarded
from probescope.errors import FormatError

ENDS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}

WORK = """
import os, signal, sys, tempfile
from probescope.cli import main as cli
from probescope.cli.outfile import OutFile

def work(args):
    with tempfile.TemporaryDirectory(dir=".") as folder, OutFile("out") as out:
        out.file.write(b"a part")
        sys.stdout.write("half a line")
        os.kill(os.getpid(), signal.{name})

cli._command = lambda name: work
sys.argv = ["probescope", "export"]
sys.exit(cli.main())
"""


def ended(tmp_path, name, **how):
    code = WORK.format(name=name)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, **how
    )


@pytest.mark.parametrize("name", ENDS)
def test_signals_clear_away(tmp_path, name):
    """Files that are half written and temporary folders go, whatever signal ends a command."""
    done = ended(tmp_path, name)
    assert (done.returncode, done.stderr) == (ENDS[name], "")
    assert list(tmp_path.iterdir()) == []


def test_ignored_signals_stay_ignored(tmp_path):
    """Under nohup, a command outlives its terminal."""
    done = ended(tmp_path, "SIGHUP", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert done.returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


FULL = """
import resource, signal
from probescope.cli.outfile import OutFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    with OutFile("out", packed={packed}) as out:
        for _ in range(5000):
            out.file.write(os.urandom(10))
except OSError as e:
    print(e.filename, e.strerror)
"""


@pytest.mark.parametrize("packed", [False, True])
def test_a_full_disk_is_left_no_fuller(tmp_path, packed):
    """What is in buffers still fails once more when the file is closed: its name is told, and it is gone."""
    code = "import os" + FULL.format(packed=packed)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
    )
    assert (done.stdout, done.stderr) == ("out File too large\n", "")
    assert list(tmp_path.iterdir()) == []


FORGETFUL = """
import os, signal, sys
from probescope.cli import main as cli

def work(args):
    try:
        os.kill(os.getpid(), signal.{name})
        for _ in range(1000): pass
    except BaseException:
        pass
    raise ImportError("as numpy does, of what it imports for itself")

cli._command = lambda name: work
sys.argv = ["probescope", "report"]
sys.exit(cli.main())
"""


@pytest.mark.parametrize("name", ENDS)
def test_a_signal_in_an_import_is_no_bug(name):
    """C code that is interrupted in an import of its own says that the import failed, and why no more."""
    code = FORGETFUL.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (ENDS[name], "", "")


def test_a_recording_without_events(tmp_path):
    """A header that tells of no events is an error with a place, whatever asks for the first of them."""
    from types import SimpleNamespace

    from probescope.cli.recordings import Opened

    opened = SimpleNamespace(recording=SimpleNamespace(events=(), name="x.data"))
    for name in (None, "cycles"):
        with pytest.raises(FormatError, match=r"x\.data: it tells of no events"):
            Opened.event(opened, name)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("libx.so: cannot open shared object file: Too many open files", errno.EMFILE),
        ("libx.so: failed to map segment from shared object", errno.ENOMEM),
        ("libx.so: cannot allocate memory in static TLS block", errno.ENOMEM),
    ],
)
def test_imports_that_lack_something(capsys, text, number):
    """A limit that is met in an import is a limit, even where the package that is imported wraps it in advice."""

    def work():
        try:
            raise ImportError(text)
        except ImportError as e:
            raise ImportError("IMPORTANT: PLEASE READ THIS") from e

    assert guarded(work) == 1
    err = capsys.readouterr().err
    assert os.strerror(number) in err
    assert "bug" not in err


def test_files_that_may_not_grow(capsys):
    """ulimit -f is like a full disk."""

    def work():
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    assert guarded(work) == 1
    assert capsys.readouterr().err == "ERROR: cannot write the output: File too large\n"
