"""Words of ``probescope query`` that are not SQL: ``.tables``, ``.schema NAME``, ``.views``..."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.errors import UsageError
from probescope.model.visible import visible

if TYPE_CHECKING:
    from probescope.store.opening import Asked


def word(asked: Asked, text: str) -> str:
    """What it answers. Raises UsageError."""
    from probescope.diagnostics import nearest

    name, *rest = text.split(None, 1)
    found = WORDS.get(name.lower())
    if found is None:
        hints = [f"did you mean {n}?" for n in nearest(name, WORDS)] or [".help lists them"]
        raise UsageError(f"there is no word '{name}'", hints=hints)
    return visible(found[1](asked, rest[0].strip().strip('";') if rest else ""))


def _tables(asked: Asked, _: str) -> str:
    from probescope.cli.tables import columns, width

    rows = []
    for name, table in asked.tables.items():
        shown = f'"{name}"' if ":" in name or not name.isidentifier() else name
        about = table.about or f"events of this kind, with {len(table.columns) - 4} fields"
        rows.append((shown, str(_count(asked, name)), about))
    return columns(("table", "rows", "what is in it"), rows, right=(1,), wide=width())


def _count(asked: Asked, name: str) -> int:
    from probescope.store.columns import quoted

    return int(asked.query(f"select count(*) from {quoted(name)}").value())  # noqa: S608 - quoted


def _schema(asked: Asked, name: str) -> str:
    from probescope.cli.tables import columns, width

    if not name:
        raise UsageError(".schema NAME: of which table?", hints=[".tables lists them", ".views, too"])
    view = asked.views.get(name)
    table = asked.tables.get(name)
    about = view.about if view is not None else table.about if table is not None else ""
    rows = []
    for c in asked.columns(name):
        refers = f" (number of {c.refers})" if c.refers else ""
        rows.append((c.name, c.type, c.unit, c.about + refers))
    text = columns(("column", "type", "unit", "what it is"), rows, wide=width())
    sql = f"\n{view.sql}\n" if view is not None else ""
    return (f"{about}\n\n" if about else "") + text + sql


def _views(asked: Asked, domain: str) -> str:
    from probescope.cli.tables import columns, width

    rows = [(v.name, v.about) for v in asked.views.values() if domain in ("", v.domain)]
    text = columns(("view", "what it tells"), rows, wide=width())
    lacking = [(n, "needs " + ", ".join(kinds)) for n, kinds in asked.lacking.items() if n.startswith(domain)]
    if lacking:
        text += "\n" + columns(("not here", "events that were not recorded"), lacking, wide=width())
    return text


def _saved(asked: Asked, _: str) -> str:
    from probescope.cli.query_saved import listed
    from probescope.cli.tables import columns, width

    rows = [(n, " ".join(t.split())) for n, t in listed().items()]
    return columns(("saved", "query"), rows, wide=width()) if rows else "no query is kept; --save NAME keeps one\n"


def _help(asked: Asked, _: str) -> str:
    from probescope.cli.tables import columns, width

    return columns(("word", "what it does"), [(n, about) for n, (about, _) in WORDS.items()], wide=width())


WORDS: dict[str, tuple[str, Callable[[Asked, str], str]]] = {
    ".tables": ("tables, with the number of their rows", _tables),
    ".schema": ("NAME: columns of a table or view", _schema),
    ".views": ("views that are ready to be asked; DOMAIN: only of that", _views),
    ".saved": ("queries that were kept by --save", _saved),
    ".help": ("these words", _help),
}
