"""Reference pages made from the product's own tables: `python -m checks.reference` says whether they are up to date,
`python -m checks.reference --write` makes them so.
"""

from __future__ import annotations

import sys
from pathlib import Path

from probescope.lang.bt.builtins import BUILTINS
from probescope.lang.bt.config import Config
from probescope.lang.bt.config_about import ABOUT, VARIABLES
from probescope.lang.bt.functions import FUNCTIONS, Function
from probescope.model.probe import SHORT_NAMES
from probescope.store import lasting, schema
from probescope.store.columns import Column

DOCS = Path(__file__).resolve().parent.parent / "docs"

HEAD = """# Language reference

Made from the tables that the compiler itself uses (`python -m checks.reference --write`). \
How the pieces fit together is in
[the language](language.md).
"""


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def _arguments(f: Function) -> str:
    needed, _, optional = f.args.partition("?")
    words = needed.split() + [f"[{w}]" for w in optional.split()]
    return ", ".join(words)


def functions() -> str:
    groups: dict[str, list[tuple[str, Function]]] = {}
    for name, f in FUNCTIONS.items():
        groups.setdefault(f.group, []).append((name, f))
    out = ["## Functions\n"]
    for group, rows in groups.items():
        out.append(f"\n### {group}\n\n| function | what it does |\n|---|---|\n")
        for name, f in rows:
            marks = " Needs `--unsafe`." if f.unsafe else ""
            marks += f" In {', '.join(f.probes)} probes." if f.probes else ""
            out.append(f"| `{name}({_escape(_arguments(f))})` | {_escape(f.about)}.{marks} |\n")
    return "".join(out)


def builtins() -> str:
    rows = [f"| `{n}` | {_escape(b.type)} | {_escape(b.about)} |\n" for n, b in sorted(BUILTINS.items())]
    return "## Builtins\n\n| name | type | what it is |\n|---|---|---|\n" + "".join(rows)


def config() -> str:
    defaults = Config()
    names = [f.name for f in Config.__fields__ if f.name != "explicit"]  # type: ignore[attr-defined]
    rows = [f"| `{n}` | `{getattr(defaults, n)!r}` | {ABOUT[n]} |\n" for n in names]
    text = "Set in the script, `config = { max_strlen = 128 }`, or by the environment, which wins: "
    text += "`BPFTRACE_MAX_STRLEN=128`."
    return f"## Configuration\n\n{text}\n\n| key | default | |\n|---|---|---|\n" + "".join(rows) + variables()


def variables() -> str:
    rows = [f"| `{name}` | {about} |\n" for name, about in VARIABLES.items()]
    return "\nOf the environment only:\n\n| variable | |\n|---|---|\n" + "".join(rows)


def short_names() -> str:
    rows = [f"| `{short}` | `{name}` |\n" for short, name in SHORT_NAMES.items()]
    return "## Short names of probes\n\n| short | probe |\n|---|---|\n" + "".join(rows)


def page() -> str:
    return f"{HEAD}\n{short_names()}\n{builtins()}\n{functions()}\n{config()}"


STORE_HEAD = """# The store: tables of a recording

Made from the tables in `src/probescope/store/schema.py` (`python -m checks.reference --write`). How to ask them is in
[queries](query.md).

{about}
"""


def _rows(columns: tuple[Column, ...]) -> str:
    out = ["| column | type | what it is |\n|---|---|---|\n"]
    for c in columns:
        table = f" → `{c.refers}`" if c.refers else ""
        out.append(f"| `{c.name}` | {c.type}{table} | {_escape(c.about)}{f' ({c.unit})' if c.unit else ''} |\n")
    return "".join(out)


def _meanings(title: str, words: dict[str, str]) -> str:
    return f"\n{title}:\n\n" + "".join(f"- `{word}`: {about}\n" for word, about in words.items())


def store_page() -> str:
    about = (schema.__doc__ or "").partition("\n\n")[2].strip().replace("``", "`")
    out = [STORE_HEAD.format(about=about)]
    for table in schema.TABLES:
        out.append(f"\n## {table.name}\n\n{_escape(table.about)}\n\n{_rows(table.columns)}")
        if table is lasting.THREAD_STATE:
            out.append(_meanings("States", lasting.STATES))
        if table is schema.STATS:
            out.append(_meanings("Severities", schema.SEVERITIES))
    head = "Each kind of event with fields has a table of its name, which begins with these columns:"
    out.append(f"\n## Kinds of events\n\n{head}\n\n{_rows(schema.FIELDS)}")
    return "".join(out)


PAGES = {"language-reference.md": page, "store.md": store_page}


def main(argv: list[str]) -> int:
    stale = 0
    for name, made in PAGES.items():
        path, wanted = DOCS / name, made()
        if "--write" in argv:
            path.write_text(wanted)
        elif not path.exists() or path.read_text() != wanted:
            print(f"{name} is not up to date: python -m checks.reference --write")
            stale += 1
    if not stale:
        print("reference: up to date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
