"""``script -D`` and ``report -D``: every record as it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.errors import UsageError
from probescope.model.visible import printable

if TYPE_CHECKING:
    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import ToldBatch

Line = Callable[["ToldBatch", int], bytes]
"""The text of one event of a batch."""


def dump(opened: Opened, write: Callable[[bytes], object], line: Line | None, *, unsorted: bool = False) -> None:
    """``line``: what is printed behind each sample, if anything. ``unsorted``: as the file has them."""
    from probescope.formats.perfdata import open_perfdata
    from probescope.formats.perfdata import records as r
    from probescope.formats.perfdata.layout import READ_VALUES
    from probescope.kernel.uapi.perf import PERF_FORMAT_GROUP
    from probescope.views.dump import Dump

    name = opened.recording.name
    if not hasattr(opened.recording, "container") or name in {"", "-"} or opened.recording.container.pipe:
        raise UsageError("records are dumped of a perf.data that is a file")
    events = iter(()) if unsorted else _events(opened)
    ahead = next(events, None)
    with open_perfdata(name) as raw:
        view = Dump(name, raw.attrs, raw.ids, raw.machine.arch, big=raw.container.big)
        grouped = any(a.sample_type & READ_VALUES and a.read_format & PERF_FORMAT_GROUP for a in raw.attrs)
        found = view.found(raw.records(), raw.container.data[0])
        for one in found if unsorted else view.ordered(found):
            write((view.raw(one) + view.text(one)).encode("utf-8", "surrogateescape"))
            if one.kind != r.SAMPLE or ahead is None:
                continue
            time = ahead[0].batch.time[ahead[1]]
            while ahead is not None:
                write(_resolved(opened, *ahead))
                write(line(*ahead) if line is not None else b"")
                ahead = next(events, None)
                if not grouped or ahead is None or ahead[0].batch.time[ahead[1]] != time:
                    break


def _events(opened: Opened) -> Iterator[tuple[ToldBatch, int]]:
    for batch in opened.told.batches():
        for i in range(batch.batch.count):
            yield batch, i


def _resolved(opened: Opened, told: ToldBatch, i: int) -> bytes:
    """Whose it is, and in which file."""
    b = told.batch
    comm = opened.told.tasks.names[int(told.names[i])]
    module = ""
    if "ip" in b.numbers:
        kernel = "misc" in b.numbers and int(b.numbers["misc"][i]) & 7 == 1
        module = opened.told.frame(int(told.spaces[i]), int(b.numbers["ip"][i]), kernel).module
    text = f" ... thread: {printable(comm)}:{int(b.tid[i])}\n ...... dso: {printable(module) or '<not found>'}\n"
    return text.encode("utf-8", "surrogateescape")
