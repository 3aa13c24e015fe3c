"""A zstd stream that arrives in pieces, as PERF_RECORD_COMPRESSED has it: perf flushes after each record, and ends the
frame with the recording. Output is taken in bounded pieces, however much a piece of input inflates to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probescope.formats.zstd import zstd

OUTPUT = 1 << 20


class Inflate:
    """``feed`` gives the output for a piece of input. Raises ValueError on damaged input, after which a new frame is
    expected."""

    def __init__(self) -> None:
        self._module = zstd()
        self._stream: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream is None:
                self._stream = self._module.ZstdDecompressor()
            try:
                out = self._stream.decompress(data, OUTPUT)
                while True:
                    if out:
                        yield out
                    if self._stream.eof or self._stream.needs_input:
                        break
                    out = self._stream.decompress(b"", OUTPUT)
            except self._module.ZstdError as error:
                self._stream = None
                raise ValueError(str(error)) from None
            data = b""
            if self._stream.eof:
                data, self._stream = self._stream.unused_data, None


class Deflate:
    """The other way round: everything given so far can be inflated from what ``flush`` has returned so far."""

    def __init__(self, level: int) -> None:
        module = zstd()
        self._stream: Any = module.ZstdCompressor(level)
        self._mode = module.ZstdCompressor.FLUSH_BLOCK

    def flush(self, data: bytes | memoryview) -> bytes:
        out: bytes = self._stream.compress(data, self._mode)
        return out
