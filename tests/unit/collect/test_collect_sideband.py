"""Processes as perf tells of them. Records are drawn by hand from include/uapi/linux/perf_event.h."""

import struct

from probescope.collect.processes import MOST_MAPPED, Processes, _space_of
from probescope.collect.sideband import Executed, Exited, Forked, MapEvent, Mapped, Missed, decode, timed


def record(kind: int, body: bytes, misc: int = 0) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def mmap2(pid: int, start: int, size: int, name: bytes, prot: int = 5) -> bytes:
    return record(10, struct.pack("=IIQQQIIQQII", pid, pid, start, size, 0x1000, 8, 1, 42, 0, prot, 2) + name + b"\0")


def test_decode():
    data = (
        record(7, struct.pack("=IIIIQ", 20, 10, 20, 10, 0))  # fork
        + record(7, struct.pack("=IIIIQ", 10, 10, 21, 10, 0))  # a thread: no new process
        + record(3, struct.pack("=II", 20, 20) + b"cat\0", 1 << 13)  # exec
        + record(3, struct.pack("=II", 20, 20) + b"cat\0")  # renamed itself
        + mmap2(20, 0x400000, 0x2000, b"/bin/cat")
        + mmap2(20, 0x600000, 0x2000, b"/bin/cat", prot=3)  # data
        + record(2, struct.pack("=QQ", 1, 17))
        + record(4, struct.pack("=IIIIQ", 20, 10, 20, 10, 0))
    )
    assert list(decode(data)) == [
        Forked(20, 10),
        Executed(20),
        MapEvent(20, Mapped(0x400000, 0x402000, 0x1000, "/bin/cat", 42)),
        Missed(17),
        Exited(20),
    ]


def test_short_records_are_passed_over():
    """A kernel that tells less, or bytes that are damaged, must not end a session."""
    assert list(decode(record(10, b"\0" * 8) + record(4, b"\0" * 8) + record(2, b"") + b"\1\2\3")) == []


def test_later_mappings_hide_earlier_ones():
    """What lies beside the later one keeps its place in the file."""
    p = Processes()
    p._apply(Executed(-5))
    p._apply(MapEvent(-5, Mapped(0x1000, 0x5000, 0, "/a", 1)))
    p._apply(MapEvent(-5, Mapped(0x2000, 0x3000, 0, "/b", 2)))
    found = [p.symbol(-5, a) for a in (0x1004, 0x2004, 0x3004)]
    assert [(f.module, f.offset) for f in found] == [("/a", 4), ("/b", 4), ("/a", 0x2004)]


def test_a_process_that_maps_all_the_time_is_bounded():
    """A plugin that is loaded and unloaded for days: what is hidden for good is let go, what is seen stays."""
    p = Processes()
    p._apply(Executed(-5))
    p._apply(MapEvent(-5, Mapped(0x1000, 0x2000, 0, "/old", 1)))
    for i in range(3 * MOST_MAPPED):
        p._apply(MapEvent(-5, Mapped(0x8000, 0x9000, 0, f"/{i}", i)))
    assert len(p._known[-5].mapped) <= MOST_MAPPED
    assert p.symbol(-5, 0x1000).module == "/old"
    assert p.symbol(-5, 0x8000).module == f"/{3 * MOST_MAPPED - 1}"


def test_a_process_that_ended_keeps_its_mappings():
    """Stacks are printed long after their process is gone."""
    p = Processes()
    for change in (Executed(-5), MapEvent(-5, Mapped(0x1000, 0x2000, 0, "/nowhere", 9)), Exited(-5)):
        p._apply(change)
    frame = p.symbol(-5, 0x1004)
    assert (frame.module, frame.offset) == ("/nowhere", 4)


def test_a_fork_has_the_mappings_of_its_parent():
    p = Processes()
    p._apply(Executed(-5))
    p._apply(MapEvent(-5, Mapped(0x1000, 0x2000, 0, "/nowhere", 9)))
    p._apply(Forked(-6, -5))
    p._apply(Executed(-5))
    assert p.symbol(-6, 0x1004).module == "/nowhere"
    assert p.symbol(-5, 0x1004).module == ""
    assert len(_space_of(p._known[-6])) == 1


def test_timed_records_end_in_their_time():
    """What the last eight bytes say is not part of a name; records of several rings are put in order by it."""

    def at(time: int, whole: bytes) -> bytes:
        kind, misc, size = struct.unpack_from("=IHH", whole)
        return struct.pack("=IHH", kind, misc, size + 8) + whole[8:] + struct.pack("=Q", time)

    exec_ = at(5, record(3, struct.pack("=II", 20, 20) + b"cat\0", 1 << 13))
    mapped = at(9, mmap2(20, 0x400000, 0x2000, b"/bin/cat"))
    found = list(timed(mapped + exec_ + record(3, b"")))
    assert found == [
        (9, MapEvent(20, Mapped(0x400000, 0x402000, 0x1000, "/bin/cat", 42))),
        (5, Executed(20)),
    ]
