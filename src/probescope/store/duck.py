"""DuckDB, where it is installed, and its errors as ours: with the place in the text, and names that may be meant."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from probescope.diagnostics import NOWHERE, Diagnostic, Source, Span, nearest
from probescope.errors import LimitError, ProbescopeError, ScriptError, UsageError

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
INSTALL = "pip install 'probescope[tables]'"


def engine() -> Any:
    """DuckDB without its Python package, which has nothing that is used here but takes most of the time to import.
    Raises ModuleNotFoundError."""
    try:
        return import_module("_duckdb")
    except ModuleNotFoundError:  # older ones keep it inside
        return import_module("duckdb")


def connect(path: str = ":memory:", *, memory: str = "1GB", temporary: str = "") -> duckdb.DuckDBPyConnection:
    """``memory``: most that DuckDB uses. ``temporary``: the folder for what does not fit. Nothing is fetched from the
    network, and no extension is loaded. Raises UsageError where DuckDB is not installed, or cannot make the file."""
    try:
        engine()
    except ModuleNotFoundError:
        raise UsageError("tables are DuckDB's, which is not installed", hints=[INSTALL]) from None
    _must_be_utf8(path, temporary)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": memory,
        "errors_as_json": "true",
    }
    if temporary:
        settings["temp_directory"] = temporary
    with told():  # it writes the beginning of the file
        db: duckdb.DuckDBPyConnection = engine().connect(path, config=settings)
    return db


def _must_be_utf8(*names: str) -> None:
    """DuckDB has no other names of files, and its error for them says nothing."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            hints = ["XDG_CACHE_HOME names the folder where tables are kept"]
            raise UsageError(f"tables cannot be kept at {name}: DuckDB wants names in UTF-8", hints=hints) from None


def interruptible(db: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Done by a thread of its own, so that Ctrl-C is heard meanwhile: DuckDB itself does not listen. Raises what
    ``work`` raises, and KeyboardInterrupt when the query has come to rest."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    found: list[T] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as e:  # noqa: BLE001 - it is raised in the thread that waits
            failed.append(e)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        done.wait()
    except BaseException:
        while not done.is_set():  # it may not have begun yet to do what can be interrupted
            db.interrupt()
            done.wait(0.05)
        raise
    if failed:
        raise failed.pop()  # kept here, it would keep this frame, and that all that the query found
    return found[0]


@contextmanager
def told(text: str = "", known: Callable[[str], Iterable[str]] = lambda _: ()) -> Generator[None, None, None]:
    """DuckDB's errors as ours. ``text``: the query; ``known``: names that a word may be meant for."""
    try:
        yield
    except engine().Error as e:
        raise error_of(e, text, known) from None
    except MemoryError:
        raise _too_much() from None


def error_of(e: duckdb.Error, text: str, known: Callable[[str], Iterable[str]] = lambda _: ()) -> ProbescopeError:
    known_errors = engine()
    found = _fields(str(e))
    message = str(found.get("exception_message", "")) or str(e).split("\n\n")[0]
    message = str(_fields(message).get("exception_message", "")) or message  # what a thread that writes has met with
    if isinstance(e, known_errors.OutOfMemoryException):
        return _too_much()
    if isinstance(e, known_errors.InterruptException):
        return LimitError("the query was interrupted")
    if isinstance(e, known_errors.PermissionException):
        return _refused(message)
    if isinstance(e, known_errors.IOException) and not text:
        return UsageError(message.splitlines()[0])
    first, *more = message.splitlines()
    hints = _hints(found, more, known)
    source = Source("query", text)
    return ScriptError([Diagnostic("error", _sentence(first), _span(found, text), tuple(hints), source)])


def _too_much() -> LimitError:
    hints = ["--memory 4GB allows more", "limit, where or a coarser group by: fewer rows need less"]
    return LimitError("the query needs more memory, or room for what does not fit into it", hints=hints)


def _refused(message: str) -> UsageError:
    hints = ["queries read the recording alone: -o writes what they find, --parquet DIR writes the tables"]
    return UsageError(f"the query would leave its tables: {message.splitlines()[0]}", hints=hints)


def _fields(text: str) -> dict[str, Any]:
    start = text.find("{")
    try:
        found = json.loads(text[start:]) if start >= 0 else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _hints(found: dict[str, Any], more: list[str], known: Callable[[str], Iterable[str]]) -> list[str]:
    """DuckDB's own guesses, but of tables: ours know them better."""
    if found.get("type") == "Table":
        own = list(known(str(found.get("name", ""))))
        return own or [".tables lists what there is, .views what is made of it"]
    guesses = [g for g in str(found.get("candidates", "")).replace('"', "").split(",") if g.strip()]
    near = [f"did you mean {g.strip()}?" for g in guesses[:3]]
    return near or [line for line in more[:2] if line and not line.startswith("LINE")]


_BARRED = ("ATTACH", "COPY", "COPY_DATABASE", "DETACH", "EXPORT", "LOAD", "PREPARE", "EXECUTE", "this statement")
"""Statements that reach beyond tables, or hide one that does. DuckDB's own fence lets them at folders of Parquet."""
_EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+)?(?:\([^()]*\)\s*)?", re.IGNORECASE)


UNKNOWN = "this statement"
READING = ("SELECT", "RELATION", "MULTI")
"""Statements that change nothing, not even views of the connection, which others ask through, too. MULTI is PIVOT."""


def check(db: duckdb.DuckDBPyConnection, text: str, *, reading: bool = False) -> None:
    """Raises UsageError for statements that are not for queries, ScriptError where the text is no SQL. ``reading``:
    only what changes nothing is let through."""
    with told(text):
        statements = db.extract_statements(text)
    if not statements:
        raise UsageError("nothing is asked", hints=["select count(*) from event"])
    for statement in statements:
        kind = _kind(statement)
        if kind == "EXPLAIN":
            inner = _EXPLAIN.match(statement.query)
            rest = statement.query[inner.end() :] if inner else ""
            if not rest.strip() or _EXPLAIN.match(rest):
                raise _refused("EXPLAIN of this is not understood")
            check(db, rest, reading=reading)
        elif kind in _BARRED or (reading and kind not in READING):
            raise _refused(f"{kind.replace('_', ' ')} is not for queries")


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # of statements that its Python has no name for: update extensions
        return UNKNOWN


def meant(name: str, names: Iterable[str]) -> list[str]:
    return [f"did you mean {n}?" for n in nearest(name, names)]


def _sentence(text: str) -> str:
    return text.rstrip("!.")


def _span(found: dict[str, Any], text: str) -> Span:
    """Of ``location``, which is begin and length in bytes, or of ``position``."""
    try:
        location = json.loads(found.get("location", "null"))
        begin, size = location if isinstance(location, list) else (int(found["position"]), 1)
    except (KeyError, ValueError, TypeError):
        return NOWHERE
    data = text.encode("utf-8", "surrogateescape")
    begin = max(0, min(int(begin), len(data)))
    end = max(begin, min(begin + max(1, int(size)), len(data)))
    (line, column), (last, beyond) = _place(data[:begin]), _place(data[:end])
    return Span(line, column, last, beyond)


def _place(before: bytes) -> tuple[int, int]:
    lines = before.decode("utf-8", "replace").split("\n")
    return len(lines), len(lines[-1]) + 1
