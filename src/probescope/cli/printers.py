"""``--printers FILE.py``: a user's own printers for types, run only because they were asked for."""

from __future__ import annotations

import traceback
from collections.abc import Iterable

from probescope.errors import UsageError


def load(paths: Iterable[str]) -> None:
    """Runs files that call ``probescope.printer``. Raises ``UsageError`` where one is not there, or fails."""
    import runpy

    for path in paths:
        try:
            runpy.run_path(path, run_name="probescope_printers")
        except OSError as e:
            raise UsageError(f"cannot read {path}: {e.strerror}") from None
        except (Exception, SystemExit) as e:  # noqa: BLE001 - of a user's own code
            last = next((f for f in reversed(traceback.extract_tb(e.__traceback__)) if f.filename == path), None)
            where = f"{path}:{last.lineno}" if last is not None else path
            raise UsageError(f"{where}: {type(e).__name__}: {e}") from None
