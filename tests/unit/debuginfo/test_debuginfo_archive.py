"""Programs inside of zip archives: found where they lie, refused where they cannot be mapped."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from probescope.debuginfo import archive
from probescope.debuginfo.elf import ElfFile
from probescope.errors import ElfError

PROGRAM = Path("/bin/true").read_bytes()


@pytest.fixture
def made(tmp_path: Path) -> str:
    path = tmp_path / "app.zip"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("text", "hello")
        z.writestr("lib/true", PROGRAM)
        z.writestr("small", PROGRAM, zipfile.ZIP_DEFLATED)
    return str(path)


def test_member_is_a_stretch_of_the_archive(made: str) -> None:
    """The same file as outside; offsets in it lead to the same bytes of the archive."""
    with ElfFile.open(f"{made}!/lib/true") as inside, ElfFile.open("/bin/true") as outside:
        assert inside.header == outside.header
        assert [s.name for s in inside.sections()] == [s.name for s in outside.sections()]
        file, at = inside.in_file(0x40)
        assert file == made
        assert Path(file).read_bytes()[at : at + 64] == PROGRAM[0x40:0x80]
        assert outside.in_file(0x40) == ("/bin/true", 0x40)


@pytest.mark.parametrize(
    ("member", "message"), [("none", "no member"), ("small", "compressed"), ("text", "too short|not an ELF|ends")]
)
def test_what_cannot_be_mapped(made: str, member: str, message: str) -> None:
    with pytest.raises(ElfError, match=message):
        ElfFile.open(f"{made}!/{member}")


def test_damaged_archives(made: str) -> None:
    """Every cut, and bytes changed all over: typed errors or a file that reads."""
    data = Path(made).read_bytes()
    for at in [*range(0, len(data), 997), *range(len(data) - 200, len(data))]:
        for changed in (data[:at], data[:at] + b"\xff\x80" + data[at + 2 :]):
            Path(made).write_bytes(changed)
            try:
                source = archive.open_source(f"{made}!/lib/true")
            except ElfError:
                continue
            assert len(source.read(0, source.size)) == source.size
            source.close()


def test_a_file_of_that_very_name_is_a_file(tmp_path: Path) -> None:
    """Nobody forbids a folder called "x!"."""
    folder = tmp_path / "x!"
    folder.mkdir()
    os.symlink("/bin/true", folder / "true")
    assert archive.split(f"{folder}/true") is None
    assert archive.split("/a.zip!/b!/c") == ("/a.zip", "b!/c")


def test_a_directory_that_is_too_large(made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before it is read: what is read of it becomes objects."""
    monkeypatch.setattr(archive, "MOST_DIRECTORY", 100)  # three members need more
    with pytest.raises(ElfError, match="too large"):
        archive.open_source(f"{made}!/lib/true")
