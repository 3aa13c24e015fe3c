"""Files as bytes objects."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from probescope.kernel import libc
from probescope.kernel.filemap import BytesMap

pytestmark = pytest.mark.skipif(sys.implementation.name != "cpython", reason="only CPython's bytes are known")


def maps() -> str:
    return Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("length", [1, 4095, 4096, 3 * 4096 + 5])
def test_a_file_is_a_bytes_object(tmp_path: Path, length: int) -> None:
    """Compiled loops read through it as they would through a copy: everything that they, or Python, may ask of bytes
    has to be as it is of a copy."""
    path = tmp_path / "file"
    content = os.urandom(length)
    path.write_bytes(content + b"behind")
    with path.open("rb") as file:
        one = BytesMap(file.fileno(), length)
        assert one.there(length)
        assert not one.there(length + 7)
        whole = one.whole()
        assert type(whole) is bytes
        assert len(whole) == length
        assert whole == content
        assert hash(whole) == hash(content)
        assert whole[length // 2 :] == content[length // 2 :]
        one.forget(0, length // 4096 * 4096)
        assert bytes(one.bytes) == content
        with pytest.raises(TypeError):
            one.bytes[0] = 0  # type: ignore[index]
        del whole


def test_memory_is_given_back_when_nobody_looks_there(tmp_path: Path) -> None:
    """A reader that opens many files would keep all of them otherwise; and what somebody still holds must stay, or the
    process would end at the next look."""
    path = tmp_path / "some file"
    path.write_bytes(bytes(range(256)) * 64)
    with path.open("rb") as file:
        one = BytesMap(file.fileno(), 256 * 64)
        view = one.bytes
        del one
        gc.collect()
        assert str(path) in maps()
        assert view[255] == 255
        del view
        gc.collect()
        assert str(path) not in maps()
        one = BytesMap(file.fileno(), 256 * 64)
        kept = one.whole()
        del one
        gc.collect()
        assert kept[-1] == 255


def test_bytes_of_another_make_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that keeps something else before the bytes must not be given such an object."""
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    monkeypatch.setattr(libc, "_lies_as_drawn", lambda _: False)
    with path.open("rb") as file, pytest.raises(ValueError, match="another make"):
        BytesMap(file.fileno(), 3)
    with path.open("rb") as file, pytest.raises(ValueError, match="regular"):
        BytesMap(file.fileno(), 4)
