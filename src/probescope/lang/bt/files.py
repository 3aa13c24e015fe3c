"""How the front end gets at other files of a script: headers and imports. It opens nothing by itself.

The caller hands in ``Files``; ``NoFiles`` is for texts that stand alone, ``Disk`` reads directories of this machine.
"""

from __future__ import annotations

from typing import Protocol

MAX_BYTES = 8 << 20
"""Greatest size of one header or import."""


class Files(Protocol):
    def read(self, path: str) -> str | None:
        """The text of a file, or ``None`` if there is none that can be read."""

    def entries(self, path: str) -> list[str] | None:
        """The names in a directory, sorted; ``None`` if it is none."""

    def is_open_to_all(self, path: str) -> bool:
        """Whether everybody may write there: such a directory is not imported from."""
        ...


class NoFiles:
    def read(self, path: str) -> str | None:
        return None

    def entries(self, path: str) -> list[str] | None:
        return None

    def is_open_to_all(self, path: str) -> bool:
        return False


class Disk:
    """The regular files of this machine, at most ``MAX_BYTES`` each."""

    def read(self, path: str) -> str | None:
        import os
        import stat

        def opened(name: str, flags: int) -> int:
            return os.open(name, flags | os.O_NONBLOCK)  # a named pipe must not hold us up

        try:
            with open(path, "rb", opener=opened) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError):
            return None
        return None if len(data) > MAX_BYTES else data.decode("utf-8", "surrogateescape")

    def entries(self, path: str) -> list[str] | None:
        import os

        try:
            return sorted(os.listdir(path))
        except (OSError, ValueError):
            return None

    def is_open_to_all(self, path: str) -> bool:
        import os
        import stat

        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            return False
        return bool(mode & stat.S_IWOTH)
