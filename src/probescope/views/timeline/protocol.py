"""What goes between the page and its server: questions as JSON, replies as a head of JSON and arrays of numbers.

A question is text:  {"id": 7, "op": "slices", "args": {...}}, or {"cancel": 7}, which ends one.

A reply is bytes:

    0        4                            8-aligned
    ┌────────┬───────────────────────────┬───────────────┬───────────────┐
    │ u32 LE │ head: JSON, UTF-8, spaces │ array, padded │ array, padded │
    │ length │ up to a multiple of 8 - 4 │ to 8 bytes    │ to 8 bytes    │
    └────────┴───────────────────────────┴───────────────┴───────────────┘

The head has ``id`` and ``ok``; ``arrays`` says of each one its type, where it begins behind the head, and how many
numbers it has. A head without ``ok`` but with ``push``, and id 0, was not asked for.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from probescope.errors import FormatError, UsageError
from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

TYPES = {"f64": "<f8", "i32": "<i4", "u32": "<u4", "u16": "<u2", "u8": "|u1"}
"""Of arrays: what the page calls them, and numpy."""
_NAMES = {numpy: name for name, numpy in TYPES.items()}
MOST_QUESTION = 1 << 20
MOST_IN_FLIGHT = 64
_LENGTH = struct.Struct("<I")

_VIEW: dict[str, tuple[str, bool]] = {
    "track": ("text", True),
    "start": ("number", True),
    "end": ("number", True),
    "width": ("number", True),
    "filter": ("text", False),
}
#: What may be asked, with what each question takes: name -> (kind, whether it must be there).
OPS: dict[str, dict[str, tuple[str, bool]]] = {
    "open": {},
    "tracks": {
        "parent": ("text?", False),
        "offset": ("number", False),
        "limit": ("number", False),
        "find": ("text", False),
        "sort": ("text", False),
        "ids": ("list", False),
    },
    "slices": _VIEW,
    "area": _VIEW,
    "arrows": {
        "start": ("number", True),
        "end": ("number", True),
        "limit": ("number", False),
        "filter": ("text", False),
    },
    "lost": {"start": ("number", True), "end": ("number", True), "width": ("number", True)},
    "events": {"filter": ("text", False), "offset": ("number", False), "limit": ("number", False)},
    "locate": {"filter": ("text", False), "ts": ("number", True)},
    "row_of": {"filter": ("text", False), "id": ("number", True)},
    "detail": {"kind": ("text", True), "id": ("number", True)},
    "find": {
        "text": ("text", False),
        "kind": ("text", False),
        "from": ("number", True),
        "forward": ("flag", False),
        "filter": ("text", False),
    },
    "step": {
        "track": ("text", True),
        "ts": ("number", True),
        "id": ("number", False),
        "forward": ("flag", False),
    },
    "count": {"text": ("text", False), "kind": ("text", False), "filter": ("text", False)},
    "select": {
        "start": ("number", True),
        "end": ("number", True),
        "tracks": ("list?", False),
        "what": ("text", True),
        "filter": ("text", False),
    },
    "sql": {
        "sql": ("text", True),
        "limit": ("number", False),
        "start": ("number", False),
        "end": ("number", False),
    },
    "plot": {"title": ("text", True), "sql": ("text", True)},
    "complete": {"sql": ("text", True), "at": ("number", True)},
    "check": {"filter": ("text", True)},
    "stop": {},
    "record": {
        "events": ("text", True),
        "pid": ("number", False),
        "seconds": ("number", False),
        "stacks": ("flag", False),
    },
}


@dataclass(frozen=True, slots=True)
class Question:
    """``cancels``: the number of the question that is to end; then there is no ``op``."""

    id: int
    op: str
    args: Mapping[str, Any] = field(default_factory=dict)
    cancels: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """``head``: what the operation has to say; ``arrays``: columns of numbers, of which those in ``names`` are numbers
    of names."""

    head: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    names: tuple[str, ...] = ()


class RefusedQuestionError(UsageError):
    """``id``: of the question, where it has one; else 0."""

    def __init__(self, message: str, number: int = 0) -> None:
        super().__init__(message)
        self.id = number


def question(text: str) -> Question:
    """Raises RefusedQuestionError for whatever is no question."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedQuestionError("this is no JSON") from None
    if not isinstance(found, dict):
        raise RefusedQuestionError("a question is an object")
    if "cancel" in found:
        return Question(0, "", cancels=_number(found["cancel"]))
    number, op, args = _number(found.get("id")), found.get("op"), found.get("args", {})
    if not isinstance(op, str) or op not in OPS:
        raise RefusedQuestionError(f"there is no question '{str(op)[:40]}'", number)
    if not isinstance(args, dict):
        raise RefusedQuestionError("args is an object", number)
    return Question(number, op, _checked(op, args, number))


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 53:
        raise RefusedQuestionError("id is a number from 1 on")
    return value


def _checked(op: str, args: Mapping[str, Any], number: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, (kind, needed) in OPS[op].items():
        value = args.get(name)
        if value is None:
            if needed:
                raise RefusedQuestionError(f"{op} needs {name}", number)
            continue
        if not _KINDS[kind.rstrip("?")](value):
            raise RefusedQuestionError(f"{op}: {name} is a {kind.rstrip('?')}", number)
        out[name] = value
    return out


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 63


_KINDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda v: isinstance(v, str),
    "number": _is_number,
    "flag": lambda v: isinstance(v, bool),
    "list": lambda v: isinstance(v, list) and len(v) <= 10_000 and all(isinstance(x, str) for x in v),
}


def encode(head: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> bytes:
    """A reply as it goes over the wire."""
    arrays = arrays or {}
    described: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in arrays.items():
        data = array.tobytes()
        described[name] = (_NAMES[array.dtype.newbyteorder("<").str], at, len(array))
        parts += (data, b"\0" * (-len(data) % 8))
        at += len(data) + -len(data) % 8
    whole = {**head, "arrays": described} if arrays else head
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = text.encode("utf-8", "replace")
    data += b" " * (-(len(data) + 4) % 8)
    return b"".join((_LENGTH.pack(len(data)), data, *parts))


def decode(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """A reply as the page takes it apart: for tests and for programs. Raises FormatError."""
    import numpy as np

    try:
        (length,) = _LENGTH.unpack_from(data)
        if length > len(data) - 4:
            raise ValueError("it is cut")
        head = json.loads(data[4 : 4 + length])
        base = 4 + length
        arrays = {
            name: np.frombuffer(data, TYPES[kind], count, base + at)
            for name, (kind, at, count) in head.pop("arrays", {}).items()
        }
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as e:
        raise FormatError(f"this is no reply: {e}") from None
    return head, arrays


def refusal(number: int, error: str, hint: str = "", at: int | None = None) -> bytes:
    """``at``: the character of the query or filter that is wrong."""
    return encode({"id": number, "ok": False, "error": error, "hint": hint, "at": at})


def push(what: str, /, **more: Any) -> bytes:
    """What the page is told without having asked."""
    return encode({"id": 0, "push": what, **more})
