"""Commands that come while it records, as perf record --control takes them: lines of ``enable [EVENT]``, ``disable
[EVENT]``, ``snapshot``, ``stop``, ``ping``, ``evlist``; each is answered by ``ack``.

    fd:CTL[,ACK]        descriptors that we were given
    fifo:CTL[,ACK]      named pipes
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from probescope.errors import UsageError

COMMANDS = ("enable", "disable", "snapshot", "stop", "ping", "evlist")
_MOST = 4096


class Control:
    """``spec`` empty: no commands. To be made before anything else is opened: a number that we were not given might
    else be of what is opened here. Raises UsageError for one that cannot be used."""

    def __init__(self, spec: str) -> None:
        self._in = self._ack = -1
        self._owned: list[int] = []
        self._rest = b""
        self.stopped = False
        if not spec:
            return
        kind, _, rest = spec.partition(":")
        ctl, _, ack = rest.partition(",")
        if kind not in {"fd", "fifo"} or not ctl:
            raise UsageError(f"'{spec}' is no control channel", hints=["--control fd:CTL[,ACK] or fifo:CTL[,ACK]"])
        try:
            if kind == "fd":
                self._in, self._ack = int(ctl), int(ack) if ack else -1
                for fd in (self._in, self._ack):
                    if fd != -1:
                        os.fstat(fd)
            else:
                # both ways: a reader does not wait for a writer so, and sees no end when one leaves
                self._in = self._opened(ctl)
                self._ack = self._opened(ack) if ack else -1
            if not _waited_for(self._in):
                raise OSError(0, "it is no pipe, socket or terminal")
        except (OSError, ValueError, OverflowError) as e:
            self.close()
            why = e.strerror if isinstance(e, OSError) else "a descriptor is a number"
            hints = ["descriptors are opened by who starts this: 99<>fifo"] if kind == "fd" else ["mkfifo makes one"]
            raise UsageError(f"cannot use the control channel {spec}: {why}", hints=hints) from None
        os.set_blocking(self._in, False)

    def _opened(self, path: str) -> int:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._owned.append(fd)
        return fd

    def fileno(self) -> int:
        """-1 where there are no commands, or nobody is left who could send any."""
        return self._in

    def commands(self) -> Iterator[str]:
        """Those that have come, whole lines."""
        if self._in < 0:
            return
        try:
            data = os.read(self._in, _MOST)
        except BlockingIOError:
            return
        if not data:  # an end would be there to be read again and again
            self._in = -1
        self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        self._rest = self._rest[:_MOST]
        for line in lines:
            command = line.replace(b"\0", b"").decode("utf-8", "replace").strip()
            if command.split(" ")[0] in COMMANDS:
                self.stopped = self.stopped or command == "stop"
                yield command

    def answer(self, command: str, text: str = "") -> None:
        if self._ack >= 0:
            with suppress(OSError):
                os.write(self._ack, f"{text}ack\n".encode())

    def close(self) -> None:
        for fd in self._owned:
            os.close(fd)
        self._owned.clear()
        self._in = self._ack = -1


def _waited_for(fd: int) -> bool:
    """Whether epoll(7) can: of files and of /dev/null it cannot. Descriptors without a file, as of eventfd(2), have no
    type."""
    kind = stat.S_IFMT(os.fstat(fd).st_mode)
    return kind in {stat.S_IFIFO, stat.S_IFSOCK, 0} or os.isatty(fd)
