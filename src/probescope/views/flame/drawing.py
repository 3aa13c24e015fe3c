"""Stacks to the text of a file, as the file's name ends: one page, one picture, or folded text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probescope.views.flame.stacks import StackSamples
    from probescope.views.flame.svg import Look

KINDS = {".svg": "svg", ".html": "html", ".htm": "html", ".folded": "folded", ".txt": "folded"}


def kind_of(name: str) -> str:
    """html, where the name says nothing."""
    return KINDS.get(os.path.splitext(name)[1].lower(), "html")


def drawn(samples: StackSamples, kind: str, look: Look) -> str:
    """``kind``: html, svg or folded. Of ``look``, pages take the headings."""
    if kind == "folded":
        from probescope.views.flame.stacks import folded

        return "".join(f"{line}\n" for line in folded(samples))
    if kind == "svg":
        from probescope.views.flame import svg

        return svg.render(samples, look)
    from probescope.views.flame import page

    return page.render(samples, look.title or "Flame graph", (look.subtitle,) if look.subtitle else ())
