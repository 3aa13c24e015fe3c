"""Where a session's outputs go: views make texts of them, this writes them, in lumps where nobody waits for a line."""

from __future__ import annotations

import os
from typing import Literal, Protocol

from probescope.errors import SessionError
from probescope.kernel.host import host
from probescope.model.output import Output
from probescope.model.visible import visible_in_color

LUMP = 1 << 16
Buffering = Literal["line", "full", "none"]


class View(Protocol):
    def show(self, output: Output) -> tuple[str, str]: ...
    def end(self) -> str:
        """What is written when nothing more comes, however the session ended."""
        ...


class Writer:
    """A sink. ``flush`` is called when the session has nothing more to say for now; ``line`` and ``none`` write then
    at the latest, ``full`` only when a lump is together. Raises BrokenPipeError when the reader is gone, SessionError
    when the output cannot be written for another reason (a full disk)."""

    def __init__(self, view: View, fd: int = 1, err: int = 2, buffering: Buffering = "line") -> None:
        self._view = view
        self._fd = fd
        self._err = err
        self._buffering = buffering
        self._held: list[str] = []
        self._size = 0
        self._closed = False

    def __call__(self, output: Output) -> None:
        out, err = self._view.show(output)
        if err:
            self.flush(hard=True)
            _tell(self._err, visible_in_color(err) if os.isatty(self._err) else err)
        if out:
            self._held.append(out)
            self._size += len(out)
            if self._size >= LUMP or self._buffering == "none":
                self.flush(hard=True)

    def close(self) -> None:
        """The end of the output, once."""
        if not self._closed:
            self._closed = True
            self._held.append(self._view.end())
        self.flush(hard=True)

    def flush(self, *, hard: bool = False) -> None:
        if self._held and (hard or self._buffering != "full"):
            text = "".join(self._held)
            self._held, self._size = [], 0
            _write(self._fd, text)


def _write(fd: int, text: str) -> None:
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # somebody made our terminal or pipe non-blocking
            host().wait_for_room(fd)
        except BrokenPipeError:
            raise
        except OSError as e:
            raise SessionError(f"cannot write the output: {e.strerror}") from None


def _tell(fd: int, text: str) -> None:
    """To stderr: nobody can be told when that fails."""
    try:
        _write(fd, text)
    except (BrokenPipeError, SessionError):
        return
