"""``--aot FILE``: the program as an executable of its own, as bpftrace makes them ahead of time.

There is no compiler to wait for, so nothing is compiled ahead: the file is a shell script that holds the program, its
options and the interpreter that ran us. It has been compiled once, so what is wrong with it is said now.

A program that came from a file stays one, of any length: the script hands itself to us, and its own lines are a
comment in the language.

    #!/bin/sh
    //bin/true; exec PYTHON probescope run OPTIONS "$0" PARAMETERS "$@"
    begin { ... }
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence


def write(path: str, argv: Sequence[str], text: str, script: str | None) -> int:
    """``argv``: of this call; ``script``: the word in it that names the program's file, ``None`` if it was given with
    -e. Raises UsageError if the file cannot be written."""
    from probescope.errors import UsageError

    made = _made(kept(argv), text, script)
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(made)
            mode = os.stat(f.fileno()).st_mode
            os.fchmod(f.fileno(), mode | (mode & 0o444) >> 2)  # executable for whoever may read it
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}", where="--aot") from None
    return 0


def _made(words: list[str], text: str, script: str | None) -> str:
    if script is None:
        return f'#!/bin/sh\nexec {shlex.join([*_called(), *words])} "$@"\n'
    at = words.index(script)
    before, after = shlex.join([*_called(), *words[:at]]), shlex.join(words[at + 1 :])
    if "\n" in before + after:  # they would leave the comment
        whole = shlex.join(["-e", text])
        return f'#!/bin/sh\nexec {before} {whole} {after} "$@"\n'
    own = text.partition("\n")[2] if text.startswith("#!") else text
    return f'#!/bin/sh\n//bin/true; exec {before} "$0" {after} "$@"\n{own}'


def _called() -> list[str]:
    """Whatever ran us, up to the subcommand. Called as bpftrace, the name says that."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == "__main__.py":  # python -m probescope
        return [sys.executable, "-m", "probescope", "run"]
    return [sys.executable, own, *([] if os.path.basename(own) == "bpftrace" else ["run"])]


def kept(argv: Sequence[str]) -> list[str]:
    """The words of a call that its program is to be run with: without ``--aot``, and what stands behind ``--``."""
    own = list(argv[: argv.index("--")] if "--" in argv else argv)
    out: list[str] = []
    while own:
        word = own.pop(0)
        if word == "--aot":
            own[:1] = []
        elif not word.startswith(("--aot=", "--as-bpftrace")):
            out.append(word)
    return out
