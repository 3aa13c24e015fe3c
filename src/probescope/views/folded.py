"""Stacks as folded lines, which flame-graph tools read: ``comm;outer;inner 12``.

Kernel frames follow those of the user program that called into the kernel, and end in ``_[k]``; ``_[i]`` marks inlined
functions: the marks that stackcollapse-perf.pl gives and viewers colour by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probescope.model.abi import item_types
from probescope.model.aggregate import monoid
from probescope.model.output import Frame, MapOut, Output, StackOut, ValueOut
from probescope.model.text import value_text
from probescope.model.types import Agg, Int, Opaque, Record, Tuple, Type
from probescope.views.rows import frame_name
from probescope.views.text import TextView

Leaf = tuple[Type, Any]


class FoldedView:
    """Maps and values with stacks go to stdout; all else goes to stderr, as text: stdout is for the flame graph.
    ``named``: more than one map has stacks, so each line begins with the map's name."""

    def __init__(self, *, named: bool = False, quiet: bool = False, no_warnings: bool = False) -> None:
        self._named = named
        self._rest = TextView(quiet=quiet, no_warnings=no_warnings)

    def show(self, output: Output) -> tuple[str, str]:
        match output:
            case MapOut() if has_stack(output.key_type) or has_stack(output.value_type):
                return folded_map(output, root=f"@{output.name}" if self._named else ""), ""
            case ValueOut() if has_stack(output.type):
                assert not isinstance(output.type, Agg)
                return f"{folded(list(leaves(output.type, output.value)))} 1\n", ""
            case _:
                out, err = self._rest.show(output)
                return "", err + out

    def end(self) -> str:
        return ""


def has_stack(t: Type | Agg | None) -> bool:
    match t:
        case Opaque(kind="kstack" | "ustack"):
            return True
        case Tuple() | Record():
            return any(map(has_stack, item_types(t)))
        case _:
            return False


def folded_map(o: MapOut, root: str = "") -> str:
    """A line for each entry; those that became equal, since folded frames have no offsets, are put together."""
    lines: dict[str, int] = {}
    for k, v in o.items:
        found = list(leaves(o.key_type, k)) if o.key_type is not None else []
        if has_stack(o.value_type):
            assert not isinstance(o.value_type, Agg)
            found += leaves(o.value_type, v)
        line = folded(found, root)
        lines[line] = lines.get(line, 0) + weight(o.value_type, v) // (o.div or 1)
    return "".join(f"{line} {n}\n" for line, n in lines.items())


def leaves(t: Type, v: Any) -> Iterator[Leaf]:
    """The values inside of tuples and records, in order."""
    if isinstance(t, Tuple | Record):
        for i, x in zip(item_types(t), v, strict=True):
            yield from leaves(i, x)
    else:
        yield t, v


def folded(found: list[Leaf], root: str = "") -> str:
    """What is no stack comes first, then user frames, then kernel frames, each from the outermost."""
    stacks = sorted((v for _, v in found if isinstance(v, StackOut)), key=lambda s: not s.user)
    heads = [value_text(t, v).replace(";", ":").replace("\n", " ") for t, v in found if not isinstance(v, StackOut)]
    parts = [root] if root else []
    parts += [h for h in heads if h]
    for s in stacks:
        parts += [_marked(f, s.user) for f in reversed(s.frames)]
    return ";".join(parts) or "[no stack]"


def _marked(f: Frame, user: bool) -> str:
    return frame_name(f) + ("" if user and not f.inlined else "_[i]" if user else "_[k]")


def weight(t: Type | Agg, v: Any) -> int:
    """What adds up: of averages the total, of histograms the number of values; 1 for what is no number."""
    match t:
        case Agg(kind="avg" | "stats"):
            return int(v[0])
        case Agg(kind="stddev"):
            return int(v[1])
        case Agg():
            return monoid(t).number(v)
        case Int():
            return int(v)
        case _:
            return 1
