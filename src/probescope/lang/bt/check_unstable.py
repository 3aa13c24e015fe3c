"""Parts of the language that a configuration can forbid: ``config = { unstable_tseries = error }``.

They work here like all others; who runs a script with the same text elsewhere may want them refused."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.lang.bt.lower_unit import Unit


def forbidden(u: Unit, feature: str, span: Span) -> bool:
    """Whether the script's own configuration refuses ``tseries``, ``typeinfo`` or ``dw_ustack``; reports it."""
    key = f"unstable_{feature}"
    if getattr(u.program.config, key) != "error":
        return False
    u.error(f"{feature} is an unstable feature that is not enabled", span, f"config = {{ {key} = enable }}")
    return True
