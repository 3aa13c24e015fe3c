"""A file that is there when it is whole: written beside its name and moved into place, or to stdout."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from probescope.errors import UsageError
from probescope.kernel.wholefile import beside, new, new_private

if TYPE_CHECKING:
    from types import TracebackType


class OutFile:
    """``file`` to write into; ``size`` in bytes when it is done. ``packed``: through gzip. ``seeks``: the file must be
    seekable, whatever it ends up in. ``own``: what was recorded is nobody else's to read. Leaving it with an error
    leaves nothing behind."""

    def __init__(self, name: str, *, packed: bool = False, seeks: bool = False, own: bool = False) -> None:
        self.name = name
        self._new = new_private if own else new
        self.size = 0
        self._packed = packed
        self._whole = False
        self._part = "" if _streams(name) else beside(name)
        self._apart = seeks and (packed or not self._part)  # written elsewhere first

    def __enter__(self) -> Self:
        self._under = self._opened()
        if self._apart:
            self.file = cast("BinaryIO", tempfile.TemporaryFile())
        else:
            self.file = _through_gzip(self._under) if self._packed else self._under
        return self

    def _opened(self) -> BinaryIO:
        if self.name == "-":
            return sys.stdout.buffer
        try:
            return open(self._part, "w+b", opener=self._new) if self._part else open(self.name, "wb")
        except OSError as e:
            raise UsageError(f"cannot write {self.name}: {e.strerror}") from e

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._finish()
            self._named(error)
        except OSError as e:
            self._named(e)
            raise
        finally:
            self._close()
            if self._part and (kind is not None or not self._whole):
                os.unlink(self._part)
        if self._part and kind is None:
            os.replace(self._part, self.name)

    def _close(self) -> None:
        """What could not be written fails once more here: it was told before, and the file is to go all the same."""
        for file in (self.file, self._under):
            if file is not sys.stdout.buffer:
                with nullcontext() if self._whole else suppress(OSError):
                    file.close()

    def _named(self, error: BaseException | None) -> None:
        """What could not be written says its name."""
        if isinstance(error, OSError) and not error.filename and self.name != "-":
            error.filename = self.name

    def _finish(self) -> None:
        if self._apart:
            self.file.seek(0)
            out = _through_gzip(self._under) if self._packed else self._under
            shutil.copyfileobj(self.file, out)
        else:
            out = self.file
        if self._packed:
            out.close()
        self._under.flush()
        self.size = self._under.seek(0, os.SEEK_END) if self._part else 0
        self._whole = True


def _streams(name: str) -> bool:
    """To stdout, or to something that is no regular file and must stay what it is."""
    try:
        return name == "-" or not stat.S_ISREG(os.stat(name).st_mode)
    except OSError:
        return False


def _through_gzip(under: BinaryIO) -> BinaryIO:
    import gzip

    return cast("BinaryIO", gzip.GzipFile(fileobj=under, mode="wb", mtime=0))
