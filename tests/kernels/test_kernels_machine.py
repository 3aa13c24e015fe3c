"""The virtual machine is what tests inside it take for granted. When one of these fails, look at vmtest first."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest


def test_it_is_the_kernel_that_was_asked_for(vm_kernel):
    """Protects every other result from belonging to another kernel."""
    number = vm_kernel.removesuffix("-rt")
    if not number[0].isdigit():
        pytest.skip(f"not on this architecture: {vm_kernel} has no fixed version")
    assert os.uname().release.startswith(f"{number}.")


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/sys/kernel/tracing", "tracefs"),
        ("/sys/kernel/debug", "debugfs"),
        ("/sys/fs/bpf", "bpf"),
        ("/sys/fs/cgroup", "cgroup2"),
        ("/dev/shm", "tmpfs"),
        ("/dev/pts", "devpts"),
        ("/tmp", "tmpfs"),
    ],
)
def test_mounted(place, kind):
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    assert [place, kind] in mounts


def test_loopback_is_up():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=10):
        pass


def test_writes_stay_inside(tmp_path):
    """The host's files are below an overlay: what a test breaks here is whole again in the next machine."""
    target = Path(__file__).parent / "written-by-a-guest"
    target.write_text("x")
    assert target.read_text() == "x"
    root = next(line for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1] == "/")
    assert root.split()[2] == "overlay"


def test_what_the_host_kernel_may_lack_is_here():
    """These kernels are tested because they have kprobes and fentry: without them the whole run proves little."""
    assert Path("/sys/bus/event_source/devices/kprobe/type").exists()
    assert Path("/sys/bus/event_source/devices/uprobe/type").exists()
    assert Path("/sys/kernel/btf/vmlinux").stat().st_size > 1_000_000
    assert "function" in Path("/sys/kernel/tracing/available_tracers").read_text().split()


def test_modules_load_by_name():
    """The kernel's own modules are in place, for tests of symbols and types that a module brings."""
    release = os.uname().release
    assert (Path("/lib/modules") / release / "kernel").is_dir()


def test_user_namespaces_can_be_made():
    """They cannot below a chroot, which is why the machine uses switch_root."""
    done = subprocess.run(["unshare", "--user", "true"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
