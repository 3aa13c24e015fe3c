"""Names, memory and stacks of recorded events. Small recordings are made by hand; expectations follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.collect.recorded.stacks import Stacks, split
from probescope.collect.recorded.symbols import KERNEL, Here, Symbols, bracketed
from probescope.collect.recorded.tasks import Tasks
from probescope.model.recording import Ended, EventBatch, MappedFile, Named, OtherRecord, Ragged, SideRecord, Started


def batch(tids: list[int], between: Sequence[tuple[int, SideRecord]], pids: list[int] | None = None) -> EventBatch:
    n = len(tids)
    zero = np.zeros(n, np.int32)
    return EventBatch(
        n,
        zero,
        np.arange(n, dtype=np.uint64),
        zero,
        np.array(pids or tids, np.int32),
        np.array(tids, np.int32),
        np.ones(n, np.uint64),
        between=tuple(between),
    )


def names(tasks: Tasks, b: EventBatch) -> list[str]:
    return [tasks.names[i] for i in tasks.columns(b)[0].tolist()]


def test_names_hold_from_their_record_on() -> None:
    tasks = Tasks()
    b = batch([7, 8, 7, 7, 8], [(0, Named(pid=7, tid=7, comm="a")), (3, Named(pid=7, tid=7, comm="b"))])
    assert names(tasks, b) == ["a", ":8", "a", "b", ":8"]
    assert names(tasks, batch([7, 0], [])) == ["b", "swapper"]


def test_a_child_has_its_parents_name_until_it_has_its_own() -> None:
    tasks = Tasks()
    told = [
        (0, Named(pid=1, tid=1, comm="sh")),
        (1, Started(pid=2, tid=2, parent=1, parent_tid=1)),
        (2, Named(pid=2, tid=2, comm="ls", exec=True)),
        (3, Ended(pid=2, tid=2)),
    ]
    assert names(tasks, batch([1, 2, 2, 2], told)) == ["sh", "sh", "ls", ":2"]


def mapped(pid: int, start: int, path: str, size: int = 0x1000) -> MappedFile:
    return MappedFile(pid=pid, tid=pid, start=start, size=size, path=path)


def found(tasks: Tasks, b: EventBatch, address: int) -> list[str]:
    out = []
    for space in tasks.columns(b)[1].tolist():
        at = tasks.spaces[space].find(address) if space >= 0 else None
        out.append("" if at is None else at.path)
    return out


def test_memory_is_that_of_the_moment() -> None:
    """Also after an exec, whose caller's stack is in the memory of before."""
    tasks = Tasks()
    told = [(1, mapped(7, 0x1000, "/a")), (3, mapped(7, 0x1000, "/b")), (4, Named(pid=7, tid=7, comm="x", exec=True))]
    assert found(tasks, batch([7] * 5, told), 0x1800) == ["", "/a", "/a", "/b", "/b"]


def test_memory_of_forks_goes_its_own_way() -> None:
    """What parent or child map later is theirs alone; threads share."""
    tasks = Tasks()
    told: list[tuple[int, SideRecord]] = [
        (0, mapped(1, 0x1000, "/a")),
        (0, Started(pid=2, tid=2, parent=1, parent_tid=1)),
        (0, Started(pid=1, tid=9, parent=1, parent_tid=1)),
        (0, mapped(1, 0x1000, "/parent")),
        (1, mapped(2, 0x1000, "/child")),
    ]
    assert found(tasks, batch([2, 1, 2, 9], told, [2, 1, 2, 1]), 0x1000) == ["/a", "/parent", "/child", "/parent"]


def test_only_spaces_with_events_are_made() -> None:
    """A thousand mappings before the first event are one address space."""
    tasks = Tasks()
    tasks.columns(batch([7], [(0, mapped(7, 0x1000 * i, f"/{i}")) for i in range(1000)]))
    assert len(tasks.spaces) == 1


CHANGES = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3), st.sampled_from("abc")), max_size=12).map(
    lambda c: sorted(c, key=lambda x: x[0])
)


@given(st.lists(st.integers(1, 3), min_size=12, max_size=12), CHANGES)
def test_names_are_those_of_a_plain_walk(tids: list[int], changes: list[tuple[int, int, str]]) -> None:
    """One event after the other, as it is defined."""
    expected, now = [], {t: f":{t}" for t in (1, 2, 3)}
    for i, tid in enumerate(tids):
        now.update({t: name for at, t, name in changes if at == i})
        expected.append(now[tid])
    told = [(at, Named(pid=t, tid=t, comm=name)) for at, t, name in changes]
    assert names(Tasks(), batch(tids, told)) == expected


# --- stacks


def ragged(pieces: list[list[int]]) -> Ragged:
    size = np.array([len(p) for p in pieces], np.int32)
    start = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64) if len(pieces) else np.zeros(0, np.int64)
    return Ragged(np.array([a for p in pieces for a in p], np.uint64), start, size)


@given(st.lists(st.lists(st.integers(0, (1 << 64) - 1), max_size=4), min_size=1), st.data())
def test_each_different_stack_once(pieces: list[list[int]], data: Any) -> None:
    """Two events have one number exactly if they have one stack in one address space."""
    spaces = [data.draw(st.integers(0, 1)) for _ in pieces]
    stacks = Stacks()
    numbers = stacks.numbers(ragged(pieces), np.array(spaces, np.int32)).tolist()
    for number, piece, space in zip(numbers, pieces, spaces, strict=True):
        assert (number == -1) == (not piece)
        assert not piece or stacks.chains[number] == (space, tuple(piece))
    again = stacks.numbers(ragged(pieces), np.array(spaces, np.int32)).tolist()
    assert again == numbers


def test_marks_part_the_kernel_from_the_user() -> None:
    """PERF_CONTEXT_KERNEL is -128, PERF_CONTEXT_USER -512, PERF_CONTEXT_GUEST_KERNEL -2176."""
    marks = [(1 << 64) - n for n in (128, 512, 2176)]
    assert split((marks[0], 10, 11, marks[1], 12, marks[2], 13)) == [
        (10, "kernel"),
        (11, "kernel"),
        (12, "user"),
        (13, "guest_kernel"),
    ]


# --- symbols

KALLSYMS = b"ffffffff81000000 T _text\nffffffff81001000 T here\nffffffff81002000 T there\n"


def symbols(recorded: str, core: int = 0) -> Symbols:
    s = Symbols(Here("6.1", "aa" * 20, lambda: KALLSYMS), {KERNEL: recorded} if recorded else {}, "6.1")
    text = MappedFile(pid=-1, start=core, size=1 << 30, offset=core, path=f"{KERNEL}_text")
    s.kernel_maps([text, MappedFile(pid=-1, start=0xFFFFFFFFC0000000, size=0x1000, path="/lib/modules/6.1/a-b.ko.xz")])
    return s


def test_kernel_that_was_loaded_elsewhere() -> None:
    """The recorded _text lies 16 MiB above ours."""
    frame = symbols("aa" * 20, 0xFFFFFFFF82000000).frame(None, 0xFFFFFFFF82001004, kernel=True)
    assert (frame.name, frame.offset, frame.module) == ("here", 4, KERNEL)


def test_another_kernel_gives_no_names() -> None:
    s = symbols("bb" * 20, 0xFFFFFFFF81000000)
    assert s.frame(None, 0xFFFFFFFF81001004, kernel=True).name == ""
    assert s.frame(None, 0xFFFFFFFFC0000010, kernel=True).module == "[a_b]"
    assert s.frame(None, 0x1000, kernel=True).module == ""
    assert s.missing == {KERNEL: 1, "[a_b]": 1, "": 1}


def test_code_that_the_kernel_made() -> None:
    """BPF programs are told of as they come and go; what they were called is known afterwards, too."""
    tasks = Tasks()
    start = 0xFFFFFFFFC0100000
    values: dict[str, Any] = {"addr": start, "len": 64, "ksym_type": 1, "flags": 0, "name": "bpf_prog_12_f"}
    tasks.apply(OtherRecord(kind="KSYMBOL", values=values))
    tasks.apply(OtherRecord(kind="KSYMBOL", values=values | {"flags": 1}))
    s = symbols("bb" * 20)
    s.kernel_maps(tasks.kernel)
    found = [s.frame(None, start + at, kernel=True) for at in (5, 64)]
    assert [(f.name, f.offset, f.module) for f in found] == [("bpf_prog_12_f", 5, "bpf_prog_12_f"), ("", 0, "")]


@pytest.mark.parametrize(("path", "name"), [("/m/a-b.ko", "[a_b]"), ("/m/x.ko.zst", "[x]"), ("/bin/ls", "/bin/ls")])
def test_names_of_modules(path: str, name: str) -> None:
    assert bracketed(path) == name


def test_memory_of_many_changes_is_bounded(monkeypatch):
    """What only adds to a process's memory makes no new space of it; what hides something does, until there are too
    many: then the newest holds for the events before as well, and that is counted."""
    from probescope.collect.recorded import tasks as module

    def mapped(start, path, size=0x1000):
        return MappedFile(pid=7, tid=7, start=start, size=size, path=path)

    tasks = module.Tasks()
    tasks.apply(mapped(0x1000, "a"))
    space = tasks.space_of(7)
    for n in range(2, 50):
        tasks.apply(mapped(n * 0x1000, str(n)))
    assert tasks.space_of(7) == space
    assert tasks.spaces[space].find(0x31010).path == "49"
    tasks.apply(mapped(0x1000, "b"))
    assert tasks.space_of(7) == space + 1
    assert (tasks.spaces[space].find(0x1010).path, tasks.spaces[space + 1].find(0x1010).path) == ("a", "b")
    monkeypatch.setattr(module, "MOST_KEPT", 0)
    tasks.apply(mapped(0x1000, "c"))
    assert tasks.space_of(7) == space + 1
    assert tasks.spaces[space + 1].find(0x1010).path == "c"
    assert tasks.merged == 1
