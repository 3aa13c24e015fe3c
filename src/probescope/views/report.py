"""Totals of a recording as perf-report(1) prints them with --stdio: a table, and below each row who called it.

# Overhead  Command  Shared Object      Symbol
# ........  .......  .................  ...................
    30.99%  swapper  [kernel.kallsyms]  [k] default_idle
            |
            ---default_idle
               |
               |--20.10%--cpuidle_enter
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probescope.collect.recorded.totals import Row
from probescope.frozen import dataclass, field
from probescope.model.visible import printable

HEADS = {
    "comm": "Command",
    "dso": "Shared Object",
    "sym": "Symbol",
    "pid": "Pid:Command",
    "tid": "Tid:Command",
    "cpu": "CPU",
}
_SHORT = ((10**9, "G"), (10**6, "M"), (10**3, "K"))
Path = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """``least``: rows below this percentage are left out; ``least_branch``: branches. ``graph``: "", "caller" (what
    led there) or "callee". ``counts``: with numbers of samples."""

    keys: tuple[str, ...] = ("comm", "dso", "sym")
    children: bool = False
    graph: str = ""
    least: float = 0.0
    least_branch: float = 0.5
    counts: bool = False


def heading(name: str, samples: int, weight: int) -> str:
    return f"# Samples: {_short(samples)} of event '{name}'\n# Event count (approx.): {weight}\n#\n"


def _short(n: int) -> str:
    for size, unit in _SHORT:
        if n >= size:
            return f"{n // size}{unit}"
    return f"{n} "


def table(rows: Sequence[Row], weight: int, look: Look) -> Iterator[str]:
    """The text of the table, piece by piece."""
    whole = weight or 1
    shown = [r for r in rows if 100 * (r.total if look.children else r.own) / whole >= look.least]
    heads = [*(["Children", "Self"] if look.children else ["Overhead"]), *(["Samples"] if look.counts else [])]
    first = len(heads)
    heads += [HEADS[k] for k in look.keys]
    cells = [_cells(r, whole, look) for r in shown]
    widths = [max([8 if i < first else 0, len(h), *(len(c[i]) for c in cells)]) for i, h in enumerate(heads)]
    yield (
        "# "
        + "  ".join(
            f"{h:>{w}}" if i < first else f"{h:<{w}}" for i, (h, w) in enumerate(zip(heads, widths, strict=True))
        ).rstrip()
        + "\n"
    )
    yield "# " + "  ".join("." * w for w in widths) + "\n#\n"
    for row, line in zip(shown, cells, strict=True):
        placed = [f"{c:>{w}}" if i < first else f"{c:<{w}}" for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        yield ("  " + "  ".join(placed)).rstrip() + "\n"
        if look.graph:
            yield from graph(row.stacks, whole, look)


def _cells(row: Row, whole: int, look: Look) -> list[str]:
    shares = [row.total, row.own] if look.children else [row.own]
    out = [f"{100 * s / whole:.2f}%" for s in shares]
    out += [str(row.samples)] if look.counts else []
    return out + [printable(k) for k in row.key]


# --- call graphs


@dataclass(slots=True)
class _Node:
    weight: int = 0
    below: dict[str, _Node] = field(default_factory=dict)


def graph(stacks: dict[Path, int], whole: int, look: Look) -> Iterator[str]:
    """Lines of a tree: a chain goes straight down, branches have their shares."""
    root = _Node()
    for path, weight in stacks.items():
        at = root
        at.weight += weight
        for _, name in reversed(path) if look.graph == "caller" else path:
            at = at.below.setdefault(name, _Node())
            at.weight += weight
    lines = list(_branches(root, whole, look.least_branch))
    if lines:
        indent = " " * 12
        yield f"{indent}|\n"
        yield from (f"{indent}{line}".rstrip() + "\n" for line in lines)
        yield "\n"


def _branches(root: _Node, whole: int, least: float) -> Iterator[str]:
    """Depth first, without recursion: stacks are as deep as they are."""
    waiting: list[tuple[_Node, str, bool]] = [(root, "", True)]
    pending: list[tuple[_Node, str, str]] = []
    while waiting or pending:
        if pending:
            node, head, prefix = pending.pop()
            yield head
            waiting.append((node, prefix, False))
        node, prefix, first = waiting.pop()
        kept = sorted(((n, name) for name, n in node.below.items()), key=lambda p: (-p[0].weight, p[1]))
        kept = [(n, name) for n, name in kept if 100 * n.weight / whole >= least]
        if len(kept) == 1 and kept[0][0].weight == node.weight:
            child, name = kept[0]
            mark = "---" if first else ""
            pending.append((child, prefix + mark + printable(name), prefix + (" " * 3 if first else "")))
            continue
        for i, (child, name) in reversed(list(enumerate(kept))):
            last = i == len(kept) - 1
            share = f"--{100 * child.weight / whole:.2f}%--"
            start = prefix + (" " if last else "|")
            head = f"{prefix}|\n{' ' * 12}{start}{share}{printable(name)}"
            pending.append((child, head, start + " " * len(share)))
