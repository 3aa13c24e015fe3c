"""Work that makes tracing tools speak: each function does one thing that a tool is about, as often as it says."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import pty
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

DISK = "/dev/nullb0"


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def read_disk() -> None:
    """Requests of 4 KiB that no cache answers."""
    fd = os.open(DISK, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, 4096) as page:
        for n in range(20):
            assert os.preadv(fd, [page], n * 4096) == 4096
    os.close(fd)


def write_back() -> None:
    with Path(DISK).open("r+b", buffering=0) as disk:
        disk.write(bytes(1 << 20))
        os.sync()


def type_into_bash() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
    os.write(terminal, b"echo typed by hand\nexit\n")
    with contextlib.suppress(OSError):  # EIO: it has ended
        while os.read(terminal, 1024):
            pass
    os.waitpid(pid, 0)


def spin() -> None:
    until = time.process_time() + 0.4
    while time.process_time() < until:
        pass


def look_up() -> None:
    for name in ("no-such-name", "passwd"):
        Path("/etc", name).exists()


def run_a_program() -> None:
    subprocess.run(["/bin/true", "one", "two words"], check=True)


def resolve() -> None:
    socket.getaddrinfo("localhost", 80)


def send_signals() -> None:
    os.kill(os.getpid(), signal.SIGCHLD)
    with contextlib.suppress(ProcessLookupError):
        os.kill(4_000_000, signal.SIGTERM)


def nap() -> None:
    libc().usleep(30_000)


def out_of_memory() -> None:
    """The kernel is asked to look for a victim; a child offers itself."""
    pid = os.fork()
    if pid == 0:
        Path("/proc/self/comm").write_text("victim")
        Path("/proc/self/oom_score_adj").write_text("1000")
        signal.pause()
    while Path(f"/proc/{pid}/oom_score_adj").read_text().strip() != "1000":
        time.sleep(0.01)
    Path("/proc/sysrq-trigger").write_text("f")
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def open_files() -> None:
    for path in ("/no/such/file", "/etc/passwd"):
        with contextlib.suppress(FileNotFoundError):
            os.close(os.open(path, os.O_RDONLY))


def fork_a_few() -> None:
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


def change_users() -> None:
    os.setresuid(-1, 1234, -1)
    os.setresuid(-1, 0, -1)
    libc().setfsuid(0)
    os.setuid(0)


def handshake() -> None:
    import ssl

    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()


def stat_files() -> None:
    """By the system calls themselves: the C library of today makes another one of stat."""
    buffer = ctypes.create_string_buffer(512)
    libc().syscall(4, b"/no/such/file", buffer)
    libc().syscall(4, b"/etc/passwd", buffer)
    os.statvfs("/")


def swap_in() -> None:
    """More memory than a group may have, used twice over: what went out to the disk has to come back."""
    root = Path("/sys/fs/cgroup")
    group = root / f"vmtest-{os.getpid()}"
    subprocess.run(["/usr/sbin/mkswap", DISK], check=True, capture_output=True)
    subprocess.run(["/usr/sbin/swapon", DISK], check=True)
    (root / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    try:
        (group / "memory.high").write_text(str(4 << 20))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        with mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            for n in range(0, 16 << 20, mmap.PAGESIZE):
                memory[n % (8 << 20)] = 1
    finally:
        (root / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()
        subprocess.run(["/usr/sbin/swapoff", DISK], check=True)


def make_calls() -> None:
    for _ in range(500):
        os.getppid()


def connect() -> None:
    """One connection over the loopback, with 4 KiB of data, closed in order: first by the client."""
    with socket.create_server(("127.0.0.1", 8765)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        client.sendall(bytes(4096))
        client.shutdown(socket.SHUT_WR)
        while accepted.recv(65536):
            pass
        accepted.close()
        client.close()


def overflow() -> None:
    """More connections than a server accepts: the request of the last one has to be sent again after a second."""
    with socket.create_server(("127.0.0.1", 8766), backlog=1) as server, contextlib.ExitStack() as stack:
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        time.sleep(1.3)


def start_thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def talk() -> None:
    one, other = socket.socketpair()
    one.sendall(b"Hello, world\n")
    assert other.recv(100) == b"Hello, world\n"


def use_files() -> None:
    for _ in range(10):
        Path("/etc/passwd").read_bytes()


def flush_raid() -> None:
    """A mirror of one disk, made by hand, is asked to flush."""
    base = Path("/sys/block/md_test/md")
    Path("/sys/module/md_mod/parameters/new_array").write_text("md_test")
    (base / "metadata_version").write_text("none")
    (base / "level").write_text("raid1")
    (base / "raid_disks").write_text("1")
    (base / "component_size").write_text("65536")
    (base / "new_dev").write_text(Path("/sys/block/nullb0/dev").read_text().strip())
    (base / "dev-nullb0/slot").write_text("0")
    (base / "array_state").write_text("active")
    try:
        with Path("/dev/md_test").open("r+b") as disk:
            disk.write(b"x" * 4096)
            disk.flush()
            os.fsync(disk.fileno())
    finally:
        (base / "array_state").write_text("clear")
