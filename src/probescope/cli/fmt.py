"""``probescope run --fmt``: a script in its canonical layout, on standard output."""

from __future__ import annotations

import sys


def show(name: str, text: str) -> int:
    """``text`` is that of the script ``name``. Raises ScriptError if it is none."""
    from probescope.diagnostics import Source
    from probescope.lang.bt.format import formatted

    made = formatted(Source(name, text))
    sys.stdout.buffer.write(made.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    return 0
