"""Writing behind: where much comes, rings are emptied into memory, and a thread of its own writes that out.

A disk may keep its writer waiting for longer than any ring lasts, and may not say so beforehand. So what comes fast is
copied (a few per cent of what the kernel did to make it), and the ring is free again at once. What waits is bounded:
beyond it the rings fill up, and the kernel counts what finds no room. What comes slowly is written as it lies, without
a thread.

    rings ──copy──► blocks, in order ──thread──► writer (and its compression)
                         ▲ used again ◄──┘
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from probescope.kernel.limits import ahead, ordinary

if TYPE_CHECKING:
    import threading

BLOCK = 1 << 20
MOST = 1 << 28
"""Bytes that may wait, if nobody says how many."""
KEPT = 1 << 6
"""Blocks that are kept to be used again."""

Write = Callable[[Sequence[memoryview]], None]


class Behind:
    """``write`` is given what each visit to the rings found, in order; in a thread once ``begin`` was called. An error
    of it is raised by whatever is called next. ``most``: bytes that may wait."""

    def __init__(self, write: Write, most: int = MOST) -> None:
        self._write = write
        self._most = most
        self._todo: deque[Callable[[], None]] = deque()
        self._free: list[memoryview] = []
        self._blocks = 0
        self._failed: Exception | None = None
        self._thread: threading.Thread | None = None
        self._changed: threading.Condition | None = None
        self._closing = False
        self.waiting = 0
        """Bytes that are not written yet."""

    @property
    def begun(self) -> bool:
        return self._thread is not None

    def begin(self, *, ordinarily: bool = False) -> None:
        """``ordinarily``: the thread has work of its own (it compresses), and does that as everybody does."""
        import threading

        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, args=(ordinarily,), name="writer", daemon=True)
        self._thread.start()
        ahead()  # of the thread, which else empties the queue before the rings

    def visit(self, pieces: Sequence[memoryview]) -> None:
        """When it returns, the memory of ``pieces`` is no longer needed."""
        if self._thread is None:
            self._write(pieces)
            return
        self._raise()
        size = sum(map(len, pieces))
        self._wait_for_room(size)
        blocks = [self._copied(piece[at : at + BLOCK]) for piece in pieces for at in range(0, len(piece), BLOCK)]
        self._later(lambda: self._put(blocks), size)

    def do(self, what: Callable[[], None]) -> None:
        """Something else that belongs to the file, when its turn comes."""
        if self._thread is None:
            what()
        else:
            self._later(what, 0)

    def finish(self) -> None:
        """Waits until all is written. Visits may follow."""
        if self._changed is not None:
            with self._changed:
                self._changed.wait_for(lambda: not self._todo)
        self._raise()

    def close(self) -> None:
        """What still waits after an error is given up."""
        if self._changed is None or self._thread is None:
            return
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    # --- in the caller's thread

    def _raise(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _wait_for_room(self, size: int) -> None:
        assert self._changed is not None
        if self.waiting + size > self._most:
            with self._changed:
                self._changed.wait_for(lambda: not self._todo or self.waiting + size <= self._most)
            self._raise()

    def _copied(self, piece: memoryview) -> memoryview:
        block = self._free.pop() if self._free else memoryview(bytearray(BLOCK))
        block[: len(piece)] = piece
        return block[: len(piece)]

    def _later(self, what: Callable[[], None], size: int) -> None:
        assert self._changed is not None
        with self._changed:
            self.waiting += size
            self._todo.append(what)
            self._changed.notify_all()

    # --- in the other one

    def _put(self, blocks: list[memoryview]) -> None:
        assert self._changed is not None
        self._write(blocks)
        self._free += [memoryview(block.obj) for block in blocks[: max(KEPT - len(self._free), 0)]]
        with self._changed:
            self.waiting -= sum(map(len, blocks))

    def _run(self, ordinarily: bool) -> None:
        assert self._changed is not None
        if ordinarily:
            ordinary()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._todo or self._closing)
                if self._closing:
                    return
                what = self._todo[0]
            try:
                if self._failed is None:
                    what()
            except Exception as e:  # noqa: BLE001 - raised in the caller's thread
                self._failed = e
            with self._changed:
                self._todo.popleft()
                self._changed.notify_all()
