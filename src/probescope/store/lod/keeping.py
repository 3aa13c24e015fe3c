"""Files of levels beside their store: ``KEY.FAMILY.lod``. They are made when they are first asked for, appear when they
are whole, and go with the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from probescope.errors import LimitError
from probescope.store.cache import LEVELS, PART
from probescope.store.lod.files import VERSION

if TYPE_CHECKING:
    Step = Callable[[int, int, str], None]


def place(home: str, key: str, family: str) -> str:
    return os.path.join(home, f"{key}.{family}-{VERSION}{LEVELS}")


def kept(path: str, lock: str, make: Callable[[str], None]) -> str:
    """The path, made by ``make`` if it is not there. Two processes that want it wait for each other."""
    from probescope.kernel.filelock import FileLock

    if os.path.exists(path):
        return path
    with FileLock(lock):
        if not os.path.exists(path):
            part = path + PART
            try:
                make(part)
                os.replace(part, path)
            except OSError as e:
                hints = [f"they are kept in {os.path.dirname(path)}: XDG_CACHE_HOME=FOLDER names another"]
                raise LimitError(f"levels of detail cannot be written: {e.strerror or e}", hints=hints) from e
            finally:
                with suppress(OSError):
                    os.unlink(part)
    return path
