"""CPUs, settings, build options, control groups and privileges, out of the kernel's text."""

from __future__ import annotations

import contextlib
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.errors import FormatError, KernelError
from probescope.kernel import cgroups, machine, privileges
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import Host, use_host


@pytest.mark.parametrize(
    ("text", "cpus"), [("0\n", [0]), ("0-3\n", [0, 1, 2, 3]), ("0-1,4,6-7\n", [0, 1, 4, 6, 7]), ("\n", [])]
)
def test_cpu_lists(text, cpus):
    """The kernel's list format; an empty file is no CPU (``offline``)."""
    assert machine.parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["x", "3-1", "0-99999999", "-1", "1-", "0--2"])
def test_impossible_cpu_lists_are_format_errors(text):
    """A huge range must not become a huge list."""
    if text == "1-":
        assert machine.parse_cpus(text) == [1]
        return
    with pytest.raises(FormatError):
        machine.parse_cpus(text)


@given(st.text(alphabet="0123456789-, \nx", max_size=40))
def test_cpu_lists_give_numbers_or_a_format_error(text):
    """Never another exception."""
    with contextlib.suppress(FormatError):
        assert all(0 <= n < 65536 for n in machine.parse_cpus(text))


def test_without_sysfs_there_is_a_typed_error_with_the_way_to_mount_it():
    with use_host(FakeHost()), pytest.raises(KernelError, match="cpu/possible failed: ENOENT") as caught:
        machine.possible_cpus()
    assert "mount -t sysfs" in caught.value.hints[0]


def test_sysctls():
    """Absent, empty, negative, and with several numbers in a file."""
    files = {
        "/proc/sys/kernel/perf_event_paranoid": "-1\n",
        "/proc/sys/kernel/printk": "4\t4\t1\t7\n",
        "/proc/sys/a": "\n",
    }
    with use_host(FakeHost(files)):
        assert machine.sysctl_int("kernel.perf_event_paranoid") == -1
        assert machine.sysctl_int("kernel.printk") == 4
        assert machine.sysctl_int("a") is None
        assert machine.sysctl("no.such") is None


def test_kernel_config_from_either_place():
    """Compressed in /proc, or a file of the distribution; damage means no configuration, not an exception."""
    text = 'CONFIG_BPF=y\n# CONFIG_KPROBES is not set\nCONFIG_CC="gcc 1=2"\n'
    gz = zlib.compressobj(wbits=31)
    packed = gz.compress(text.encode()) + gz.flush()
    wanted = {"CONFIG_BPF": "y", "CONFIG_CC": "gcc 1=2"}
    for files in ({"/proc/config.gz": packed}, {"/boot/config-6.0.0-fake": text}):
        with use_host(FakeHost(files)):
            assert machine.kernel_config() == wanted
    with use_host(FakeHost({"/proc/config.gz": b"\x1f\x8bjunk"})):
        assert machine.kernel_config() == {}


def test_clock_offsets_agree_with_the_clocks():
    """Wall time = monotonic + offset, within a millisecond (the difference of two readings)."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + machine.wall_offset_ns()
    assert abs(now - time.time_ns()) < 1_000_000_000
    assert machine.boot_offset_ns() > -1_000_000


MOUNTINFO = """\
31 1 0:27 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
42 31 0:39 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
43 31 0:40 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
44 31 0:41 /sub /somewhere rw - cgroup2 cgroup2 rw
garbage
"""


def test_cgroup_mounts_and_ids():
    """Hybrid layout: ids and paths go through the version 2 mount; a bind mount of a part of it is not the root."""
    base = "/sys/fs/cgroup/unified"
    inodes = {base: 1, f"{base}/a": 100, f"{base}/a/b": 200, f"{base}/c": 300}
    with use_host(
        FakeHost({"/proc/self/mountinfo": MOUNTINFO, "/proc/9/cgroup": "4:cpu,cpuacct:/x\n0::/a:b\n"}, inodes=inodes)
    ):
        assert cgroups.mounts() == {
            "": base,
            "cpu,cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
            "name=systemd": "/sys/fs/cgroup/systemd",
        }
        assert [cgroups.cgroup_path(n) for n in (1, 100, 200, 300, 999)] == ["/", "/a", "/a/b", "/c", ""]
        assert cgroups.cgroup_id("/a/b") == cgroups.cgroup_id(f"{base}/a/b") == 200
        assert cgroups.cgroup_id("/nope") is None
        assert cgroups.cgroups_of(9) == {"cpu,cpuacct": "/x", "": "/a:b"}
        assert cgroups.cgroups_of(10) == {}


def test_a_new_cgroup_is_found_though_the_others_are_remembered():
    """Groups come and go: an unknown id makes the tree be read again."""
    base = "/sys/fs/cgroup/unified"
    host = FakeHost({"/proc/self/mountinfo": MOUNTINFO}, inodes={base: 1})
    with use_host(host):
        assert cgroups.cgroup_path(5) == ""
        host.inodes[f"{base}/new"] = 5
        assert cgroups.cgroup_path(5) == "/new"


def test_no_cgroups_at_all():
    with use_host(FakeHost()):
        assert cgroups.root_v2() == cgroups.cgroup_path(1) == ""


@pytest.mark.parametrize(
    ("mask", "can", "missing"),
    [
        ("000001ffffffffff", True, ()),
        ("000000c000000000", True, ()),  # bits 38 and 39: CAP_PERFMON, CAP_BPF
        ("0000000000200000", True, ()),  # bit 21: CAP_SYS_ADMIN
        ("0000008000000000", False, ("cap_perfmon",)),
        ("0000000000000000", False, ("cap_bpf", "cap_perfmon")),
    ],
)
def test_capabilities(mask, can, missing):
    """CAP_BPF and CAP_PERFMON are enough; CAP_SYS_ADMIN contains both."""
    with use_host(FakeHost({"/proc/self/status": f"Name:\tx\nCapEff:\t{mask}\n"})):
        p = privileges.privileges()
    assert (p.can_trace_with_bpf, p.missing) == (can, missing)


def test_capabilities_without_proc():
    """Where /proc is not mounted, the kernel is asked itself: root is not told to become root."""

    class WithoutProc(Host):
        def read_text(self, path, limit=1 << 28):
            raise FileNotFoundError(path)

    told = privileges.privileges().capabilities
    with use_host(WithoutProc()):
        assert privileges.privileges().capabilities == told


def test_lockdown_is_the_bracketed_word():
    with use_host(FakeHost({"/sys/kernel/security/lockdown": "none [integrity] confidentiality\n"})):
        assert privileges.privileges().lockdown == "integrity"
    with use_host(FakeHost()):
        p = privileges.privileges()
        assert (p.lockdown, p.perf_event_paranoid, p.capabilities) == ("", None, frozenset())
