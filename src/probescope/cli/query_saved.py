"""Queries that are kept by name: ``$XDG_CONFIG_HOME/probescope/queries/NAME.sql``."""

from __future__ import annotations

import os
import re

from probescope.errors import UsageError

MOST = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def folder() -> str:
    """XDG Base Directory Specification."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        base = os.path.expanduser("~/.config")
    return os.path.join(base, "probescope", "queries")


def save(name: str, text: str) -> None:
    """Raises UsageError."""
    from probescope.kernel.wholefile import whole_file

    path = _path(name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with whole_file(path) as f:
            f.write(text.strip().encode("utf-8", "surrogateescape") + b"\n")
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from e


def load(name: str) -> str:
    """Raises UsageError where there is none such."""
    from probescope.diagnostics import nearest

    path = _path(name)
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            return f.read(MOST)
    except OSError as e:
        known = sorted(listed())
        hints = [f"did you mean {n}?" for n in nearest(name, known)]
        hints = hints or [f"there are: {', '.join(known)}" if known else "--save NAME 'select ...' keeps one"]
        raise UsageError(f"no query is kept as '{name}'", hints=hints) from e


def listed() -> dict[str, str]:
    """Name to text."""
    out: dict[str, str] = {}
    try:
        names = sorted(n for n in os.listdir(folder()) if n.endswith(".sql"))
    except OSError:
        return out
    for name in names:
        try:
            with open(os.path.join(folder(), name), encoding="utf-8", errors="replace") as f:
                out[name.removesuffix(".sql")] = f.read(MOST).strip()
        except OSError:
            continue
    return out


def _path(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name for a query", hints=["letters, digits, _ - and ."])
    return os.path.join(folder(), f"{name}.sql")
