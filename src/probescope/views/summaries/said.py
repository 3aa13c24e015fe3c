"""What every summary is made of: lines, the time it is about, and losses, which come first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from probescope.frozen import dataclass
from probescope.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probescope.store.session import Stores

NS_S = 10**9
WIDTH = 24
"""Characters of a sparkline."""


class Said(NamedTuple):
    """``text``: lines, with their ends; ``data``: the same as values, None where the text is for people alone."""

    text: str
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of time (ns, both ends included); what ended in it is summed up."""

    first: int
    last: int

    @property
    def params(self) -> dict[str, int]:
        return {"first": self.first, "last": self.last}


@dataclass(frozen=True, slots=True)
class Kind:
    """``needs``: kinds of events as globs, alternatives parted by ``|``; ``record``: what records them."""

    needs: tuple[str, ...]
    record: str
    say: Callable[[Stores, Window, int], Iterator[Said]]


def whole(store: Stores) -> Window:
    """From the first event to the last one."""
    found = next(iter(store.query("select min(start_ts), max(end_ts) from recording").tuples()), (None, None))
    return Window(int(found[0] or 0), int(found[1] or 0))


LOSSES = """select r.path, s.name, s.severity, sum(s.count)::bigint as count, any_value(s.about) as about,
  any_value(s.advice) as advice
from stats s join recording r on r.id = s.recording where s.severity in ('error', 'warning')
group by all order by s.severity, 4 desc, r.path limit 12"""


def losses(store: Stores) -> Iterator[Said]:
    """What is missing of the recordings, the worst first."""
    found = store.query(LOSSES)
    for row in found:
        advice = f" ({row['advice']})" if row["advice"] else ""
        yield Said(
            visible(f"{row['severity'].upper()}: {row['count']} times: {row['about']}{advice}\n"),
            {"type": "loss", **row},
        )


def present(store: Stores) -> dict[str, int]:
    """Kinds of events that were recorded, with how many there are."""
    return dict(store.query("select name, sum(events)::bigint from event_kind group by name").tuples())


def lacking(needs: Iterable[str], kinds: Iterable[str]) -> list[str]:
    """The needs that no kind satisfies."""
    from fnmatch import fnmatchcase

    known = list(kinds)
    return [n for n in needs if not any(fnmatchcase(k, one) for one in n.split("|") for k in known)]


def cell(text: object, width: int) -> str:
    """One line, nothing that terminals obey, cut to ``width``."""
    shown = visible(str(text)).replace("\n", "\\n").replace("\t", "\\t")
    return shown if len(shown) <= width else shown[: max(0, width - 1)] + "~"


def more(left: int, what: str) -> Iterator[Said]:
    if left > 0:
        yield Said(f"  ... and {left:,} more {what} (--rows)\n")
