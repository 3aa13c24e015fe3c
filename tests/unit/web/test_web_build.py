"""The page's build: without npm, or without its registry, it says why and stops nothing."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("web_build", ROOT / "web" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources of the page in another checkout, without what npm installs."""
    shutil.copytree(ROOT / "web", tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    return tmp_path


def test_without_npm(build: ModuleType, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "program", lambda _name: [])
    assert build.build(copy) == "there is no npm"


def test_without_a_registry(build: ModuleType, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "program", lambda _name: ["sh", "-c", "echo no network >&2; exit 7", "npm"])
    assert build.build(copy) == "npm ci: no network"


def test_not_wanted(build: ModuleType, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBESCOPE_PAGE", "0")
    assert build.build(copy) == "it was not asked for"


def test_only_changes_build_again(build: ModuleType, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of these sources is fresh; of others it is not."""
    monkeypatch.setattr(build, "program", lambda _name: [])
    page = copy / build.PAGE
    page.mkdir(parents=True)
    (page / "index.html").touch()
    (page / build.STAMP).write_text(build.word(copy / "web"))
    assert build.build(copy) == ""
    (copy / "web" / "src" / "main.tsx").write_text("")
    assert build.build(copy) == "there is no npm"
