"""What rings hand out: a block of bytes with complete records in it, and where each one's payload starts."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from probescope.frozen import dataclass

_U32 = struct.Struct("=I")
_LENGTH = 0x3FFFFFFF


@dataclass(frozen=True, slots=True)
class Records:
    """``offsets`` are where payloads start in ``data``; a ``range`` when all records have one size, so a decoder may
    treat the block as a table of ``offsets.step`` bytes a row. The payload's length is the u32 that lies ``length_at``
    bytes before it. ``lost`` counts records that the kernel dropped before these (perf rings; programs count the losses
    of BPF rings themselves)."""

    data: bytes
    offsets: Sequence[int]
    length_at: int
    lost: int = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[memoryview]:
        view = memoryview(self.data)
        back = self.length_at
        for at in self.offsets:
            yield view[at : at + (_U32.unpack_from(view, at - back)[0] & _LENGTH)]

    @property
    def stride(self) -> int:
        """Bytes from one record to the next if all have one size, else 0."""
        return self.offsets.step if isinstance(self.offsets, range) and len(self.offsets) else 0


NOTHING = Records(b"", (), 8)
