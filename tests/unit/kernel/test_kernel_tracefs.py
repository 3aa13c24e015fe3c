"""tracefs on a fake host: found or explained, never walked out of, cleaned of our dead only."""

from __future__ import annotations

import errno
import os

import pytest

from probescope.errors import KernelError, PermissionDenied, Unsupported
from probescope.kernel import leftovers, procfs, tracefs
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import Host, use_host

T = "/sys/kernel/tracing"


def host_with(files: dict[str, str], root: str = T, **more) -> FakeHost:
    base = {"available_events": "sched:sched_switch\nsyscalls:sys_enter_openat\nbad line\n"}
    return FakeHost({f"{root}/{k}": v for k, v in (base | files).items()}, **more)


def test_found_at_the_usual_place_or_where_it_is_mounted():
    """debugfs on old machines, or anywhere that /proc/mounts says."""
    for root in (T, "/sys/kernel/debug/tracing"):
        with use_host(host_with({}, root)):
            assert tracefs.find_root() == root
    odd = host_with({}, "/mnt/my trace")
    odd.files["/proc/mounts"] = b"nodev /mnt/my\\040trace tracefs rw 0 0\n"
    with use_host(odd):
        assert tracefs.find_root() == "/mnt/my trace"


def test_absent_says_how_to_mount_it():
    with use_host(FakeHost()), pytest.raises(Unsupported) as e:
        tracefs.find_root()
    assert "mount -t tracefs nodev /sys/kernel/tracing" in e.value.hints[0]


def test_forbidden_is_not_absent():
    """A user without root must not be told to mount it."""
    host = host_with({})
    host.denied.add(T)
    with use_host(host), pytest.raises(PermissionDenied) as e:
        tracefs.find_root()
    assert not any("mount -t" in hint for hint in e.value.hints)


def test_events_are_listed_and_looked_up():
    with use_host(
        host_with({"events/sched/sched_switch/id": "372\n", "events/sched/sched_switch/format": "name: x\n"})
    ):
        assert tracefs.available_events() == [("sched", "sched_switch"), ("syscalls", "sys_enter_openat")]
        assert tracefs.event_id("sched", "sched_switch") == 372
        assert tracefs.event_format("sched", "sched_switch") == "name: x\n"
        assert tracefs.has_event("sched", "sched_switch")
        assert not tracefs.has_event("sched", "nope")
        with pytest.raises(KernelError) as e:
            tracefs.event_id("sched", "nope")
        assert e.value.errno == errno.ENOENT


@pytest.mark.parametrize(
    ("category", "name"), [("..", "x"), ("a/../../..", "x"), ("sched", ".."), ("", "x"), ("x", ""), ("a\0", "b")]
)
def test_names_cannot_leave_the_events_folder(category, name):
    """Probe names come from scripts."""
    with use_host(host_with({})), pytest.raises(KernelError):
        tracefs.event_format(category, name)


def test_functions_with_modules_and_without_the_invalid_ones():
    text = "vfs_read\n__ftrace_invalid_address___64\next4_readdir [ext4]\n\n"
    with use_host(host_with({"available_filter_functions": text})):
        assert list(tracefs.filter_functions()) == [("vfs_read", ""), ("ext4_readdir", "ext4")]


def test_the_kprobe_blacklist():
    listing = "0xffffffff81000000-0xffffffff81000010\tnoprobe_me\n0xffffffff81000020-0xffffffff81000030\tme_too\n"
    with use_host(FakeHost({"/sys/kernel/debug/kprobes/blacklist": listing})):
        assert tracefs.kprobe_blacklist() == {"noprobe_me", "me_too"}
    with use_host(FakeHost()):
        assert tracefs.kprobe_blacklist() == frozenset()


ERROR_LOG = """\
[  100.1] trace_kprobe: error: Old trouble
  Command: p:a/b nosuch
                 ^
[  200.2] trace_uprobe: error: Invalid register name
  Command: p:x/y /bin/ls:0x10 a=%zz
                              ^
"""


def test_the_error_log_is_cumulative():
    """Only the last entry counts, and only if it is about our command."""
    assert (
        tracefs.parse_error_log(ERROR_LOG, "p:x/y /bin/ls:0x10 a=%zz\n") == "trace_uprobe: error: Invalid register name"
    )
    assert tracefs.parse_error_log(ERROR_LOG, "p:a/b nosuch") == ""
    assert tracefs.parse_error_log("", "x") == ""


def test_a_refused_write_carries_the_kernels_words():
    host = host_with({"error_log": ERROR_LOG, "uprobe_events": ""})

    class Refusing(FakeHost):
        def write(self, path: str, data: bytes | str, *, truncate: bool = False) -> None:
            raise OSError(errno.EINVAL, "no")

    refusing = Refusing(host.files)
    with use_host(refusing), pytest.raises(KernelError) as e:
        tracefs.write("uprobe_events", "p:x/y /bin/ls:0x10 a=%zz")
    assert e.value.where == "trace_uprobe: error: Invalid register name"


def test_instances_carry_our_prefix_and_vanish():
    host = host_with({}, pid=77, inodes={"/proc/self/ns/pid": 0xABC})
    with use_host(host):
        with tracefs.Instance("rec") as instance:
            assert instance.path == f"{T}/instances/probescope_77_abc_rec"
            assert instance.path in host.inodes
        assert instance.path not in host.inodes


def leftover_host() -> FakeHost:
    events = (
        "p:probescope_11_abc_k/a vfs_read\n"  # owner 11 is dead
        "r8:probescope_12_abc_k/b vfs_read\n"  # owner 12 lives
        "p:probescope_13_def_k/c vfs_read\n"  # of another pid namespace
        "p:someone/else vfs_read\n"
    )
    files = {"dynamic_events": events}
    for group in ("probescope_11_abc_k/a", "probescope_12_abc_k/b", "probescope_13_def_k/c", "someone/else"):
        files[f"events/{group}/enable"] = "1"
    inodes = {"/proc/self/ns/pid": 0xABC, "/proc/12": 1}
    for name in ("probescope_11_abc_i", "probescope_12_abc_i", "probescope_x", "other"):
        inodes[f"{T}/instances/{name}"] = 5
    return host_with(files, inodes=inodes)


def test_leftovers_are_told_from_the_living_and_from_others():
    with use_host(leftover_host()):
        found = {(item.kind, item.name): item.alive for item in leftovers.leftovers()}
    assert found == {
        ("event", "probescope_11_abc_k/a"): False,
        ("event", "probescope_12_abc_k/b"): True,
        ("event", "probescope_13_def_k/c"): True,
        ("instance", "probescope_11_abc_i"): False,
        ("instance", "probescope_12_abc_i"): True,
    }


def test_reaping_touches_only_our_dead():
    """Another tracer's state, and that of our living, stays as it is."""
    host = leftover_host()
    with use_host(host):
        gone = leftovers.reap()
    assert [item.name for item in gone] == ["probescope_11_abc_i", "probescope_11_abc_k/a"]
    written = [w for w in host.written if "instances" not in w[0]]
    assert written == [
        (f"{T}/events/probescope_11_abc_k/a/enable", b"0"),
        (f"{T}/dynamic_events", b"-:probescope_11_abc_k/a"),
    ]
    assert [p for p in host.inodes if "instances" in p] == [
        f"{T}/instances/probescope_12_abc_i",
        f"{T}/instances/probescope_x",
        f"{T}/instances/other",
    ]


def test_a_zombie_has_left_what_it_had():
    """Nobody has waited for a run that was killed together with what started it: it is in /proc, and dead."""
    host = leftover_host()
    host.files["/proc/12/stat"] = b"12 (a) Z b) Z 1 12 12 0 -1"
    with use_host(host):
        assert [x.name for x in leftovers.leftovers() if not x.alive and x.pid == 12] == [
            "probescope_12_abc_k/b",
            "probescope_12_abc_i",
        ]
        host.files["/proc/12/stat"] = b"12 (a) Z b) S 1 12 12 0 -1"
        assert all(x.alive for x in leftovers.leftovers() if x.pid == 12)


def test_a_child_that_nobody_waited_for_has_ended():
    child = os.fork()
    if not child:
        os._exit(0)
    try:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert procfs.alive(child)
        assert procfs.ended(child)
        assert not procfs.ended(os.getpid())
    finally:
        os.waitpid(child, 0)
    assert procfs.ended(child)


def test_an_event_that_is_off_is_not_switched_off():
    """The kernel gives the top buffer its usual size as soon as any of its events is told to be on or off."""
    host = leftover_host()
    host.files[f"{T}/events/probescope_11_abc_k/a/enable"] = b"0\n"
    with use_host(host):
        leftovers.reap()
    written = [w for w in host.written if "instances" not in w[0]]
    assert written == [(f"{T}/dynamic_events", b"-:probescope_11_abc_k/a")]


def test_words_of_the_command_line_are_written_as_the_bytes_they_are(tmp_path):
    """A name in Latin-1 comes as a lone surrogate: what the kernel is told is the byte, not an UnicodeEncodeError."""
    file = tmp_path / "filter"
    file.touch()
    Host().write(str(file), "comm == \udcff")
    assert file.read_bytes() == b"comm == \xff"
    Host().write_whole(str(file), "\udcff")
    assert file.read_bytes() == b"\xff"
