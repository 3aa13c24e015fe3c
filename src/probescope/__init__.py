"""One tool for every tracing mechanism of Linux.

In: nothing. Out: ``__version__``, and later the names of :mod:`probescope.api`, both looked up on first use: importing
this package must cost nothing, because every start of the command line does it. Anyone may import this.
"""

from __future__ import annotations

from probescope._version import __version__

__all__ = ["__version__"]
