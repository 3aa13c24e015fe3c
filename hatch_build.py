"""What a wheel holds beside the sources: machine code of a few loops, and the timeline's page.

Machine code of the few loops that have a form for it: made by mypyc where a C compiler and Python's headers are, and
left out where they are not, or where making them fails. probescope is complete without: see
docs/decisions/0014-compiled-loops.md.

    src/probescope/formats/perfdata/chain.py  ──mypyc, cc──►  chain.cpython-311-x86_64-linux-gnu.so, beside it

PROBESCOPE_COMPILE=0 leaves them out.

The page is built by web/build.py where npm is, and left out where it is not: PROBESCOPE_PAGE=0 leaves it out.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = (
    "probescope/formats/perfdata/chain.py",
    "probescope/formats/perfdata/heaps.py",
    "probescope/formats/tracing/rows.py",
    "probescope/collect/recorded/steps.py",
)
NEEDED = ["mypy>=2.4", "setuptools>=65", "librt>=0.17"]
PAGE = "probescope/views/timeline/page"
SECONDS = 300
#: What another interpreter runs, in a folder with these modules alone: types of the others are not looked at.
COMPILE = """
import sys
from mypyc.build import mypycify
from setuptools import setup
target, *modules = sys.argv[1:]
extensions = [e for m in modules for e in mypycify(["--config-file=", m], target_dir=f"{target}/c/{m}")]
setup(name="loops", ext_modules=extensions,
      script_args=["build_ext", "--build-lib", f"{target}/lib", "--build-temp", f"{target}/o"])
"""


def can_compile() -> bool:
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    headers = Path(sysconfig.get_path("include"), "Python.h")
    wanted = os.environ.get("PROBESCOPE_COMPILE", "1") != "0" and sys.implementation.name == "cpython"
    return wanted and shutil.which(compiler) is not None and headers.exists()


def compiled(root: Path) -> dict[Path, str]:
    """Libraries by where they belong below src; none where something fails."""
    target = root / "build" / "compiled"
    shutil.rmtree(target, ignore_errors=True)
    for module in map(Path, MODULES):
        (target / "src" / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / "src" / module, target / "src" / module)
        for package in list(module.parents)[:-1]:
            (target / "src" / package / "__init__.py").touch()
    command = [sys.executable, "-c", COMPILE, str(target), *MODULES]
    try:
        done = subprocess.run(command, cwd=target / "src", capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return {}
    if done.returncode:
        (target / "log.txt").write_text(done.stdout + done.stderr)
        return {}
    return {path: str(path.relative_to(target / "lib")) for path in sorted((target / "lib").rglob("*.so"))}


def page(root: Path) -> list[Path]:
    """Files of the timeline's page, built if need be; none where that fails."""
    script = root / "web" / "build.py"
    spec = importlib.util.spec_from_file_location("probescope_web_build", script) if script.exists() else None
    if spec is not None and spec.loader is not None:
        maker = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(maker)
        wrong = maker.build(root)
        if wrong:
            sys.stderr.write(f"probescope is built without the timeline's page: {wrong}\n")
    made = root / "src" / PAGE
    return sorted(p for p in made.rglob("*") if p.is_file()) if (made / "index.html").exists() else []


class CompiledLoops(BuildHookInterface[Any]):
    """For wheels, and for editable installations, whose libraries lie beside the sources."""

    def dependencies(self) -> list[str]:
        return NEEDED if can_compile() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        # of an older source they would still be found first; a wheel takes nothing that lies beside the sources
        for module in MODULES if version == "editable" else ():
            for old in (root / "src" / module).parent.glob(f"{Path(module).stem}*.so"):
                old.unlink()
        for path in page(root):  # git does not know them: hatchling is told of each
            if version != "editable":
                build_data["force_include"][str(path)] = str(path.relative_to(root / "src"))
        found = compiled(root) if can_compile() else {}
        for path, place in found.items():
            if version == "editable":
                shutil.copy(path, root / "src" / place)
            else:
                build_data["force_include"][str(path)] = place
        if found and version != "editable":
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
