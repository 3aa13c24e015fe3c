"""Events that are alike in several columns: see ``model.alike``."""

from __future__ import annotations

from probescope.model.alike import alike

__all__ = ["alike"]
