"""Files that take their places when they are whole, in folders where others may write too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from probescope.cli.outfile import OutFile
from probescope.kernel.page_files import Funnel, PageFile
from probescope.kernel.wholefile import beside, whole_file


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_it_appears_when_it_is_whole(tmp_path: Path) -> None:
    """Whoever looks meanwhile finds the old one; nothing else stays in the folder."""
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with whole_file(str(path)) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def fails() -> None:
        with whole_file(str(path)) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fails()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_what_was_recorded_is_nobody_elses(tmp_path: Path) -> None:
    """Made at once, or as a command's output."""
    path, other = tmp_path / "out", tmp_path / "other"
    with whole_file(str(path), own=True) as file:
        file.write(b"x")
    with OutFile(str(other), own=True) as out:
        out.file.write(b"x")
    assert [p.stat().st_mode & 0o777 for p in (path, other)] == [0o600, 0o600]


def test_links_that_somebody_has_laid_lead_nowhere(tmp_path: Path) -> None:
    """In /tmp anybody may: the name is known before, and what it leads to would be overwritten with our rights."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for write in (_whole, _out):
        path = tmp_path / write.__name__
        os.symlink(victim, beside(str(path)))
        write(str(path))
        assert path.read_bytes() == b"new"
        assert not path.is_symlink()
    assert victim.read_bytes() == b"precious"


def _whole(path: str) -> None:
    with whole_file(path) as file:
        file.write(b"new")


def _out(path: str) -> None:
    with OutFile(path) as out:
        out.file.write(b"new")


def test_pages_do_not_go_through_links(tmp_path: Path) -> None:
    """``trace.dat.cpu0`` is emptied before it is written."""
    victim, source, funnel = tmp_path / "victim", tmp_path / "source", Funnel()
    victim.write_bytes(b"precious")
    source.write_bytes(b"")
    os.symlink(victim, tmp_path / "t.dat.cpu0")
    try:
        with pytest.raises(OSError, match="symbolic links"):
            PageFile(str(source), 0, str(tmp_path / "t.dat.cpu0"), funnel)
        PageFile(str(source), 1, str(tmp_path / "t.dat.cpu1"), funnel).close()
    finally:
        funnel.close()
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "t.dat.cpu1").stat().st_mode & 0o777 == 0o600
