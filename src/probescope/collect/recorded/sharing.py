"""A recording that several processes read, all in step: each tells the events of its own pieces, and what it makes of
them is put together in the order of the recording.

All of them walk from record to record and apply what happened to processes, which is a small part of the work; columns,
names, stacks and texts are made by one of them for each piece. So every one of them knows at every event what a single
process would know, wherever the pieces are cut, and nothing has to be found out about the middle of a file.

    us          read 0  make 0  give 0 | read 1 | read 2  make 2  give 1, from the worker  give 2 | ...
    worker 1    read 0 | read 1  make 1  send | read 2 | read 3  make 3 ...
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Dict
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.symbolize import AddressSpace
from probescope.errors import ProbescopeError
from probescope.frozen import dataclass, fields
from probescope.kernel.workers import Workers, can_fork, processors
from probescope.model.recording import MappedFile
from probescope.model.sharing import Share

if TYPE_CHECKING:
    from probescope.collect.recorded.told import Told, ToldBatch
    from probescope.debuginfo.symbolize import Mapping
    from probescope.kernel.workers import Send

    Make = Callable[[ToldBatch], bytes]

LEAST, LEAST_SQUEEZED = 1 << 24, 1 << 21
"""Bytes of a file, and of one whose records are compressed, from which on more than one process is worth it."""


def jobs_for(told: Told, wanted: int) -> int:
    """How many processes read a recording: ``wanted``, or with 0 as many as there are processors, if it is large. One,
    where it cannot be shared."""
    recording: Any = told.recording
    if wanted == 1 or not getattr(recording, "shared", False) or not can_fork():
        return 1
    if not wanted:
        least = LEAST_SQUEEZED if "COMPRESSED" in recording.features else LEAST
        return processors() if recording.size >= least else 1
    return wanted


def parts(told: Told, make: Make, jobs: int) -> Iterator[bytes | memoryview]:
    """What ``make`` gives for each batch of a recording, in order; each is to be used before the next is asked for.
    Where several processes do that, what it gives for what happened between events of others' pieces is not used.
    What of the file was lost, and the numbers of unwound stacks, are complete at the end."""
    if jobs <= 1:
        for batch in told.batches():
            yield make(batch)
        return
    with Workers(jobs - 1, lambda number, send: _work(told, make, Share(number, jobs), send)) as workers:
        share = told.share = Share(0, jobs)
        given = 0  # pieces

        def until(end: int) -> Iterator[memoryview]:
            nonlocal given
            for piece in range(given, end):
                given = piece + 1
                if piece % jobs:
                    yield from workers.take(piece % jobs)

        for found in _or_error(told.batches()):
            yield from until(share.at)
            if isinstance(found, ProbescopeError):  # of the recording: what came before is good
                yield from until(share.at + 1)
                raise found
            made = make(found)
            if share.mine:
                yield made
        yield from until(share.at + 1)
        for number in range(1, jobs):
            _joined(told, workers.value(number))


def sums(
    told: Told, add: Callable[[ToldBatch], None], part: Callable[[], Any], join: Callable[[Any], None], jobs: int
) -> None:
    """Has ``add`` called for each batch of a recording, and for what happened between. Where several processes do that,
    each adds to a copy of what there is now; ``part`` is what a worker has added, ``join`` takes it in here. Batches
    without events, of which ``told.share.mine`` is false, are only there for what happened between."""
    if jobs <= 1:
        for batch in told.batches():
            add(batch)
        return

    def work(number: int, send: Send) -> None:
        told.share = Share(number, jobs)
        told.recording.reopen()  # type: ignore[attr-defined]
        for batch in told.batches():
            if told.share.mine:
                add(batch)
        send(pickle.dumps((part(), _found(told))))

    with Workers(jobs - 1, work) as workers:
        told.share = Share(0, jobs)
        for batch in told.batches():
            add(batch)
        for number in range(1, jobs):
            sent, found = workers.value(number)
            join(sent)
            _joined(told, found)


@dataclass(frozen=True, slots=True)
class Known:
    """What numbers of another process's ``Told`` are here, by number."""

    names: Sequence[int]
    spaces: Dict[int, int]
    stacks: Sequence[int]


def meanings(told: Told, spaces: Iterable[int]) -> Any:
    """Of all names and stacks, and of those address spaces and the stacks', for ``known``."""
    chains = told.stacks.chains
    wanted = {s for s in (*spaces, *(space for space, _ in chains)) if s >= 0}
    described = [(n, told.tasks.spaces[n].pid, list(told.tasks.spaces[n].mappings())) for n in sorted(wanted)]
    return told.tasks.names, [(n, pid, [_values(m) for m in maps]) for n, pid, maps in described], chains


def known(told: Told, meant: Any) -> Known:
    """The same, here: address spaces are taken over, names and stacks that are known have their number."""
    names, spaces, chains = meant
    maps: dict[tuple[Any, ...], MappedFile] = {}
    moved = {-1: -1}
    for number, pid, values in spaces:
        moved[number] = len(told.tasks.spaces)
        mappings = [maps.setdefault(v, MappedFile(*v)) for v in values]
        told.tasks.spaces.append(AddressSpace(mappings, pid=pid))
    stacks: list[int] = []
    for space, addresses in chains:
        stacks.append(len(told.stacks.chains))
        told.stacks.chains.append((moved[space], addresses))
    return Known([told.tasks.number(name) for name in names], moved, stacks)


def _values(m: Mapping) -> tuple[Any, ...]:
    """Once for each record, however many address spaces have it."""
    return tuple(getattr(m, f.name) for f in fields(MappedFile))


def _or_error(batches: Iterator[ToldBatch]) -> Iterator[ToldBatch | ProbescopeError]:
    try:
        yield from batches
    except ProbescopeError as error:
        yield error


def _work(told: Told, make: Make, share: Share, send: Send) -> None:
    """In a worker. A piece without a batch gives nothing, too."""
    told.share = share
    told.recording.reopen()  # type: ignore[attr-defined]
    sent = share.number

    def until(end: int) -> None:
        nonlocal sent
        while sent < end:
            send(b"")
            sent += share.of

    for batch in told.batches():
        until(share.at)
        made = make(batch)
        if share.mine:
            send(made)
            sent += share.of
    until(share.at + 1)
    send(pickle.dumps(_found(told)))


def _found(told: Told) -> Any:
    unwinder, unnamed = told.unwinder, getattr(told.symbols, "unnamed", None)
    damage = told.recording.own_damage()  # type: ignore[attr-defined]
    return damage, unwinder.cut, unwinder.unwound, told.tasks.merged, unnamed() if unnamed is not None else None


def _joined(told: Told, found: Any) -> None:
    damage, cut, unwound, merged, unnamed = found
    if unnamed is not None:
        told.symbols.joined(unnamed)
    told.recording.joined(damage)  # type: ignore[attr-defined]
    told.unwinder.cut += cut
    told.unwinder.unwound += unwound
    told.tasks.merged = max(told.tasks.merged, merged)
