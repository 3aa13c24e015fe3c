"""Files and commands that a program's actions touch."""

from __future__ import annotations

import os
import struct


def read_some(path: str, limit: int) -> str:
    """The first ``limit`` bytes of a file. Raises UsageError if they cannot be read."""
    from probescope.errors import UsageError

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)  # the session goes on beside a named pipe that nobody writes to

    try:
        with open(path, "rb", opener=opened) as f:
            return (f.read(limit) or b"").decode("utf-8", "surrogateescape")
    except (OSError, ValueError) as e:
        raise UsageError(f"failed to open file '{path}' ({getattr(e, 'strerror', None) or e})") from None


_PCAP_HEADER = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)  # nanosecond pcap, Ethernet


def append_packet(path: str, packet: bytes, now_ns: int) -> None:
    """One packet at the end of a pcap file, which is begun if it is not there."""
    with open(path, "ab") as f:
        if f.tell() == 0:
            f.write(_PCAP_HEADER)
        f.write(struct.pack("=IIII", now_ns // 10**9, now_ns % 10**9, len(packet), len(packet)) + packet)
