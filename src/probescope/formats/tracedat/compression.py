"""zlib and zstd, as trace-cmd uses them: each block by itself, its sizes before it."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from probescope.errors import FormatError
from probescope.formats.zstd import zstd

Decompress = Callable[[bytes, int], bytes]


def decompressor(name: str) -> Decompress | None:
    """Of bytes into exactly so many; the function raises FormatError where they are damaged. None for ``none``. Raises
    FormatError where the name is not known."""
    if name in {"none", ""}:
        return None
    if name not in _KNOWN:
        raise FormatError(f"compressed by {name!r}, which is neither zlib nor zstd", section="header")
    return _KNOWN[name]


def _zlib(data: bytes, size: int) -> bytes:
    try:
        out = zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise FormatError(f"a block of zlib is damaged: {error}", section="compressed") from None
    return _exactly(out, size)


def _zstd(data: bytes, size: int) -> bytes:
    module = zstd()
    try:
        out: bytes = module.ZstdDecompressor().decompress(data, size + 1)
    except module.ZstdError as error:
        raise FormatError(f"a block of zstd is damaged: {error}", section="compressed") from None
    return _exactly(out, size)


def _exactly(out: bytes, size: int) -> bytes:
    if len(out) != size:
        raise FormatError(f"a compressed block has {len(out)} bytes or more, not {size}", section="compressed")
    return out


_KNOWN: dict[str, Decompress] = {"zlib": _zlib, "zstd": _zstd}
