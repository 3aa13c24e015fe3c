"""The first root file system of the guest: a static busybox, a few modules, and a script that mounts the real root.

The archive is cpio in its "newc" form, as Documentation/driver-api/early-userspace/buffer-format.rst of the kernel
describes it: for each file a header of hexadecimal texts, its name, its bytes, both padded to four bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
from pathlib import Path

from vmtest import modules
from vmtest.errors import VmtestError
from vmtest.packages import Unpacked

BUSYBOX = Path("/bin/busybox")
MODE_DIRECTORY, MODE_FILE, MODE_LINK = 0o040755, 0o100755, 0o120777

# What the guest looks like: the host's root, read-only over 9p, below a tmpfs that takes every write and dies with the
# guest. /tmp and /run are fresh: the host's sockets and locks mean nothing there. The share "run" is writable and
# carries the command in and its output and exit code out. switch_root and not chroot: in a chroot no user namespace
# can be made.
INIT = """#!/bin/sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
for m in $($b cat /modules.order); do $b insmod /modules/$m.ko || echo "module $m does not load"; done
for n in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do $b ln -sf /proc/self/${n#*:} /dev/${n%%:*}; done
$b mkdir -p /lower /upper /root
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,ro,cache=loose host /lower || echo "no root over 9p"
$b mount -t tmpfs -o size=75% tmpfs /upper; $b mkdir /upper/files /upper/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /root || echo "no overlay"
cd /root
for d in proc sys dev tmp run; do $b mkdir -p $d; done
$b umount /proc; $b umount /sys; $b mount --move /dev dev
$b mount -t proc proc proc; $b mount -t sysfs sys sys
$b mkdir -p dev/shm dev/pts; $b mount -t tmpfs tmpfs dev/shm; $b mount -t devpts devpts dev/pts
$b mount -t tmpfs tmpfs run; $b mount -t tmpfs -o mode=1777 tmpfs tmp
$b mount -t tracefs tracefs sys/kernel/tracing; $b mount -t debugfs debugfs sys/kernel/debug
$b mount -t bpf bpf sys/fs/bpf; $b mount -t cgroup2 cgroup2 sys/fs/cgroup
$b mount -t securityfs securityfs sys/kernel/security 2>/dev/null
$b mkdir -p run/vmtest
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576 run run/vmtest || echo "no share for results"
$b ip link set lo up
$b mkdir -p lib/modules; $b ln -sfn @MODULES@ lib/modules/@RELEASE@
cd /
exec $b switch_root /root /bin/busybox sh /run/vmtest/main
"""


class Archive:
    """Files in, cpio bytes out."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._inode = 0

    def add(self, name: str, mode: int, data: bytes = b"") -> None:
        self._inode += 1
        path = name.encode() + b"\0"
        # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def finish(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)


def is_static(program: Path) -> bool:
    """Whether an ELF64 program has no PT_INTERP (3): it needs no loader and no library."""
    data = program.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return False
    (offset,), (size, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)
    return all(struct.unpack_from("<I", data, offset + size * i)[0] != 3 for i in range(count))


def build(kernel: Unpacked) -> Path:
    """The initramfs for a kernel, from the cache where nothing that it is made of has changed."""
    if not BUSYBOX.exists() or not is_static(BUSYBOX):
        raise VmtestError("no static /bin/busybox: apt-get install busybox-static")
    init = INIT.replace("@MODULES@", str(kernel.modules)).replace("@RELEASE@", kernel.release)
    stamp = f"{kernel.release} {os.path.getmtime(BUSYBOX)} {init} {modules.BOOT_MODULES}"
    path = kernel.image.parent / f"initramfs-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.gz"
    if path.exists():
        return path
    archive = Archive()
    for folder in ("bin", "proc", "sys", "dev", "modules"):
        archive.add(folder, MODE_DIRECTORY)
    archive.add("bin/busybox", MODE_FILE, BUSYBOX.read_bytes())
    archive.add("bin/sh", MODE_LINK, b"busybox")
    archive.add("init", MODE_FILE, init.encode())
    needed = modules.ordered(kernel.modules)
    for name, data in needed:
        archive.add(f"modules/{name}.ko", MODE_FILE, data)
    archive.add("modules.order", MODE_FILE, "\n".join(name for name, _ in needed).encode())
    temporary = path.with_suffix(".new")
    temporary.write_bytes(gzip.compress(archive.finish(), 1))
    temporary.rename(path)
    return path
