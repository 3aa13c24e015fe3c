"""Files that are there when they are whole: made beside their names and moved into place.

    NAME.part4242      nobody else's: O_EXCL and O_NOFOLLOW, so that a link that somebody has laid in /tmp leads nowhere
      `──rename──► NAME

Source: open(2), rename(2); Documentation/admin-guide/sysctl/fs.rst, "protected_symlinks", which not everybody has set.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO


def beside(path: str) -> str:
    """Where the file is made. Two processes that make the same one do not meet."""
    return f"{path}.part{os.getpid()}"


def new(path: str, flags: int) -> int:
    """An opener (of Python's ``open``) for such a file. What a dead process of this number has left there goes."""
    return _new(path, flags, 0o666)


def new_private(path: str, flags: int) -> int:
    """The same, readable by us alone: what was recorded is nobody else's business."""
    return _new(path, flags, 0o600)


def private(path: str, flags: int) -> int:
    """An opener for a file under its own name, readable by us alone if it is made; one that is there stays as it is."""
    return os.open(path, flags, 0o600)


def _new(path: str, flags: int, mode: int) -> int:
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, mode)


@contextmanager
def whole_file(path: str, *, own: bool = False) -> Generator[BinaryIO]:
    """The file to write into; it takes its place when all went well, and is gone otherwise. ``own``: readable by us
    alone. ``path`` is no device and no pipe: it would be replaced. Raises OSError."""
    part = beside(path)
    with open(part, "wb", opener=new_private if own else new) as file:
        try:
            yield file
            file.close()
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
