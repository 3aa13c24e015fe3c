"""A file that is there when it is whole: written beside its name and moved into place, or to stdout."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from probescope.errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType


class OutFile:
    """``file`` to write into; ``size`` in bytes when it is done. ``packed``: through gzip. ``seeks``: the file must be
    seekable, also where stdout is not. Leaving it with an error leaves nothing behind."""

    def __init__(self, name: str, *, packed: bool = False, seeks: bool = False) -> None:
        self.name = name
        self.size = 0
        self._seeks, self._packed = seeks, packed
        self._temporary = ""
        self._packer: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._under = self._opened()
        self.file = self._under
        if self._packed:
            import gzip

            self._packer = self.file = cast("BinaryIO", gzip.GzipFile(fileobj=self._under, mode="wb", mtime=0))
        return self

    def _opened(self) -> BinaryIO:
        if self._streams():
            if self._seeks:
                return cast("BinaryIO", tempfile.TemporaryFile())
            return sys.stdout.buffer if self.name == "-" else self._open(self.name)
        self._temporary = f"{self.name}.part{os.getpid()}"
        return self._open(self._temporary)

    def _streams(self) -> bool:
        """To stdout, or to something that is no regular file and must stay what it is."""
        try:
            return self.name == "-" or not stat.S_ISREG(os.stat(self.name).st_mode)
        except OSError:
            return False

    def _open(self, name: str) -> BinaryIO:
        try:
            return open(name, "w+b" if self._temporary else "wb")
        except OSError as e:
            raise UsageError(f"cannot write {self.name}: {e.strerror}") from e

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._packer is not None and kind is None:
            self._packer.close()
        if kind is None:
            self._finish()
        if self._under is not sys.stdout.buffer:
            self._under.close()
        if self._temporary:
            if kind is None:
                os.replace(self._temporary, self.name)
            else:
                os.unlink(self._temporary)

    def _finish(self) -> None:
        under = self._under
        under.flush()
        if self._temporary or self._seeks:
            self.size = under.seek(0, 2)
        if self._streams() and self._seeks:
            under.seek(0)
            if self.name == "-":
                shutil.copyfileobj(under, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                with self._open(self.name) as out:
                    shutil.copyfileobj(under, out)
