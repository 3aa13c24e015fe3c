"""One tool for every tracing mechanism of Linux.

In: nothing. Out: ``__version__``, and the names of ``probescope.api``, looked up on first use: importing this package
must cost nothing, because every start of the command line does it. Anyone may import this.
"""

from __future__ import annotations

from probescope._version import __version__

TYPE_CHECKING = False  # type checkers take it for True; importing typing would take longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from probescope.api import Request as Request
    from probescope.api import build as build
    from probescope.api import doctor as doctor
    from probescope.api import explain as explain
    from probescope.api import list_probes as list_probes
    from probescope.api import marker as marker
    from probescope.api import open as open  # noqa: A004 - as other readers of files call it
    from probescope.api import record as record
    from probescope.api import run as run
    from probescope.debuginfo.values.registry import printer as printer
    from probescope.kernel.point import point as point

__all__ = [
    "Request",
    "__version__",
    "build",
    "doctor",
    "explain",
    "list_probes",
    "marker",
    "point",
    "printer",
    "record",
    "run",
]
_MORE = ("open",)  # not for `import *`, which would hide Python's own


def __getattr__(name: str) -> Any:
    if name not in __all__ and name not in _MORE:
        raise AttributeError(f"module 'probescope' has no attribute {name!r}")
    if name == "point":  # programs that are traced come here often: they find it by themselves from now on
        from probescope.kernel.point import point

        globals()["point"] = point
        return point
    if name == "printer":
        from probescope.debuginfo.values.registry import printer

        return printer
    from probescope import api

    return getattr(api, name)
