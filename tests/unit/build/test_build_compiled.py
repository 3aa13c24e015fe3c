"""What building probescope does where loops can be compiled, and where they cannot."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """hatch_build.py with a hatchling of which only the base class is there: what builds brings the rest."""
    name = "hatchling.builders.hooks.plugin.interface"
    for part in (name.rsplit(".", n)[0] for n in range(4, -1, -1)):
        monkeypatch.setitem(sys.modules, part, types.ModuleType(part))
    base = type("BuildHookInterface", (), {"__class_getitem__": classmethod(lambda cls, _: cls)})
    monkeypatch.setattr(sys.modules[name], "BuildHookInterface", base, raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(hook: types.ModuleType, root: Path, version: str = "standard") -> dict[str, object]:
    data: dict[str, object] = {"force_include": {}}
    instance = hook.CompiledLoops()
    instance.root = str(root)
    instance.initialize(version, data)
    return data


@pytest.fixture
def sources(tmp_path: Path, hook: types.ModuleType) -> Path:
    for module in hook.MODULES:
        (tmp_path / "src" / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / module).write_text("this is no Python")
    return tmp_path


@pytest.mark.parametrize("why", ["no compiler", "asked for"])
def test_without_a_compiler_a_wheel_is_pure_python(
    why: str, hook: types.ModuleType, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip install on a machine without gcc must work, and fetch nothing that only compiling needs."""
    if why == "no compiler":
        monkeypatch.setenv("CC", "no-such-compiler")
    else:
        monkeypatch.setenv("PROBESCOPE_COMPILE", "0")
    assert not hook.can_compile()
    assert hook.CompiledLoops().dependencies() == []
    assert built(hook, sources) == {"force_include": {}}


def test_what_cannot_be_compiled_is_left_out(
    hook: types.ModuleType, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that fails is a slower probescope, not a failed installation; and what it said is kept."""
    monkeypatch.setattr(hook, "can_compile", lambda: True)
    assert built(hook, sources) == {"force_include": {}}
    assert (sources / "build" / "compiled" / "log.txt").read_text()


def test_libraries_of_older_sources_are_not_left_behind(hook: types.ModuleType, sources: Path) -> None:
    """Python would load them in place of the file that was changed."""
    old = sources / "src" / Path(hook.MODULES[0]).with_suffix(".cpython-311-x86_64-linux-gnu.so")
    old.touch()
    hook.COMPILE = "raise SystemExit(1)"
    built(hook, sources, "editable")
    assert not old.exists()
